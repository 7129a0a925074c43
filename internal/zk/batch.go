package zk

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"kz/internal/journal"
)

// call is one request on its way.
type call struct {
	s    *session
	once sync.Once
	zxid atomic.Int64 // of the answer's header
}

// passTurn lets the next request be queued. It is called when this one was written, or
// when it ended without that.
func (c *call) passTurn() {
	c.once.Do(func() {
		c.s.leaving.CompareAndSwap(c, nil)
		c.s.turn <- struct{}{}
	})
}

// Do sends a batch, pipelined, and waits for all answers: results[i] answers ops[i].
// Requests leave in the order given; at most cfg.MaxInFlight are unanswered at a time.
//
// Only the loss of a connection is retried, without limit, until the session is over,
// ctx ends or the client closes. The batch belongs to the session it began in: it never
// goes on in a later one. Reads arm watches as the registered handlers want.
//
// How order is kept: go-zookeeper's calls block until the answer, so each runs on a
// goroutine of its own; but a call gets its turn only when the request before it has
// been written to the socket, which watchedConn sees.
func (c *Client) Do(ctx context.Context, ops ...Op) []Result {
	units := make([]unit, len(ops))
	for i := range ops {
		units[i] = unit{op: ops[i]}
	}
	answers := c.do(ctx, units)
	results := make([]Result, len(ops))
	for i, a := range answers {
		results[i] = a.single(ops[i])
	}
	return results
}

// unit is one request: a single op, or a transaction.
type unit struct {
	op    Op
	multi []Op // nil = op alone
}

// answer is what came of a unit.
type answer struct {
	result  Result   // of the unit as a whole: its error is the first one
	parts   []Result // of a transaction
	retried bool
}

// do runs rounds until no unit is lost any more.
func (c *Client) do(ctx context.Context, units []unit) []answer {
	answers := make([]answer, len(units))
	todo := make([]int, len(units))
	for i := range units {
		todo[i] = i
		if err := units[i].check(); err != nil {
			answers[i].result.Err = err
		}
	}
	todo = keep(todo, func(i int) bool { return answers[i].result.Err == nil })
	s := c.current()
	for len(todo) > 0 {
		if err := s.waitConnected(ctx); err != nil {
			for _, i := range todo {
				answers[i].result = Result{Err: err}
			}
			break
		}
		c.round(ctx, s, units, todo, answers)
		todo = keep(todo, func(i int) bool {
			err := answers[i].result.Err
			answers[i].retried = answers[i].retried || err == errLost
			return err == errLost || err == errUnsent
		})
	}
	return answers
}

func keep(list []int, f func(int) bool) []int {
	kept := list[:0:0]
	for _, i := range list {
		if f(i) {
			kept = append(kept, i)
		}
	}
	return kept
}

func (u unit) check() error {
	size := 64
	if u.multi == nil {
		size += u.op.size()
	}
	for _, op := range u.multi {
		size += op.size()
	}
	if size > maxPacket {
		return fmt.Errorf("%w: %s %s takes %d bytes, a server accepts %d", ErrTooLarge, u.op.Kind, u.op.Path, size, maxPacket)
	}
	return nil
}

type numbered struct {
	i int
	a answer
}

// round sends the units named by todo once, and fills in their answers.
func (c *Client) round(ctx context.Context, s *session, units []unit, todo []int, answers []answer) {
	done := make(chan numbered, len(todo)) // room for all: nobody is stuck when ctx ends
	sent := 0
	for _, i := range todo {
		answers[i].result = Result{Err: errUnsent}
		if err := c.submit(ctx, s, i, units[i], answers[i].retried, done); err == nil {
			sent++
		} else {
			answers[i].result.Err = err
		}
	}
	take := func(n numbered) {
		n.a.retried = answers[n.i].retried
		answers[n.i] = n.a
		sent--
	}
	for sent > 0 && ctx.Err() == nil && !s.isOver() {
		select {
		case n := <-done:
			take(n)
		case <-ctx.Done():
		case <-s.over:
		}
	}
	for ended := false; !ended; { // what is answered already counts
		select {
		case n := <-done:
			take(n)
		default:
			ended = true
		}
	}
	if why := cmp.Or(ctx.Err(), s.overError()); why != nil {
		for _, i := range todo {
			if err := answers[i].result.Err; err == errUnsent || err == errLost {
				answers[i].result = Result{Err: why}
			}
		}
	}
}

// submit queues one request and leaves a goroutine that waits for its answer. An error:
// ctx or the session ended first, nothing was sent.
func (c *Client) submit(ctx context.Context, s *session, i int, u unit, retried bool, done chan<- numbered) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	cl, err := c.turn(ctx, s, u)
	if err != nil {
		return err
	}
	if !c.spawn(func() {
		a := c.send(s, cl, u, retried)
		<-c.inFlight
		done <- numbered{i, a}
	}) {
		<-c.inFlight
		cl.passTurn()
		return ErrClosed
	}
	return nil
}

// turn waits until a request may be queued: a place among those in flight, and the one
// before it written.
func (c *Client) turn(ctx context.Context, s *session, u unit) (*call, error) {
	if u.op.Fence >= 0 {
		c.journal.At(journal.MomentControllerZkWrite, u.op.Path)
	}
	select {
	case c.inFlight <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.over:
		return nil, s.overError()
	}
	select {
	case <-s.turn:
		cl := &call{s: s}
		s.leaving.Store(cl)
		return cl, nil
	case <-ctx.Done():
		<-c.inFlight
		return nil, ctx.Err()
	case <-s.over:
		<-c.inFlight
		return nil, s.overError()
	}
}

// spawn runs f on a goroutine that Close waits for; false when closed already.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Go(f)
	return true
}

// single is the result of a unit that stood for one op: plain, or fenced.
func (a answer) single(op Op) Result {
	r := a.result
	if op.Fence >= 0 && len(a.parts) == 2 {
		r = a.parts[1]
		if a.parts[0].Err == BadVersion {
			r.Err = ErrControllerMoved
		} else if a.parts[0].Err != nil {
			r.Err = a.parts[0].Err
		}
	}
	r.Retried = a.retried
	return r
}
