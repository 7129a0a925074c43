package up

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/nearest"
	"kz/internal/zk"
	"kz/zkpaths"
)

// zooName is how files, tables and faults name ZooKeeper.
const zooName = "zookeeper"

// askWait is how long ZooKeeper may take to say who the controller or a leader is.
const askWait = 10 * time.Second

var leaderOf = regexp.MustCompile(`^leader:(.+)-(\d+)$`)

// resolve finds the node that is meant: "2", "broker-2", "zookeeper", or by what it is
// now, "controller", "leader:orders-0".
func (c *Cluster) resolve(ctx context.Context, name string) (string, error) {
	known := []string{zooName}
	for _, id := range c.IDs() {
		known = append(known, BrokerName(id))
	}
	number := strings.TrimPrefix(name, "broker-")
	_, err := strconv.Atoi(number)
	isID := err == nil
	if isID {
		name = "broker-" + number
	}
	if slices.Contains(known, name) {
		return name, nil
	}
	if name == "controller" {
		return c.ask(ctx, func(z *zk.Client) (int32, error) { return controllerID(ctx, z) })
	}
	if m := leaderOf.FindStringSubmatch(name); m != nil {
		return c.ask(ctx, func(z *zk.Client) (int32, error) { return leaderID(ctx, z, m[1], m[2]) })
	}
	if strings.HasPrefix(name, "leader:") {
		return "", wrongUsage("%q names no partition. Name one of the topic's: %s-0.", name, name)
	}
	if near := nearest.To(name, append(slices.Clone(known), "controller")); near != "" && !isID { // one number is not near to another
		return "", wrongUsage("there is no node %q. Did you mean %q?", name, near)
	}
	return "", wrongUsage("there is no node %q. There are %s, and by what they are now: controller, leader:TOPIC-PARTITION.", name, strings.Join(known, ", "))
}

// ask asks ZooKeeper for a broker's id.
func (c *Cluster) ask(ctx context.Context, who func(*zk.Client) (int32, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	z, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	defer z.Close()
	id, err := who(z)
	if err != nil {
		return "", err
	}
	if !slices.Contains(c.IDs(), id) {
		return "", notNow("that is broker %d, which is not of this cluster's processes.", id)
	}
	return BrokerName(id), nil
}

// connect opens a session of our own.
func (c *Cluster) connect(ctx context.Context) (*zk.Client, error) {
	servers, chroot, err := zk.ParseConnect(c.ZooKeeper())
	if err != nil {
		return nil, err
	}
	cfg := zk.Config{Servers: servers, Chroot: chroot, SessionTimeout: askWait, ConnectionTimeout: askWait, MaxInFlight: 10}
	z, err := zk.Connect(ctx, cfg, link.TCP{}, nil, zerolog.Nop())
	if err != nil {
		return nil, fmt.Errorf("zookeeper at %s: %w", c.ZooKeeper(), err)
	}
	return z, nil
}

func controllerID(ctx context.Context, z *zk.Client) (int32, error) {
	data, _, err := z.Get(ctx, zkpaths.Controller)
	if err != nil {
		return 0, notNow("there is no controller now: %s: %v.", zkpaths.Controller, err)
	}
	info, err := zkpaths.DecodeControllerInfo(data)
	return info.BrokerID, err
}

func leaderID(ctx context.Context, z *zk.Client, topic, partition string) (int32, error) {
	n, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return 0, wrongUsage("%s is no partition.", partition)
	}
	path := zkpaths.PartitionStatePath(topic, int32(n))
	data, _, err := z.Get(ctx, path)
	if errors.Is(err, zk.NoNode) {
		var partitions []string
		partitions, err = z.Children(ctx, zkpaths.Partitions(topic), false)
		switch {
		case errors.Is(err, zk.NoNode):
			return 0, notNow("there is no topic %s.", topic)
		case err == nil:
			return 0, notNow("%s has no partition %d: it has %d, counted from 0.", topic, n, len(partitions))
		}
	}
	if err != nil {
		return 0, notNow("%s-%s has no state in ZooKeeper: %s: %v.", topic, partition, path, err)
	}
	state, err := zkpaths.DecodePartitionState(data)
	if err != nil {
		return 0, err
	}
	if state.Leader < 0 {
		return 0, notNow("%s-%s has no leader now.", topic, partition)
	}
	return state.Leader, nil
}

// controlAPIs are what the controller sends: the details of its moment.
var controlAPIs = []string{"LeaderAndIsr", "UpdateMetadata", "StopReplica"}

// parseMoment splits "controller.send:LeaderAndIsr" and refuses what never comes.
func parseMoment(at string) (moment, detail string, err error) {
	moment, detail, _ = strings.Cut(at, ":")
	var known []string
	for _, m := range journal.Moments() {
		known = append(known, string(m))
	}
	if !slices.Contains(known, moment) {
		if near := nearest.To(moment, known); near != "" {
			return "", "", wrongUsage("there is no moment %q. Did you mean %q?", moment, near)
		}
		return "", "", wrongUsage("there is no moment %q. There are %s.", moment, strings.Join(known, ", "))
	}
	if moment == string(journal.MomentControllerSend) && detail != "" && !strings.HasSuffix(detail, "*") && !slices.Contains(controlAPIs, detail) {
		hint := "There are " + strings.Join(controlAPIs, ", ") + "."
		if near := nearest.To(detail, controlAPIs); near != "" {
			hint = fmt.Sprintf("Did you mean %q?", near)
		}
		return "", "", wrongUsage("the controller sends no %q. %s", detail, hint)
	}
	return moment, detail, nil
}
