package zk

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Config is the zookeeper.* part of server.properties.
type Config struct {
	Servers           []string      // zookeeper.connect, host:port each
	Chroot            string        // "" or "/kafka"; created, unless …
	ExistingChroot    bool          // … it must be there already (who only looks, creates nothing)
	SessionTimeout    time.Duration // zookeeper.session.timeout.ms; the server may change it
	ConnectionTimeout time.Duration // zookeeper.connection.timeout.ms: how long Connect waits
	MaxInFlight       int           // zookeeper.max.in.flight.requests: unanswered at a time
}

// defaultMaxInFlight is Kafka's default of zookeeper.max.in.flight.requests.
const defaultMaxInFlight = 10

// handshakeLimit is how long dialing a server, and then its handshake, may each take
// before the next server is tried.
func (c Config) handshakeLimit() time.Duration { return max(c.SessionTimeout/3, time.Second) }

// ParseConnect splits zookeeper.connect: "h1:2181,h2:2181/kafka" is two servers and the
// chroot /kafka. A missing port is 2181.
func ParseConnect(s string) (servers []string, chroot string, err error) {
	hosts := s
	if i := strings.IndexByte(s, '/'); i >= 0 {
		hosts, chroot = s[:i], strings.TrimRight(s[i:], "/")
	}
	for h := range strings.SplitSeq(hosts, ",") {
		h = strings.TrimSpace(h)
		switch {
		case h == "":
			return nil, "", fmt.Errorf("zookeeper.connect %q: empty host; want host:port,host:port/chroot", s)
		case strings.HasSuffix(h, "]") || !strings.Contains(h, ":"):
			h += ":2181"
		}
		if port, err := strconv.Atoi(h[strings.LastIndexByte(h, ':')+1:]); err != nil || port < 1 || port > 65535 {
			return nil, "", fmt.Errorf("zookeeper.connect %q: %s has no port from 1 to 65535", s, h)
		}
		servers = append(servers, h)
	}
	if chroot != "" {
		for part := range strings.SplitSeq(chroot[1:], "/") {
			if part == "" || part == "." || part == ".." {
				return nil, "", fmt.Errorf("zookeeper.connect %q: chroot %q is not a znode path", s, chroot)
			}
		}
	}
	return servers, chroot, nil
}

// connectString is the inverse of ParseConnect, for messages.
func (c Config) connectString() string { return strings.Join(c.Servers, ",") + c.Chroot }

// full puts the chroot before a path of ours; local takes it off a path of the server's.
func (c Config) full(path string) string {
	if c.Chroot == "" {
		return path
	}
	if path == "/" {
		return c.Chroot
	}
	return c.Chroot + path
}

func (c Config) local(path string) string {
	if c.Chroot == "" {
		return path
	}
	if path == c.Chroot {
		return "/"
	}
	return strings.TrimPrefix(path, c.Chroot)
}
