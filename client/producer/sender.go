package producer

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/wire"
)

// sender is one broker's pair of goroutines: run drains batches into requests,
// receive handles the answers in the order the requests were sent.
type sender struct {
	p       *Producer
	node    int32
	wake    chan struct{}  // one token: look again
	slots   chan struct{}  // a token per request that may be in flight
	flights chan *flight   // sent requests, in order; never more than slots
	start   int            // where draining begins, so that no partition is always last
	until   atomic.Int64   // throttled until, Unix ms
	timer   *time.Timer    // lingering, backoff
	request *requestBuffer // reused
}

// flight is one request on its way.
type flight struct {
	call    *wire.Call
	batches []*batch
	due     time.Time // when its answer is late
}

func (p *Producer) startSender(node int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.senders[node] != nil || p.ctx.Err() != nil {
		return
	}
	n := min(p.cfg.MaxInFlight, 1<<10)
	s := &sender{
		p: p, node: node, wake: make(chan struct{}, 1),
		slots: make(chan struct{}, n), flights: make(chan *flight, n), request: newRequestBuffer(&p.cfg),
	}
	p.senders[node] = s
	p.wg.Go(s.run)
	p.wg.Go(s.receive)
}

// wake tells the queue's leader's sender that there may be something to send, or the
// keeper that there is no leader.
func (p *Producer) wake(q *queue) {
	leader := q.leader.Load()
	p.mu.Lock()
	s := p.senders[leader]
	p.mu.Unlock()
	if s == nil {
		p.requestUpdate()
		return
	}
	s.poke()
}

func (p *Producer) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.senders {
		s.poke()
	}
}

func (s *sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends whenever a partition that this broker leads is ready, the connection
// stands and a slot is free. It ends with the producer.
func (s *sender) run() {
	defer close(s.flights)
	s.timer = time.NewTimer(math.MaxInt64)
	defer s.timer.Stop()
	for s.p.ctx.Err() == nil {
		if !s.waitReady() {
			continue
		}
		conn, ok := s.connect()
		if !ok {
			continue
		}
		select {
		case s.slots <- struct{}{}:
		case <-s.p.ctx.Done():
			return
		}
		if !s.send(conn) {
			<-s.slots
		}
	}
}

// waitReady reports whether a batch is ready now; else it has waited for a reason to look again.
func (s *sender) waitReady() bool {
	next := s.untilReady()
	if next == 0 {
		return true
	}
	s.timer.Reset(next)
	select {
	case <-s.wake:
	case <-s.timer.C:
	case <-s.p.ctx.Done():
	}
	return false
}

// untilReady is how long until the first partition of this broker is ready.
func (s *sender) untilReady() time.Duration {
	r := s.p.readiness()
	next := time.Duration(math.MaxInt64)
	for _, q := range s.p.view.Load().byLeader[s.node] {
		if d := q.ready(r); d >= 0 {
			next = min(next, d)
		}
	}
	if throttled := time.Until(time.UnixMilli(s.until.Load())); next < throttled {
		next = throttled
	}
	return next
}

func (p *Producer) readiness() readiness {
	return readiness{now: time.Now(), linger: p.cfg.Linger, backoff: p.cfg.Client.RetryBackoff, hurry: p.hurry()}
}

// connect gives the connection. Without one there may be a new leader: metadata is
// asked for, and the batches stay where they are.
func (s *sender) connect() (*client.Conn, bool) {
	conn, err := s.p.client.Connect(s.p.ctx, s.node)
	if err == nil {
		return conn, true
	}
	s.p.requestUpdate()
	s.timer.Reset(s.p.cfg.Client.RetryBackoff)
	select {
	case <-s.timer.C:
	case <-s.p.ctx.Done():
	}
	return nil, false
}

// send drains one batch of each partition into one request. It reports false when
// no request is in flight afterwards.
func (s *sender) send(conn *client.Conn) bool {
	batches := s.drain()
	if len(batches) == 0 {
		return false
	}
	req := s.request.build(batches)
	if err := conn.Prepare(req); err != nil {
		s.p.failAll(batches, err)
		return false
	}
	late := time.AfterFunc(s.p.cfg.Client.RequestTimeout, func() { conn.Close() }) // a broker that reads nothing
	defer late.Stop()
	if s.p.cfg.Acks == 0 {
		if err := conn.SendOnly(req); err != nil {
			s.p.failAll(batches, kafkaerr.Wrap(kafkaerr.NetworkException, "produce", err))
			return false
		}
		for _, b := range batches {
			b.queue.unmute()
			s.p.finish(b, -1, -1, nil)
		}
		return false
	}
	call, err := conn.Start(req)
	if err != nil {
		s.p.failAll(batches, kafkaerr.Wrap(kafkaerr.NetworkException, "produce", err))
		return false
	}
	s.flights <- &flight{call: call, batches: batches, due: time.Now().Add(s.p.cfg.Client.RequestTimeout)}
	return true
}

// drain takes at most one batch of each partition, up to max.request.size together;
// once one partition is ready the others' batches go along, as in Kafka.
// Mirrors RecordAccumulator.drainBatchesForOneNode.
func (s *sender) drain() []*batch {
	queues := s.p.view.Load().byLeader[s.node]
	if len(queues) == 0 {
		return nil
	}
	var out []*batch
	r := s.p.readiness()
	mute := s.p.cfg.MaxInFlight == 1
	room := s.p.cfg.MaxRequestSize
	s.start++
	for i := range queues {
		q := queues[(s.start+i)%len(queues)]
		b := q.take(r, room, len(out) == 0, mute)
		if b == nil {
			continue
		}
		b.close() // compresses, with no lock held
		room -= len(b.bytes)
		out = append(out, b)
	}
	return out
}

// receive handles answers until run ends.
func (s *sender) receive() {
	for f := range s.flights {
		ctx, cancel := context.WithDeadline(s.p.ctx, f.due)
		resp, err := f.call.Wait(ctx)
		cancel()
		if err != nil {
			s.p.failAll(f.batches, kafkaerr.Wrap(kafkaerr.NetworkException, "produce", err))
		} else {
			s.answered(f.batches, resp.(*kmsg.ProduceResponse))
		}
		<-s.slots
		s.poke()
	}
}
