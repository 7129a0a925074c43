package config

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The protocols Kafka knows. kz speaks the first.
var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

const plaintext = "PLAINTEXT"

// listenerPattern is NAME://host:port; an IPv6 host stands in brackets. Mirrors EndPoint.uriParseExp.
var listenerPattern = regexp.MustCompile(`^([^:/]+)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$`)

// listeners derives the bound and the advertised listeners and the one brokers use.
func (p *parser) listeners(c *Config) {
	v := p.values
	protocols := p.protocolMap()
	key, text := "listeners", v.str("listeners")
	if !v.has("listeners") {
		key, text = "port", plaintext+"://"+v.str("host.name")+":"+strconv.Itoa(v.int("port"))
	}
	c.Listeners = p.endpoints(key, text, protocols, true)

	switch {
	case v.has("advertised.listeners"):
		c.AdvertisedListeners = p.endpoints("advertised.listeners", v.str("advertised.listeners"), protocols, false)
	case v.has("advertised.host.name") || v.has("advertised.port"):
		host, port := v.str("host.name"), v.int("port")
		if v.has("advertised.host.name") {
			host = v.str("advertised.host.name")
		}
		if v.has("advertised.port") {
			port = v.int("advertised.port")
		}
		c.AdvertisedListeners = p.endpoints("advertised.host.name", plaintext+"://"+host+":"+strconv.Itoa(port), protocols, false)
	default:
		c.AdvertisedListeners = slices.Clone(c.Listeners)
	}
	c.InterBrokerListener = p.interBroker(protocols)
	p.checkListeners(c)
}

// protocolMap reads listener.security.protocol.map: NAME:PROTOCOL,NAME:PROTOCOL.
func (p *parser) protocolMap() map[string]string {
	const key = "listener.security.protocol.map"
	out := map[string]string{}
	for _, pair := range splitList(p.values.str(key)) {
		name, protocol, ok := strings.Cut(pair, ":")
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		if !ok || name == "" || !slices.Contains(securityProtocols, protocol) {
			p.fault(key, "%q, allowed: NAME:PROTOCOL with one of %s", pair, strings.Join(securityProtocols, ", "))
			continue
		}
		out[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	return out
}

// endpoints reads a list of NAME://host:port. distinct: no two on one port.
func (p *parser) endpoints(key, text string, protocols map[string]string, distinct bool) []Listener {
	var out []Listener
	names, ports := map[string]bool{}, map[int32]bool{}
	for _, one := range splitList(strings.TrimSpace(text)) {
		if one == "" {
			continue
		}
		m := listenerPattern.FindStringSubmatch(one)
		if m == nil {
			p.fault(key, "%q, allowed: NAME://host:port,NAME://host:port", one)
			continue
		}
		name := strings.ToUpper(m[1])
		port, err := strconv.ParseInt(m[3], 10, 32)
		protocol, known := protocols[name]
		switch {
		case err != nil || port < 0 || port > 65535:
			p.fault(key, "%q: port %s, allowed: 0 to 65535 (0 takes a free one)", one, m[3])
		case !known:
			p.fault(key, "%q: listener.security.protocol.map has no %s; it has %s", one, name, strings.Join(slices.Sorted(maps.Keys(protocols)), ", "))
		case protocol != plaintext:
			p.fault(key, "%q: refused, the listener would speak %s and kz speaks only PLAINTEXT", one, protocol)
		case names[name]:
			p.fault(key, "%q: each listener needs a name of its own", one)
		case distinct && port != 0 && ports[int32(port)]:
			p.fault(key, "%q: each listener needs a port of its own", one)
		default:
			out = append(out, Listener{name, m[2], int32(port), protocol})
		}
		names[name], ports[int32(port)] = true, true
	}
	return out
}

// interBroker finds the listener that brokers use among themselves.
func (p *parser) interBroker(protocols map[string]string) string {
	v := p.values
	_, protocolSet := p.set["security.inter.broker.protocol"]
	name := strings.ToUpper(v.str("inter.broker.listener.name"))
	if name != "" {
		if protocolSet {
			p.fault("inter.broker.listener.name", "only one of it and security.inter.broker.protocol may be set")
		}
		if _, ok := protocols[name]; !ok {
			p.fault("inter.broker.listener.name", "%s is not in listener.security.protocol.map", name)
		}
		return name
	}
	protocol := v.str("security.inter.broker.protocol")
	switch {
	case !slices.Contains(securityProtocols, protocol):
		p.fault("security.inter.broker.protocol", "%q, allowed: %s", protocol, strings.Join(securityProtocols, ", "))
	case protocol != plaintext:
		p.fault("security.inter.broker.protocol", "%s: refused, kz speaks only PLAINTEXT", protocol)
	}
	return protocol
}

func (p *parser) checkListeners(c *Config) {
	if p.hasFault("listeners", "advertised.listeners", "listener.security.protocol.map", "security.inter.broker.protocol", "inter.broker.listener.name", "port", "advertised.host.name") {
		return // what follows would only repeat it
	}
	if len(c.Listeners) == 0 {
		p.fault("listeners", "at least one listener is needed")
		return
	}
	bound, advertised := listenerNames(c.Listeners), listenerNames(c.AdvertisedListeners)
	if !slices.Contains(advertised, c.InterBrokerListener) {
		p.fault("inter.broker.listener.name", "brokers would use %s, which is not advertised; allowed: %s", c.InterBrokerListener, strings.Join(advertised, ", "))
	}
	for _, l := range c.AdvertisedListeners {
		if !slices.Contains(bound, l.Name) {
			p.fault("advertised.listeners", "%s is not in listeners; allowed: %s", l.Name, strings.Join(bound, ", "))
		}
		if l.Host == "0.0.0.0" {
			p.fault("advertised.listeners", "nobody can connect to 0.0.0.0; give an address that others can reach")
		}
	}
}

func listenerNames(ls []Listener) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = l.Name
	}
	return out
}

func (p *parser) hasFault(keys ...string) bool {
	return slices.ContainsFunc(p.faults, func(f Problem) bool { return slices.Contains(keys, f.Key) })
}
