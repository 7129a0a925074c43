package network

import (
	"os"
	"sync/atomic"
	"time"

	"kz/internal/wire"
)

// Request is one request inside the broker. Body aliases a pooled buffer that is valid
// until Respond, NoResponse or Close is called; exactly one of them is called, exactly
// once, from any goroutine. A second call is a bug of the broker and panics.
type Request struct {
	Header     wire.RequestHeader
	Body       []byte
	Listener   string // the listener's name
	ClientHost string // Java's form: /127.0.0.1
	ReceivedAt time.Time

	conn  *conn
	frame atomic.Pointer[wire.Buffer] // what Body aliases; nil when given back
	state atomic.Int32
}

// The states of a request. inside → ended is the rule; when the broker stops first,
// inside → abandoned → ended.
const (
	inside    int32 = iota // somebody in the broker has to end it
	abandoned              // so, but its connection is gone
	ended
)

// Part is a piece of an answer: bytes, or a range of a file that goes to the socket by
// sendfile.
type Part struct {
	Bytes   []byte
	File    *os.File // nil: Bytes
	Offset  int64
	Length  int64
	Release func() // called once after the part was sent or dropped; may be nil
}

func (p *Part) size() int64 {
	if p.File != nil {
		return p.Length
	}
	return int64(len(p.Bytes))
}

// Respond sends the answer: network adds size and response header before the parts. It
// does not wait for the client; the parts belong to network until their Release.
func (r *Request) Respond(parts ...Part) { r.end(answer{parts: parts}) }

// NoResponse ends a request that has no answer (acks=0): the connection reads on.
func (r *Request) NoResponse() { r.end(answer{silent: true}) }

// Close ends the request by closing its connection (malformed body, acks=0 with an error).
func (r *Request) Close(reason string) { r.end(answer{closing: reason}) }

// Detach gives up the claim on Body early: after it, Body must not be touched and its
// buffer may be reused. Long polls call it so that a parked request does not hold a
// buffer. Optional.
func (r *Request) Detach() {
	if b := r.frame.Swap(nil); b != nil {
		r.Body = nil
		b.Free()
	}
}

// answer is what a request ended with: parts to send, nothing, or the connection's end.
type answer struct {
	parts   []Part
	silent  bool
	closing string // the reason
}

func (a answer) release() {
	for _, p := range a.parts {
		if p.Release != nil {
			p.Release()
		}
	}
}

func (r *Request) end(a answer) {
	r.Detach()
	switch {
	case r.state.CompareAndSwap(inside, ended):
		r.conn.answers <- a // has room for one, and there is only one request
	case r.state.CompareAndSwap(abandoned, ended):
		a.release()
	default:
		panic("network: a request was ended twice")
	}
}
