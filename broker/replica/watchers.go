package replica

import (
	"slices"
	"sync"

	"kz/internal/topic"
)

// watchers are the fetch sessions that read a partition. Whatever changes what a read of
// it gives touches them; a touched one is visited by its session's next fetch. A session
// that has gone stays in the list until the next one comes, so there are never more than
// the cache had sessions at one time.
type watchers struct {
	// mu guards list. After the partition's and the log's locks, before the sessions':
	// touch is called by the log.
	mu   sync.Mutex
	list []*cachedPartition
}

// watch makes p touch the visited partition of a session from now on. It comes before
// the visit reads p; the first time it begins the visit anew.
func (p *Partition) watch(v *visit) {
	c, s := v.cached, v.cached.session
	s.mu.Lock()
	known := c.watched == p
	s.mu.Unlock()
	if known {
		return
	}
	w := &p.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(o *cachedPartition) bool {
		o.session.mu.Lock()
		defer o.session.mu.Unlock()
		return o == c || o.gone || o.session.closed
	})
	w.list = append(w.list, c)
	s.mu.Lock()
	c.watched = p
	s.mu.Unlock()
}

// touch tells all sessions that reading p may give something new. It comes after the
// change, so that whoever visits p because of it sees the change. Called under p.mu or
// under the log's locks; takes none of them.
func (p *Partition) touch() {
	w := &p.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.list {
		c.session.mu.Lock()
		c.session.touch(c)
		c.session.mu.Unlock()
	}
}

// sessions appends the sessions that read p to buf.
func (p *Partition) sessions(buf []*fetchSession) []*fetchSession {
	w := &p.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.list {
		buf = append(buf, c.session)
	}
	return buf
}

// fetchKey is what a parked fetch waits for: that something happens in its session, or,
// without one, to one of its partitions.
type fetchKey struct {
	session   *fetchSession
	partition topic.Partition
}
