package producer

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kz/client"
	"kz/internal/record"
)

// topicState is one topic the producer writes to.
type topicState struct {
	name     string
	view     atomic.Pointer[topicView] // nil until metadata named the topic
	hopeless atomic.Pointer[error]     // why there will be no view, or nil
	sticky   atomic.Int32              // partition of keyless records, -1 none yet
	ratio    atomic.Uint64             // bits of the float64: expected compressed / plain
	codec    record.Codec
}

// topicView is what metadata last said; it is replaced, never changed.
type topicView struct {
	queues    []*queue // by partition number
	available []int32  // partitions with a leader
}

func newTopicState(name string, codec record.Codec) *topicState {
	t := &topicState{name: name, codec: codec}
	t.sticky.Store(-1)
	t.ratio.Store(math.Float64bits(1))
	return t
}

// expected is the compression ratio to reckon with.
func (t *topicState) expected() float64 { return math.Float64frombits(t.ratio.Load()) }

// observe moves the expectation: up at once, down slowly, since a batch that comes
// out too large costs a split. Mirrors CompressionRatioEstimator.updateEstimation.
func (t *topicState) observe(ratio float64) {
	if t.codec == record.None {
		return
	}
	e := t.expected()
	if ratio > e {
		e = max(e+0.05, ratio)
	} else {
		e = max(e-0.005, ratio)
	}
	t.ratio.Store(math.Float64bits(min(e, 1.5)))
}

// queue is one partition: its batches, oldest first; only the last is open.
// Mirrors the deques of RecordAccumulator.
type queue struct {
	topic       *topicState
	id          int32
	leader      atomic.Int32 // client.NoLeader when unknown
	leaderEpoch int32        // of the leader; only the keeper touches it

	mu      sync.Mutex // guards what follows and the open batch; taken with no other lock held
	batches []*batch
	muted   bool // MaxInFlight 1: a batch is on its way, nothing may overtake it
}

func newQueue(t *topicState, id int32) *queue {
	q := &queue{topic: t, id: id}
	q.leader.Store(client.NoLeader)
	return q
}

// tryAppend adds to the open batch, if there is one with room. full reports, once
// per batch, that this record was its last.
func (q *queue) tryAppend(r *Record, a ack) (ok, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tryAppendLocked(r, a)
}

func (q *queue) tryAppendLocked(r *Record, a ack) (ok, full bool) {
	if len(q.batches) == 0 {
		return false, false
	}
	last := q.batches[len(q.batches)-1]
	ok = last.tryAppend(r, a)
	return ok, ok && last.full
}

// push opens fresh with the record, unless another goroutine opened one meanwhile
// and it has room: then used is false and fresh is the caller's again.
func (q *queue) push(fresh *batch, r *Record, a ack) (used, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ok, full := q.tryAppendLocked(r, a); ok {
		return false, full
	}
	fresh.tryAppend(r, a)
	q.batches = append(q.batches, fresh)
	return true, fresh.full
}

// putBack returns a batch for another attempt, before all others.
func (q *queue) putBack(b *batch, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b.lastAttempt = now
	q.batches = slices.Insert(q.batches, 0, b)
	q.muted = false
}

// replace puts the parts of a batch that was split in its place.
func (q *queue) replace(parts []*batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches = slices.Insert(q.batches, 0, parts...)
	q.muted = false
}

func (q *queue) unmute() {
	q.mu.Lock()
	q.muted = false
	q.mu.Unlock()
}

// readiness is what drain needs to know besides the queue.
type readiness struct {
	now     time.Time
	linger  time.Duration
	backoff time.Duration
	hurry   bool // flushing, closing or out of memory: everything is ready
}

// ready says when the oldest batch may be sent: in how long, 0 for now, -1 when
// there is none. Mirrors RecordAccumulator.ready.
func (q *queue) ready(r readiness) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 || q.muted {
		return -1
	}
	first := q.batches[0]
	switch {
	case first.attempts > 0:
		return max(0, first.lastAttempt.Add(r.backoff).Sub(r.now))
	case first.full || len(q.batches) > 1 || r.hurry:
		return 0
	default:
		return max(0, first.created.Add(r.linger).Sub(r.now))
	}
}

// take removes the oldest batch for sending, when it is not backing off and fits in
// room (any size fits when first is set). It closes the batch to further records.
func (q *queue) take(r readiness, room int, first, mute bool) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 || q.muted {
		return nil
	}
	b := q.batches[0]
	if b.attempts > 0 && r.now.Before(b.lastAttempt.Add(r.backoff)) {
		return nil
	}
	if size := b.size(); size > room && !first {
		return nil
	}
	q.batches = slices.Delete(q.batches, 0, 1)
	q.muted = mute
	b.full = true
	return b
}

func (b *batch) size() int {
	if b.bytes != nil {
		return len(b.bytes)
	}
	return b.estimate(b.builder.Len())
}

// expire removes the batches older than limit that nobody is sending, or all of them.
func (q *queue) expire(now time.Time, limit time.Duration, all bool) []*batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []*batch
	for len(q.batches) > 0 && (all || now.Sub(q.batches[0].created) >= limit) {
		q.batches[0].full = true
		out = append(out, q.batches[0])
		q.batches = slices.Delete(q.batches, 0, 1)
	}
	return out
}
