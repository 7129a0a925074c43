package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"kz/broker/config"
	"kz/broker/network"
	"kz/internal/journal"
	"kz/internal/zk"
	"kz/zkpaths"
)

// registrationVersion is the version of the JSON at protocol 2.6.
const registrationVersion = 4

// register creates /brokers/ids/<id> in the current session and returns the broker epoch,
// its czxid. The controller room calls it again after each new session. Mirrors
// KafkaZkClient.registerBroker.
func (b *Broker) register(ctx context.Context, info zkpaths.BrokerInfo) (epoch int64, err error) {
	path := zkpaths.Broker(b.ID())
	info.Timestamp = time.Now().UnixMilli()
	b.log.Info().Str("path", path).Msg("registering")
	stat, err := b.zk.CreateEphemeral(ctx, path, info.Encode())
	if errors.Is(err, zk.NodeExists) {
		return 0, fmt.Errorf("broker id %d is taken: another process has registered it, or this one's last session has not timed out yet "+
			"(zookeeper.session.timeout.ms=%d): %w", b.ID(), b.cfg.Zk.SessionTimeout.Milliseconds(), err)
	}
	if err != nil {
		return 0, fmt.Errorf("register %s: %w", path, err)
	}
	b.log.Info().Str("path", path).Int64("brokerEpoch", stat.Czxid).Stringers("endpoints", endpointStringers(info.Endpoints)).Msg("registered")
	if b.journal.On() {
		b.journal.Emit(journal.Event{Kind: journal.Registration, Source: "broker", Path: path, BrokerEpoch: stat.Czxid, Zxid: stat.Czxid, VersionAfter: stat.Version})
	}
	return stat.Czxid, nil
}

func endpointStringers(es []zkpaths.Endpoint) []fmt.Stringer {
	out := make([]fmt.Stringer, len(es))
	for i := range es {
		out[i] = es[i]
	}
	return out
}

// brokerInfo is what the broker says of itself: the advertised listeners, port 0 replaced
// by the bound port, an empty host by the machine's name. host and port are those of the
// first PLAINTEXT listener, for clients of 0.8.
func brokerInfo(cfg *config.Config, bound []network.Endpoint, hostName func() string) zkpaths.BrokerInfo {
	info := zkpaths.BrokerInfo{Version: registrationVersion, Port: -1, JMXPort: -1, Rack: cfg.Rack, SecurityMap: map[string]string{}}
	for _, l := range cfg.AdvertisedListeners {
		e := zkpaths.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port}
		for _, o := range bound {
			if e.Port == 0 && o.Listener == l.Name {
				e.Port = o.Port
			}
		}
		if strings.TrimSpace(e.Host) == "" {
			e.Host = hostName()
		}
		info.Endpoints = append(info.Endpoints, e)
		info.SecurityMap[l.Name] = l.Protocol
		if info.Host == "" && l.Protocol == "PLAINTEXT" {
			info.Host, info.Port = e.Host, e.Port
		}
	}
	return info
}

// nameWait bounds the look-up of the machine's name: a resolver may be away.
const nameWait = 2 * time.Second

// canonicalHostName is the machine's full name as the resolver knows it, or its plain
// name. Mirrors InetAddress.getLocalHost.getCanonicalHostName.
func canonicalHostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	ctx, cancel := context.WithTimeout(context.Background(), nameWait)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil || len(addrs) == 0 {
		return name
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, addrs[0])
	if err != nil || len(names) == 0 {
		return name
	}
	return strings.TrimSuffix(names[0], ".")
}

// refuseSharedEndpoints fails when another registered broker advertises an address that
// our config advertises. What is not written in the config (an empty host, port 0)
// cannot clash. Mirrors KafkaServer.createBrokerInfo.
func refuseSharedEndpoints(ctx context.Context, c *zk.Client, cfg *config.Config) error {
	ours := map[string]bool{}
	for _, l := range cfg.AdvertisedListeners {
		if l.Host != "" && l.Port != 0 {
			ours[net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port)))] = true
		}
	}
	others, err := registeredBrokers(ctx, c)
	if err != nil {
		return err
	}
	for id, info := range others {
		if id == cfg.BrokerID {
			continue
		}
		for _, e := range info.Endpoints {
			addr := net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
			if ours[addr] {
				return fmt.Errorf("advertised address %s is registered by broker %d already: two brokers cannot have one address", addr, id)
			}
		}
	}
	return nil
}

// registeredBrokers reads every registration. One that vanishes meanwhile, or that we
// cannot read, is left out.
func registeredBrokers(ctx context.Context, c *zk.Client) (map[int32]zkpaths.BrokerInfo, error) {
	names, err := c.Children(ctx, zkpaths.BrokerIDs, false)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", zkpaths.BrokerIDs, err)
	}
	var ids []int32
	var ops []zk.Op
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 32); err == nil {
			ids = append(ids, int32(id))
			ops = append(ops, zk.GetOp(zkpaths.Broker(int32(id))))
		}
	}
	out := map[int32]zkpaths.BrokerInfo{}
	for i, r := range c.Do(ctx, ops...) {
		if errors.Is(r.Err, zk.NoNode) {
			continue
		}
		if r.Err != nil {
			return nil, fmt.Errorf("read %s: %w", ops[i].Path, r.Err)
		}
		if info, err := zkpaths.DecodeBrokerInfo(r.Data); err == nil {
			out[ids[i]] = info
		}
	}
	return out, nil
}
