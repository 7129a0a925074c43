package replica

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"kz/broker/commitlog"
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
// The session's lock guards all of it.
//
// It is quiet or awake. A fetch visits the awake ones only, so its cost follows what
// changed and not what the session holds; Kafka visits all of them each time.
//
//	quiet    the last visit found nothing to tell and nothing changed since: another
//	         visit would be wasted
//	awake    everything else: new, named in a request, touched by its Partition, not
//	         yet told, not yet read to the end, in error, or of a follower that is not
//	         in the ISR
//
// Only settle makes it quiet. touches tells whether something happened between the
// moment at which a visit began and the settling: what comes after the visit began
// keeps it awake, whether or not the visit saw it.
type cachedPartition struct {
	session *fetchSession

	request       FetchPartition
	highWatermark int64 // as last answered; -1 forces the next answer
	logStart      int64 // the leader's, as last answered
	turn          uint64
	start         commitlog.OffsetMetadata // where the latest read began; unknownOffset: do not look

	quiet   bool
	slot    int    // its place in session.awake, unless quiet
	touches uint64 // how often it was touched; 0 is never a count, so that it fits no visit
	refused int32  // the session epoch in which the request must not read it (FetchContext.Refuse)
	gone    bool   // forgotten

	watched *Partition     // the one that touches it
	remote  *remoteReplica // of a quiet one: the follower that the session's fetches speak for
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

// reader is who fetches, as far as it decides what a visit finds.
type reader struct {
	replica    int32
	isolation  isolation
	leaderOnly bool
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

	// mu guards what follows. It is taken after the cache's lock, and after a
	// partition's, its log's and its watchers'. Only a remoteReplica's is taken under it.
	mu         sync.Mutex
	closed     bool  // out of the cache; a fetch that still waits may end in it
	epoch      int32 // the next request's
	partitions map[topic.Partition]*cachedPartition
	turns      uint64             // the highest turn given: the order is by turn
	awake      []*cachedPartition // in any order
	reader     reader             // of the latest fetch
	lastFetch  time.Time          // when it came
}

func newFetchSession(id int32, privileged bool, now time.Time) *fetchSession {
	return &fetchSession{
		id: id, privileged: privileged, created: now,
		epoch:      NextFetchEpoch(InitialFetchEpoch),
		partitions: map[topic.Partition]*cachedPartition{},
	}
}

// add appends a partition at the end of the order, or changes its terms in place.
func (s *fetchSession) add(p FetchPartition) *cachedPartition {
	c := s.partitions[p.Partition]
	if c == nil {
		c = &cachedPartition{session: s, request: p, highWatermark: -1, logStart: -1, start: unknownOffset, quiet: true}
		s.partitions[p.Partition] = c
		s.moveToEnd(c)
	}
	s.touch(c) // under its old terms: a quiet follower had everything below the old offset
	c.request = p
	return c
}

func (s *fetchSession) forget(p topic.Partition) {
	c := s.partitions[p]
	if c == nil {
		return
	}
	s.touch(c)
	delete(s.partitions, p)
	s.removeAwake(c)
	c.gone = true
}

// moveToEnd makes room at the front for partitions that have not been served: a
// response that is full stops before the end of the order.
func (s *fetchSession) moveToEnd(c *cachedPartition) {
	s.turns++
	c.turn = s.turns
}

// touch notes that the next visit of c may find something.
func (s *fetchSession) touch(c *cachedPartition) {
	c.touches++
	if !c.quiet || c.gone {
		return
	}
	c.quiet, c.slot = false, len(s.awake)
	s.awake = append(s.awake, c)
	if c.remote != nil {
		// A fetch says of each partition that the follower has everything below its offset.
		// Of the quiet ones it is said here, once for all fetches since.
		c.remote.update(func(f followerState) followerState { return f.idle(c.request.Offset, s.lastFetch) })
		c.remote = nil
	}
}

func (s *fetchSession) touchAll() {
	for _, c := range s.partitions {
		s.touch(c)
	}
}

// end is for a session that leaves the cache. What its fetches said of the quiet
// partitions is said now: nobody touches them through this session for long any more, and
// a follower whose session is begun anew has not lagged.
func (s *fetchSession) end() {
	s.closed = true
	s.touchAll()
}

func (s *fetchSession) removeAwake(c *cachedPartition) {
	last := len(s.awake) - 1
	s.awake[c.slot] = s.awake[last]
	s.awake[c.slot].slot = c.slot
	s.awake[last] = nil
	s.awake = s.awake[:last]
}

// settle makes c quiet after a visit that found nothing and that nothing overtook.
//
// A follower's partition stays awake until the fetch counts for the ISR: until the
// follower is in it, every fetch may be the one with which it joins.
func (s *fetchSession) settle(c *cachedPartition, r *FetchResult) {
	if r.Data.Len() > 0 || r.Code != 0 || r.DivergingEpoch >= 0 || r.PreferredReadReplica >= 0 || !r.drained ||
		r.touches != c.touches || c.quiet {
		return
	}
	if s.reader.replica >= 0 {
		if r.remote == nil || r.remote.load().end.Offset != c.request.Offset {
			return
		}
		c.remote = r.remote
	}
	s.removeAwake(c)
	c.quiet, c.start = true, r.start
}

// visit is one partition of one fetch.
type visit struct {
	FetchPartition
	cached  *cachedPartition // nil outside of sessions
	touches uint64           // when the visit began
	start   commitlog.OffsetMetadata
}

// visits appends what a request of the session must look at now, in the session's
// order: those that are awake, but for the refused.
func (s *fetchSession) visits(epoch int32, buf []visit) []visit {
	slices.SortFunc(s.awake, func(a, b *cachedPartition) int { return cmp.Compare(a.turn, b.turn) })
	for i, c := range s.awake {
		c.slot = i
		if c.refused != epoch {
			buf = append(buf, visit{c.request, c, c.touches, c.start})
		}
	}
	return buf
}
