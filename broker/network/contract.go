// Package network owns the listeners and connections: frames in, answers out.
package network

import (
	"os"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
	"kz/internal/wire"
)

// Endpoint is one listener: LISTENER://host:port.
type Endpoint struct {
	Listener string // "PLAINTEXT"
	Host     string
	Port     int32
}

// Config is the network's part of server.properties.
type Config struct {
	Listeners           []Endpoint
	QueuedMaxRequests   int           // queued.max.requests
	MaxRequestBytes     int32         // socket.request.max.bytes
	SendBufferBytes     int           // socket.send.buffer.bytes
	ReceiveBufferBytes  int           // socket.receive.buffer.bytes
	ConnectionsMaxIdle  time.Duration // connections.max.idle.ms
	MaxConnections      int           // max.connections
	MaxConnectionsPerIP int           // max.connections.per.ip
	// MaxConnectionsPerIPOverrides, MaxConnectionCreationRate ... as 5.5
}

// Request is one request inside the broker. Body aliases a pooled buffer that is valid until Respond, NoResponse or
// Close is called; exactly one of them is called, exactly once, from any goroutine.
type Request struct {
	Header     wire.RequestHeader
	Body       []byte
	Listener   string // the listener's name
	ClientHost string // Java's form: /127.0.0.1
	ReceivedAt time.Time
}

// Part is a piece of an answer: bytes, or a range of a file that goes to the socket by sendfile.
type Part struct {
	Bytes   []byte
	File    *os.File // nil: Bytes
	Offset  int64
	Length  int64
	Release func() // called once after the part was sent or dropped; may be nil
}

// Respond sends the answer: network adds size and response header before the parts.
func (r *Request) Respond(parts ...Part) { panic("contract") }

// NoResponse ends a request that has no answer (acks=0): the connection reads on.
func (r *Request) NoResponse() { panic("contract") }

// Close ends the request by closing its connection (malformed body, acks=0 with an error).
func (r *Request) Close(reason string) { panic("contract") }

// Detach gives up the claim on Body early: after it, Body must not be touched and its buffer may be reused. Long polls call it
// so that a parked request does not hold a buffer. Optional.
func (r *Request) Detach() { panic("contract") }

// Server is Kafka's SocketServer and RequestChannel.
type Server struct{}

func New(cfg Config, n link.Network, log zerolog.Logger) *Server { panic("contract") }

// Listen binds all listeners and accepts connections, but reads no request until Serve (2.1 step 8). It replaces port 0 by the bound one.
func (s *Server) Listen() error { panic("contract") }

// Endpoints are the bound listeners.
func (s *Server) Endpoints() []Endpoint { panic("contract") }

// Serve lets connections read; requests appear in Requests.
func (s *Server) Serve() { panic("contract") }

// Requests is the bounded request queue; it is closed by StopRequests after the readers ended.
func (s *Server) Requests() <-chan *Request { panic("contract") }

// StopReading ends reading and accepting: no new request enters the queue. Stop then closes every connection and waits for all goroutines.
func (s *Server) StopReading() { panic("contract") }
func (s *Server) Stop()        { panic("contract") }
