package network

import (
	"math"
	"net"
	"strconv"
	"time"
)

// Endpoint is one listener: LISTENER://host:port.
type Endpoint struct {
	Listener string // "PLAINTEXT"
	Host     string // "" listens on every interface
	Port     int32  // 0 takes a free one
}

func (e Endpoint) addr() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

func (e Endpoint) String() string { return e.Listener + "://" + e.addr() }

// Config is the network's part of server.properties. A field that is zero or negative
// stands for "no limit" or the system's default, unless it says otherwise.
type Config struct {
	Listeners          []Endpoint
	QueuedMaxRequests  int           // queued.max.requests; 0: Kafka's 500
	MaxRequestBytes    int32         // socket.request.max.bytes, the size field of a request; 0: Kafka's 104857600
	SendBufferBytes    int           // socket.send.buffer.bytes
	ReceiveBufferBytes int           // socket.receive.buffer.bytes
	ConnectionsMaxIdle time.Duration // connections.max.idle.ms: no byte either way for so long closes a connection

	MaxConnections               int            // max.connections, of the whole broker: acceptors wait for a free place
	MaxConnectionsPerIP          int            // max.connections.per.ip: more are closed at once; 0 with overrides: none
	MaxConnectionsPerIPOverrides map[string]int // max.connections.per.ip.overrides, IP → count
	MaxConnectionCreationRate    int            // max.connection.creation.rate, per second over 10 s: acceptors slow down

	// InterBrokerListener is the Listener that brokers use. When there are others, it is
	// not bound by MaxConnections: idle connections of the others are closed to make room.
	InterBrokerListener string
}

// withDefaults makes every limit a number to compare with.
func (c Config) withDefaults() Config {
	if c.QueuedMaxRequests <= 0 {
		c.QueuedMaxRequests = 500
	}
	if c.MaxRequestBytes <= 0 {
		c.MaxRequestBytes = 100 << 20
	}
	if c.MaxConnections <= 0 {
		c.MaxConnections = math.MaxInt
	}
	if c.MaxConnectionsPerIP < 0 || c.MaxConnectionsPerIP == 0 && len(c.MaxConnectionsPerIPOverrides) == 0 {
		c.MaxConnectionsPerIP = math.MaxInt
	}
	return c
}
