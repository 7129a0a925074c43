package purgatory

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// Purgatory is Kafka's DelayedOperationPurgatory.
type Purgatory[K comparable] struct {
	name          string
	purgeInterval int64
	timer         *Timer
	seed          maphash.Seed
	shards        [shardCount + 1]shard[K]
	left          func() // leave as a value

	// estimate is how many operations the lists hold: all that were parked since the last
	// purge, and those that waited then. What exceeds the waiting ones is done, and only
	// still listed under keys that nothing happened to.
	estimate atomic.Int64
	waiting  atomic.Int64
	purging  atomic.Bool // a purge is due or running
	stopped  atomic.Bool
}

const (
	shardCount = 512
	noKey      = shardCount // the shard of operations that only time can complete
)

// shard is the watch lists of the keys with one hash.
type shard[K comparable] struct {
	mu    sync.Mutex // guards lists and what is in them; no operation is called under it
	lists map[K][]*parked
}

// New starts the reaper goroutine (ExpirationReaper); Stop ends it. When more than
// purgeInterval operations are done but still listed, the lists are swept.
func New[K comparable](name string, purgeInterval int) *Purgatory[K] {
	p := &Purgatory[K]{
		name:          name,
		purgeInterval: int64(purgeInterval),
		timer:         NewTimer(),
		seed:          maphash.MakeSeed(),
	}
	p.left = p.leave
	for i := range p.shards {
		p.shards[i].lists = map[K][]*parked{}
	}
	return p
}

// Name is what New was given: "Produce", "Fetch".
func (p *Purgatory[K]) Name() string { return p.name }

// TryCompleteElseWatch tries once; if not done, watches every key, tries again, and arms
// the timer. Reports whether it is complete, by this call or by whoever came meanwhile.
// timeout <= 0 expires at once (through the timer's own path).
//
// The second try closes the gap between the first one and the watching: what happened in
// it was told to nobody.
func (p *Purgatory[K]) TryCompleteElseWatch(op Operation, timeout time.Duration, keys ...K) bool {
	e := newParked(op, p.timer)
	if e.tryComplete() {
		return true
	}
	e.leave = p.left
	p.waiting.Add(1)
	p.estimate.Add(1)
	for _, key := range keys {
		if e.done.Load() { // completed under an earlier key
			break
		}
		p.shard(key).watch(key, e)
	}
	if len(keys) == 0 {
		var none K
		p.shards[noKey].watch(none, e)
	}
	e.tryComplete()
	if p.stopped.Load() { // Stop may have swept before it was watched
		e.complete()
	}
	if e.done.Load() {
		return true
	}
	p.timer.add(&e.timeout, timeout) // adds nothing when complete has cancelled it meanwhile
	return false
}

// CheckAndComplete tries every operation that watches key; it returns how many it
// completed. Call it with no lock held that an OnComplete may want.
func (p *Purgatory[K]) CheckAndComplete(key K) int { return p.each(key, (*parked).tryComplete) }

// CompleteAll force-completes every operation watching key (leadership lost, shutdown).
func (p *Purgatory[K]) CompleteAll(key K) int {
	return p.each(key, (*parked).complete)
}

// each calls f for a copy of a key's list, with no lock held, and drops from the list
// what is done.
func (p *Purgatory[K]) each(key K, f func(*parked) bool) (completed int) {
	s := p.shard(key)
	s.mu.Lock()
	list := s.lists[key]
	if len(list) == 0 {
		s.mu.Unlock()
		return 0
	}
	var few [16]*parked
	list = append(few[:0], list...)
	s.mu.Unlock()

	anyDone := false
	for _, e := range list {
		if !e.done.Load() && f(e) {
			completed++
		}
		anyDone = anyDone || e.done.Load()
	}
	if anyDone {
		s.mu.Lock()
		s.sweep(key)
		s.mu.Unlock()
	}
	return completed
}

// Watched is the number of entries in watch lists: an operation counts once for each key,
// and some that are done count too.
func (p *Purgatory[K]) Watched() (n int) {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		for _, list := range s.lists {
			n += len(list)
		}
		s.mu.Unlock()
	}
	return n
}

// Delayed is the number of operations that wait for progress or their timeout.
func (p *Purgatory[K]) Delayed() int { return int(p.waiting.Load()) }

// Stop force-completes everything still parked, so everyone left waiting gets an answer,
// and ends the reaper. What is parked later is completed at once. It must not be called
// from an OnComplete.
func (p *Purgatory[K]) Stop() {
	p.stopped.Store(true)
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		var all []*parked
		for _, list := range s.lists {
			all = append(all, list...)
		}
		clear(s.lists)
		s.mu.Unlock()
		for _, e := range all {
			e.complete()
		}
	}
	p.timer.Stop()
}

func (p *Purgatory[K]) shard(key K) *shard[K] {
	return &p.shards[maphash.Comparable(p.seed, key)%shardCount]
}

func (s *shard[K]) watch(key K, e *parked) {
	s.mu.Lock()
	s.lists[key] = append(s.lists[key], e)
	s.mu.Unlock()
}

// leave is called when an operation that waited is done.
func (p *Purgatory[K]) leave() {
	p.waiting.Add(-1)
	p.maybePurge()
}

// maybePurge has the reaper sweep all lists when too much in them is done.
func (p *Purgatory[K]) maybePurge() {
	if p.estimate.Load()-p.waiting.Load() > p.purgeInterval && p.purging.CompareAndSwap(false, true) {
		p.timer.After(0, p.purge)
	}
}

func (p *Purgatory[K]) purge() {
	// Before the sweep: what is done meanwhile is estimated a little too high, not too low.
	p.estimate.Store(p.waiting.Load())
	p.purging.Store(false)
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		for key := range s.lists {
			s.sweep(key)
		}
		s.mu.Unlock()
	}
}

// sweep drops what is done from a list, and the list when nothing is left. The caller
// holds mu.
func (s *shard[K]) sweep(key K) {
	list := s.lists[key]
	kept := list[:0]
	for _, e := range list {
		if !e.done.Load() {
			kept = append(kept, e)
		}
	}
	clear(list[len(kept):])
	if len(kept) == 0 {
		delete(s.lists, key)
		return
	}
	s.lists[key] = kept
}
