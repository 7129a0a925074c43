package controller

import "sync"

// queue is an unbounded first-in first-out queue with one consumer.
//
// put never blocks: ZooKeeper's watch callbacks run on the client's event goroutine,
// and the controller may at that moment be waiting for an answer that only this
// goroutine can deliver. A bounded queue would deadlock the two.
//
// Mirrors the queue of ControllerEventManager; the senders use one too.
type queue[T any] struct {
	mu     sync.Mutex // guards what follows; a leaf in every lock order
	ready  sync.Cond  // an item came, or the queue was closed
	items  []T
	closed bool
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.ready.L = &q.mu
	return q
}

// put appends v; false says the queue is closed and v was not taken.
func (q *queue[T]) put(v T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, v)
	q.ready.Signal()
	return true
}

// replace drops everything that waits and puts v, in one step, so that nothing that was
// enqueued before v is processed after it. It returns what was dropped.
func (q *queue[T]) replace(v T) (dropped []T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, false
	}
	dropped, q.items = q.items, []T{v}
	q.ready.Signal()
	return dropped, true
}

// take waits for the next item; false says the queue is closed.
func (q *queue[T]) take() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		return v, false
	}
	v = q.items[0]
	var zero T
	q.items[0] = zero // what was taken must not be kept alive by the slice
	q.items = q.items[1:]
	if len(q.items) == 0 {
		q.items = nil
	}
	return v, true
}

// close ends take at once, without the items that still wait; it returns those.
func (q *queue[T]) close() (dropped []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	dropped, q.items = q.items, nil
	q.ready.Broadcast()
	return dropped
}

// nameSet collects names between two visits of the controller, so that a thousand
// watches that fire together become one event and one batch of reads.
type nameSet struct {
	mu    sync.Mutex // guards names; a leaf in every lock order
	names map[string]struct{}
}

// add says whether the set was empty before, which is when an event must be put.
func (s *nameSet) add(name string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = len(s.names) == 0
	if s.names == nil {
		s.names = map[string]struct{}{}
	}
	s.names[name] = struct{}{}
	return first
}

// drain empties the set.
func (s *nameSet) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.names))
	for n := range s.names {
		names = append(names, n)
	}
	s.names = nil
	return names
}
