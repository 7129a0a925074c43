// Package wire is Kafka's framing: sizes, request and response headers, the table of
// the versions we speak, and a client connection.
package wire

import (
	"context"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
)

// RequestHeader is what stands before every request body.
type RequestHeader struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      string // "" when null
}

// VersionRange is one row of the table of versions, pinned to what Kafka 2.8 advertises.
type VersionRange struct{ Key, Min, Max int16 }

// Served is the table of the APIs this broker advertises, ascending by key. What is not here is
// not advertised and closes the connection.
func Served() []VersionRange { panic("contract") }

// Lookup finds a row of Served.
func Lookup(key int16) (VersionRange, bool) { panic("contract") }

// ParseRequestHeader reads the header; body aliases b. It does not consult Served, except that the
// header's own version depends on whether the request version is flexible (kmsg knows).
func ParseRequestHeader(b []byte) (h RequestHeader, body []byte, err error) { panic("contract") }

// AppendResponseHeader appends correlation id and, for flexible versions other than ApiVersions, the empty tag section.
func AppendResponseHeader(dst []byte, key, version int16, correlationID int32) []byte {
	panic("contract")
}

// AppendRequest appends a whole request frame, size included.
func AppendRequest(dst []byte, req kmsg.Request, correlationID int32, clientID string) []byte {
	panic("contract")
}

// ReadFrame reads one size-prefixed frame of at most max bytes; the size is checked before allocating.
func ReadFrame(r io.Reader, max int32) ([]byte, error) { panic("contract") }

// Conn is a client's connection to one broker. Many goroutines may call Do at once: requests are pipelined,
// answers matched in order. Any I/O error or a bad answer closes it and fails everything outstanding.
type Conn struct{}

// Dial connects. It sends nothing: callers that want the broker's versions ask ApiVersions themselves.
func Dial(ctx context.Context, n link.Network, addr, clientID string) (*Conn, error) {
	panic("contract")
}

// Do sends req (its version already set) and waits for its answer. Record bytes in the answer alias a buffer that
// belongs to the caller from then on. A ctx that ends closes the connection (an answer out of order could not be matched).
func (c *Conn) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) { panic("contract") }

// Start sends now and returns a handle; Wait gives the answer. For pipelining in order from one goroutine.
func (c *Conn) Start(req kmsg.Request) (*Call, error) { panic("contract") }

// Call is a request on its way.
type Call struct{}

func (c *Call) Wait(ctx context.Context) (kmsg.Response, error) { panic("contract") }

// SendOnly sends a request that has no answer (Produce with acks=0).
func (c *Conn) SendOnly(req kmsg.Request) error { panic("contract") }
func (c *Conn) Close() error                    { panic("contract") }

// Done is closed when the connection is no longer usable.
func (c *Conn) Done() <-chan struct{} { panic("contract") }
