package client

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"kz/internal/link"
)

// Config is what all clients share. The comments name Kafka's key and default.
type Config struct {
	Bootstrap           []string      // bootstrap.servers, host:port each; required
	ClientID            string        // client.id, "" is allowed
	RequestTimeout      time.Duration // request.timeout.ms, 30 s: an answer later than this closes the connection
	APITimeout          time.Duration // default.api.timeout.ms, 60 s: how long one call retries
	ConnectTimeout      time.Duration // socket.connection.setup.timeout.ms, 10 s
	RetryBackoff        time.Duration // retry.backoff.ms, 100 ms
	ReconnectBackoff    time.Duration // reconnect.backoff.ms, 50 ms, doubling
	ReconnectBackoffMax time.Duration // reconnect.backoff.max.ms, 1 s
	MetadataMaxAge      time.Duration // metadata.max.age.ms, 5 min
	Network             link.Network  // nil: TCP

	// Unreachable, when not nil, hears of each connection that could not be made. It is
	// called by whoever wanted the connection, several at once.
	Unreachable func(addr string, err error)
}

// DefaultConfig has Kafka 2.8's defaults.
func DefaultConfig(bootstrap ...string) Config {
	return Config{
		Bootstrap:           bootstrap,
		RequestTimeout:      30 * time.Second,
		APITimeout:          60 * time.Second,
		ConnectTimeout:      10 * time.Second,
		RetryBackoff:        100 * time.Millisecond,
		ReconnectBackoff:    50 * time.Millisecond,
		ReconnectBackoffMax: time.Second,
		MetadataMaxAge:      5 * time.Minute,
		Network:             link.TCP{},
	}
}

// ParseServers splits bootstrap.servers and checks each address.
func ParseServers(s string) ([]string, error) {
	var out []string
	for _, a := range strings.Split(s, ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		host, port, err := net.SplitHostPort(a)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || host == "" || n < 0 || n > 65535 {
			return nil, fmt.Errorf("Invalid url in bootstrap.servers: %s", a)
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("No resolvable bootstrap urls given in bootstrap.servers")
	}
	return out, nil
}

// Properties reads client settings out of a Java properties map, key by key, and
// remembers which were asked for, so that the unknown ones can be named.
type Properties struct {
	values map[string]string
	used   map[string]bool
	faults []string
}

// NewProperties wraps a map; it is not changed.
func NewProperties(values map[string]string) *Properties {
	return &Properties{values: values, used: map[string]bool{}}
}

// String gives the value of key, or def.
func (p *Properties) String(key, def string) string {
	p.used[key] = true
	if v, ok := p.values[key]; ok {
		return v
	}
	return def
}

// Int gives the value of key within [min, max], or def.
func (p *Properties) Int(key string, def, min, max int) int {
	p.used[key] = true
	v, ok := p.values[key]
	if !ok {
		return def
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < min || n > max {
		p.Fault(key, fmt.Sprintf("must be a whole number from %d to %d", min, max))
		return def
	}
	return n
}

// Millis gives the value of key as a duration, or def.
func (p *Properties) Millis(key string, def time.Duration) time.Duration {
	return time.Duration(p.Int(key, int(def.Milliseconds()), 0, 1<<53)) * time.Millisecond
}

// OneOf gives the value of key, which must be one of allowed, or def.
func (p *Properties) OneOf(key, def string, allowed ...string) string {
	v := p.String(key, def)
	if !slices.Contains(allowed, v) {
		p.Fault(key, "must be one of "+strings.Join(allowed, ", "))
		return def
	}
	return v
}

// Bool gives the value of key, true or false, or def.
func (p *Properties) Bool(key string, def bool) bool {
	return p.OneOf(key, strconv.FormatBool(def), "true", "false") == "true"
}

// Refuse reports a key whose system kz does not have, unless it has the value that means "off".
func (p *Properties) Refuse(key, off, why string) {
	if v := p.String(key, off); !strings.EqualFold(v, off) {
		p.Fault(key, why)
	}
}

// Ignore accepts a key without effect.
func (p *Properties) Ignore(keys ...string) {
	for _, k := range keys {
		p.used[k] = true
	}
}

// Fault reports that the value of key cannot be used.
func (p *Properties) Fault(key, why string) {
	p.faults = append(p.faults, fmt.Sprintf("%s=%s: %s", key, p.values[key], why))
}

// Err lists every fault at once, or is nil.
func (p *Properties) Err() error {
	if len(p.faults) == 0 {
		return nil
	}
	return fmt.Errorf("Invalid value for configuration: %s", strings.Join(p.faults, "; "))
}

// Unknown lists, sorted, the keys nobody asked for.
func (p *Properties) Unknown() []string {
	var out []string
	for k := range p.values {
		if !p.used[k] {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// Common reads the settings that all clients share.
func (p *Properties) Common() Config {
	c := DefaultConfig()
	servers, err := ParseServers(p.String("bootstrap.servers", ""))
	if err != nil {
		p.faults = append(p.faults, err.Error())
	}
	c.Bootstrap = servers
	c.ClientID = p.String("client.id", "")
	c.RequestTimeout = p.Millis("request.timeout.ms", c.RequestTimeout)
	c.APITimeout = p.Millis("default.api.timeout.ms", c.APITimeout)
	c.ConnectTimeout = p.Millis("socket.connection.setup.timeout.ms", c.ConnectTimeout)
	c.RetryBackoff = p.Millis("retry.backoff.ms", c.RetryBackoff)
	c.ReconnectBackoff = p.Millis("reconnect.backoff.ms", c.ReconnectBackoff)
	c.ReconnectBackoffMax = p.Millis("reconnect.backoff.max.ms", c.ReconnectBackoffMax)
	c.MetadataMaxAge = p.Millis("metadata.max.age.ms", c.MetadataMaxAge)
	p.Refuse("security.protocol", "PLAINTEXT", "kz clients speak PLAINTEXT only")
	p.Ignore("send.buffer.bytes", "receive.buffer.bytes", "client.dns.lookup", "connections.max.idle.ms",
		"socket.connection.setup.timeout.max.ms", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
		"metrics.sample.window.ms", "retries")
	return c
}
