package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
)

// ErrClosed is the cause of what fails because Close was called.
var ErrClosed = errors.New("connection closed")

// readAhead holds a small answer whole, so that it costs one read of the socket; bytes of
// larger ones go straight to their frame.
const readAhead = 4 << 10

// Conn is a client's connection to one broker. Many goroutines may call Do at once:
// requests are pipelined, answers matched in order. Any I/O error or a bad answer closes
// it and fails everything outstanding. It mirrors Kafka's NetworkClient for one node.
//
// Goroutines: read, started by Dial, waits for the socket, ends when the connection is
// closed. Callers write themselves, one at a time, in turn.
type Conn struct {
	nc       net.Conn
	addr     string
	clientID string

	// turn is held (by a value in it) while a request gets its correlation id, its place in
	// pending, and is written: so all three have one order. A channel and not a mutex,
	// because a full socket may hold it for long: a waiter can give up, and a test bubble
	// sees it waiting. Before mu in the lock order.
	turn   chan struct{}
	nextID int32 // guarded by turn

	mu      sync.Mutex // guards pending and err
	pending []*Call    // sent and unanswered, oldest first
	err     error      // why the connection is unusable; set once

	done  chan struct{} // closed with err set
	ended chan struct{} // closed when read has returned
}

// Dial connects. It sends nothing: callers that want the broker's versions ask
// ApiVersions themselves.
func Dial(ctx context.Context, n link.Network, addr, clientID string) (*Conn, error) {
	if len(clientID) > math.MaxInt16 {
		return nil, fmt.Errorf("client id of %d bytes: at most %d fit in a request header", len(clientID), math.MaxInt16)
	}
	nc, err := n.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		nc:       nc,
		addr:     addr,
		clientID: clientID,
		turn:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		ended:    make(chan struct{}),
	}
	go c.read()
	return c, nil
}

// Do sends req (its version already set) and waits for its answer. Record bytes in the
// answer alias a buffer that belongs to the caller from then on. A ctx that ends closes
// the connection (an answer out of order could not be matched); the error then wraps
// ctx's.
func (c *Conn) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	resp, _, err := c.Exchange(ctx, req)
	return resp, err
}

// Exchange is Do for those who are soon done with the answer's record bytes, and then
// give its memory back with call.Release.
func (c *Conn) Exchange(ctx context.Context, req kmsg.Request) (resp kmsg.Response, call *Call, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err // nothing was sent: the connection stays
	}
	if ctx.Done() != nil { // Wait sees ctx end; this is for a write that blocks
		stop := context.AfterFunc(ctx, func() { c.fail(errGivenUp) })
		defer stop()
	}
	call, err = c.Start(req)
	if err == nil {
		resp, err = call.Wait(ctx)
		return resp, call, err
	}
	if ctx.Err() != nil {
		err = c.endedBy(ctx)
	}
	return nil, nil, err
}

// errGivenUp is what other requests of the connection fail with; they must not take
// somebody else's timeout for their own.
var errGivenUp = errors.New("closed, because a request's context ended")

// endedBy is the error of the request whose context it was.
func (c *Conn) endedBy(ctx context.Context) error {
	return fmt.Errorf("connection to %s: %w", c.addr, ctx.Err())
}

// Start sends now and returns a handle; Wait gives the answer. For pipelining in order
// from one goroutine. It blocks while the socket takes no more.
func (c *Conn) Start(req kmsg.Request) (*Call, error) {
	call := &Call{conn: c, resp: req.ResponseKind(), done: make(chan struct{})}
	if err := c.send(req, call); err != nil {
		return nil, err
	}
	return call, nil
}

// SendOnly sends a request that has no answer (Produce with acks=0).
func (c *Conn) SendOnly(req kmsg.Request) error { return c.send(req, nil) }

// send encodes before its turn and then writes. The one copy of record bytes on this path
// is kmsg's, from the request into the frame.
func (c *Conn) send(req kmsg.Request, call *Call) error {
	scratch := scratches.Get().(*[]byte)
	defer putScratch(scratch)
	*scratch = AppendRequest((*scratch)[:0], req, 0, c.clientID)
	frame := *scratch
	if len(frame) > math.MaxInt32 {
		return fmt.Errorf("%s request of %d bytes does not fit in a frame", APIName(req.Key()), len(frame))
	}

	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.done:
		return c.reason()
	}
	binary.BigEndian.PutUint32(frame[8:], uint32(c.nextID)) // behind size, key and version
	if call != nil {
		call.id = c.nextID
		if err := c.expect(call); err != nil {
			return err
		}
	}
	c.nextID++
	if _, err := c.nc.Write(frame); err != nil {
		c.fail(err)
		return c.reason()
	}
	return nil
}

// expect puts a call last in the row of those that wait for an answer. The caller has
// the turn.
func (c *Conn) expect(call *Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.pending = append(c.pending, call)
	return nil
}

// read is the connection's goroutine: it hands each frame to the oldest pending call.
func (c *Conn) read() {
	defer close(c.ended)
	frames := NewFrameReader(bufio.NewReaderSize(c.nc, readAhead))
	for {
		frame, err := frames.Next(math.MaxInt32)
		if err == nil {
			err = c.answer(frame)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// answer gives frame to the call it belongs to.
func (c *Conn) answer(frame *Buffer) error {
	if len(frame.B) < 4 {
		return errors.New("answer without a correlation id")
	}
	id := int32(binary.BigEndian.Uint32(frame.B))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return fmt.Errorf("answer with correlation id %d to no request", id)
	}
	call := c.pending[0]
	if call.id != id {
		return fmt.Errorf("answer with correlation id %d where %d was due", id, call.id)
	}
	c.pending[0] = nil
	c.pending = c.pending[1:]
	call.frame = frame
	close(call.done)
	return nil
}

// fail makes the connection unusable, for the first reason given, and answers everyone
// who waits. It may be called from anywhere, with no lock held.
func (c *Conn) fail(cause error) {
	if cause == io.EOF {
		cause = errors.New("closed by the broker")
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = fmt.Errorf("connection to %s: %w", c.addr, cause)
	left := c.pending
	c.pending = nil
	c.mu.Unlock()

	close(c.done)
	c.nc.Close()
	for _, call := range left {
		call.err = c.err
		close(call.done)
	}
}

func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close fails everything outstanding with ErrClosed and waits for the connection's
// goroutine. It may be called more than once.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	<-c.ended
	return nil
}

// Done is closed when the connection is no longer usable.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection is unusable; nil while it is usable.
func (c *Conn) Err() error { return c.reason() }

// scratches are the buffers that requests are encoded into. Requests of more than
// maxScratch bytes do not leave theirs behind.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const maxScratch = 4 << 20

func putScratch(b *[]byte) {
	if cap(*b) <= maxScratch {
		scratches.Put(b)
	}
}
