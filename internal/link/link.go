// Package link is the network as a value. No room listens or dials by itself: each is
// handed a Network, which is TCP in production, in-memory pipes in a test bubble, or
// either of them behind a table of faults.
package link

import (
	"context"
	"net"
	"time"
)

// A Network opens listeners and connections. Addresses are "host:port".
type Network interface {
	Listen(addr string) (net.Listener, error)
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// TCP is the real network. Connections have TCP_NODELAY and keep-alive, as Kafka's do.
type TCP struct{}

// Listen opens a TCP listener; port 0 asks the system for a free one.
func (TCP) Listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

// Dial connects within ctx's deadline.
func (TCP) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, "tcp", addr)
}
