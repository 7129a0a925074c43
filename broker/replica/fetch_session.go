package replica

import (
	"math"
	"sync"
	"time"

	"kz/internal/topic"
)

// The session ids and epochs with a meaning of their own. Mirrors
// org.apache.kafka.common.requests.FetchMetadata.
//
//	(0, 0)      a full fetch that would like a session
//	(id, 0)     drop that session, then as (0, 0)
//	(any, -1)   a full fetch without a session; the session, if there is one, is closed
//	(id, n>0)   an incremental fetch: the n-th of session id
const (
	NoFetchSession    int32 = 0
	InitialFetchEpoch int32 = 0
	FinalFetchEpoch   int32 = -1
)

// NextFetchEpoch is the epoch that follows e in a session: 1 after the first, full
// fetch; after the largest number 1 again; a final epoch stays final.
func NextFetchEpoch(e int32) int32 {
	switch {
	case e < 0:
		return FinalFetchEpoch
	case e == math.MaxInt32:
		return 1
	}
	return e + 1
}

// cachedPartition is one partition of a session: the terms of the fetch that the
// client need not repeat, and the marks it was last told. Mirrors CachedPartition.
type cachedPartition struct {
	request       FetchPartition
	highWatermark int64 // as last answered; -1 forces the next answer
	logStart      int64 // the leader's, as last answered

	prev, next *cachedPartition // the session's order
}

// tell decides whether the client must hear this result, and notes what it hears.
// A result that says nothing new is left out of an incremental answer.
func (c *cachedPartition) tell(r *FetchResult) (must bool) {
	must = r.Data.Len() > 0 || r.PreferredReadReplica >= 0 || r.DivergingEpoch >= 0
	if c.highWatermark != r.HighWatermark {
		must = true
		c.highWatermark = r.HighWatermark
	}
	if c.logStart != r.LogStartOffset {
		must = true
		c.logStart = r.LogStartOffset
	}
	if r.Code != 0 {
		must = true
		c.highWatermark = -1 // so that the end of the error is told as well
	}
	return must
}

// fetchSession is what the broker remembers of one client's fetches. Mirrors
// FetchSession.
type fetchSession struct {
	id         int32
	privileged bool // a follower's: consumers' sessions give way to it
	created    time.Time

	// Guarded by the cache's lock.
	lastUsed             time.Time
	size                 int // partitions, as of lastUsed
	evictableByFollowers bool
	evictableByAll       bool

	mu         sync.Mutex // guards what follows; taken after the cache's lock
	epoch      int32      // the next request's
	partitions map[topic.Partition]*cachedPartition
	order      cachedPartition // sentinel of the ring: order.next is fetched first
}

func newFetchSession(id int32, privileged bool, now time.Time) *fetchSession {
	s := &fetchSession{
		id: id, privileged: privileged, created: now,
		epoch:      NextFetchEpoch(InitialFetchEpoch),
		partitions: map[topic.Partition]*cachedPartition{},
	}
	s.order.prev, s.order.next = &s.order, &s.order
	return s
}

// add appends a partition at the end of the order, or changes its terms in place.
func (s *fetchSession) add(p FetchPartition) *cachedPartition {
	if c := s.partitions[p.Partition]; c != nil {
		c.request = p
		return c
	}
	c := &cachedPartition{request: p, highWatermark: -1, logStart: -1}
	s.partitions[p.Partition] = c
	s.link(c)
	return c
}

func (s *fetchSession) forget(p topic.Partition) {
	if c := s.partitions[p]; c != nil {
		delete(s.partitions, p)
		c.prev.next, c.next.prev = c.next, c.prev
	}
}

// moveToEnd makes room at the front for partitions that have not been served: a
// response that is full stops before the end of the order.
func (s *fetchSession) moveToEnd(c *cachedPartition) {
	c.prev.next, c.next.prev = c.next, c.prev
	s.link(c)
}

func (s *fetchSession) link(c *cachedPartition) {
	c.prev, c.next = s.order.prev, &s.order
	c.prev.next, c.next.prev = c, c
}

// requests lists all partitions of the session in order.
func (s *fetchSession) requests() []FetchPartition {
	out := make([]FetchPartition, 0, len(s.partitions))
	for c := s.order.next; c != &s.order; c = c.next {
		out = append(out, c.request)
	}
	return out
}
