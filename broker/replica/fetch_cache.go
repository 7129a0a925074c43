package replica

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// FetchSessionCache holds the fetch sessions of a broker. Mirrors FetchSessionCache
// and FetchManager. Its methods may be called from any goroutine.
type FetchSessionCache struct {
	slots      int           // max.incremental.fetch.session.cache.slots
	evictAfter time.Duration // min.incremental.fetch.session.eviction.ms

	mu       sync.Mutex // guards sessions and their place in the cache; before a session's lock
	sessions map[int32]*fetchSession
}

// NewFetchSessionCache makes a cache of at most slots sessions (Kafka: 1000). A
// session unused for longer than evictAfter (Kafka: 120 s) may be thrown out by any
// new one. With 0 slots every fetch is a full one.
func NewFetchSessionCache(slots int, evictAfter time.Duration) *FetchSessionCache {
	return &FetchSessionCache{slots: slots, evictAfter: evictAfter, sessions: map[int32]*fetchSession{}}
}

// Len is the number of sessions.
func (c *FetchSessionCache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sessions)
}

// NewContext reads the session part of a fetch request and says what is to be
// fetched. Requests of versions below 7 have no session: pass NoFetchSession and
// FinalFetchEpoch.
func (c *FetchSessionCache) NewContext(sessionID, epoch int32, parts []FetchPartition, forgotten []topic.Partition, fromFollower bool) *FetchContext {
	if epoch == InitialFetchEpoch || epoch == FinalFetchEpoch {
		if sessionID != NoFetchSession {
			c.mu.Lock()
			c.close(sessionID)
			c.mu.Unlock()
		}
		x := &FetchContext{kind: sessionless, parts: withoutDuplicates(parts)}
		if epoch == InitialFetchEpoch {
			x.kind, x.cache, x.fromFollower = fullFetch, c, fromFollower
		}
		return x
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil {
		return &FetchContext{kind: sessionFailed, code: kafkaerr.FetchSessionIDNotFound}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != epoch {
		return &FetchContext{kind: sessionFailed, code: kafkaerr.InvalidFetchSessionEpoch}
	}
	for _, p := range parts {
		s.add(p)
	}
	for _, p := range forgotten {
		s.forget(p)
	}
	if len(s.partitions) == 0 {
		delete(c.sessions, s.id)
		s.end()
		return &FetchContext{kind: sessionless, parts: withoutDuplicates(parts)}
	}
	c.touch(s, time.Now())
	s.epoch = NextFetchEpoch(s.epoch)
	return &FetchContext{kind: incrementalFetch, session: s, epoch: s.epoch}
}

// close takes a session out. A fetch that waits in it is still answered. c.mu is held.
func (c *FetchSessionCache) close(id int32) {
	if s := c.sessions[id]; s != nil {
		delete(c.sessions, id)
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
	}
}

// create makes a session of what a full fetch asked for and was answered, if there
// is room or room can be made. It returns NoFetchSession otherwise.
func (c *FetchSessionCache) create(parts []FetchPartition, results []FetchResult, fromFollower bool) int32 {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) >= c.slots && !c.evict(evictionRank{fromFollower, len(results), 0}, now) {
		return NoFetchSession
	}
	s := newFetchSession(c.freeID(), fromFollower, now)
	asked := make(map[topic.Partition]FetchPartition, len(parts))
	for _, p := range parts {
		asked[p.Partition] = p
	}
	for i := range results {
		r := &results[i]
		p, ok := asked[r.Partition]
		if !ok {
			continue
		}
		cached := s.add(p)
		cached.highWatermark, cached.logStart = r.HighWatermark, r.LogStartOffset
	}
	c.sessions[s.id] = s
	c.touch(s, now)
	return s.id
}

// freeID draws ids until one is free: 1 to 2^31-2, as Kafka's.
func (c *FetchSessionCache) freeID() int32 {
	for {
		id := 1 + rand.Int32N(math.MaxInt32-1)
		if c.sessions[id] == nil {
			return id
		}
	}
}

// touch notes that the session was used. What may evict it is decided here and
// stays so until the next use, as in Kafka. c.mu is held.
func (c *FetchSessionCache) touch(s *fetchSession, now time.Time) {
	s.lastUsed = now
	s.size = len(s.partitions)
	old := now.Sub(s.created) > c.evictAfter
	s.evictableByFollowers = !s.privileged || old
	s.evictableByAll = old
}

// evictionRank orders sessions by value: a follower's above a consumer's, then by
// size; the id only makes the order total. Mirrors EvictableKey.
type evictionRank struct {
	privileged bool
	size       int
	id         int32
}

func (r evictionRank) less(o evictionRank) bool {
	switch {
	case r.privileged != o.privileged:
		return o.privileged
	case r.size != o.size:
		return r.size < o.size
	}
	return r.id < o.id
}

// evict makes room for a newcomer: first by the session unused for too long, else
// by the least valuable one that the newcomer may and does outrank. c.mu is held.
// It looks at every session: a full cache holds a thousand, and only a fetch that
// wants a new session pays.
func (c *FetchSessionCache) evict(newcomer evictionRank, now time.Time) bool {
	var stalest, weakest *fetchSession
	for _, s := range c.sessions {
		if stalest == nil || s.lastUsed.Before(stalest.lastUsed) {
			stalest = s
		}
		may := s.evictableByAll || newcomer.privileged && s.evictableByFollowers
		if may && (weakest == nil || s.rank().less(weakest.rank())) {
			weakest = s
		}
	}
	victim := weakest
	if stalest != nil && now.Sub(stalest.lastUsed) > c.evictAfter {
		victim = stalest
	} else if weakest == nil || newcomer.less(weakest.rank()) {
		return false
	}
	c.close(victim.id)
	return true
}

func (s *fetchSession) rank() evictionRank { return evictionRank{s.privileged, s.size, s.id} }
