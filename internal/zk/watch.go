package zk

import (
	"sync"

	gozk "github.com/go-zookeeper/zk"
)

// EventType of a handler call.
type EventType int8

// The events. Data handlers get all but ChildrenChanged, child handlers that one; both
// get Reread.
const (
	Created EventType = iota
	Deleted
	DataChanged
	ChildrenChanged
	Reread // the connection was re-established or a session began: the path may have changed without an event
)

func (t EventType) String() string {
	return [...]string{"created", "deleted", "data changed", "children changed", "re-read"}[t]
}

var eventTypes = map[gozk.EventType]EventType{
	gozk.EventNodeCreated: Created, gozk.EventNodeDeleted: Deleted,
	gozk.EventNodeDataChanged: DataChanged, gozk.EventNodeChildrenChanged: ChildrenChanged,
}

// ---- handlers ---------------------------------------------------------------------

// handlers are the registered functions, by path. ZooKeeper is told nothing: a watch is
// armed by a read that finds a handler here.
type handlers struct {
	mu    sync.Mutex // guards both maps; innermost
	data  map[string]func(EventType)
	child map[string]func(EventType)
}

// RegisterData sets the function for a node's creation, deletion and change of data. It
// arms nothing by itself: the next Get or Exists of the path does.
//
// Handlers run on the client's one event goroutine, in the order of events. They must
// not block, and must not call the client: put an event on a queue. After a reconnect
// every registered path gets Reread.
func (c *Client) RegisterData(path string, f func(EventType)) {
	c.handlers.mu.Lock()
	c.handlers.data[path] = f
	c.handlers.mu.Unlock()
}

// UnregisterData edits only the local map: a watch stays armed, its event finds nobody.
func (c *Client) UnregisterData(path string) {
	c.handlers.mu.Lock()
	delete(c.handlers.data, path)
	c.handlers.mu.Unlock()
}

// RegisterChild sets the function for changes of a node's list of children. The next
// Children with watch arms it.
func (c *Client) RegisterChild(path string, f func(EventType)) {
	c.handlers.mu.Lock()
	c.handlers.child[path] = f
	c.handlers.mu.Unlock()
}

// UnregisterChild edits only the local map.
func (c *Client) UnregisterChild(path string) {
	c.handlers.mu.Lock()
	delete(c.handlers.child, path)
	c.handlers.mu.Unlock()
}

// watches says whether a read of this kind should arm a watch, as Kafka decides it.
func (h *handlers) watches(op Op) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op.Kind {
	case OpGet, OpExists:
		return h.data[op.Path] != nil
	case OpChildren:
		return op.Watch && h.child[op.Path] != nil
	}
	return false
}

func (h *handlers) get(t EventType, path string) func(EventType) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t == ChildrenChanged {
		return h.child[path]
	}
	return h.data[path]
}

func (h *handlers) all() []func(EventType) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fs := make([]func(EventType), 0, len(h.data)+len(h.child))
	for _, f := range h.data {
		fs = append(fs, f)
	}
	for _, f := range h.child {
		fs = append(fs, f)
	}
	return fs
}

// ---- what is armed ----------------------------------------------------------------

// Every watching read of go-zookeeper adds a channel that only an event removes. So a
// path that is armed already is read plainly. Armed is what is surely armed: after doubt
// the next read arms again, which costs one channel and no second event.

type watchKey struct {
	child bool
	path  string
}

type armState struct {
	armed bool
	fires int // events so far: an arm that overlapped one is in doubt
}

// arming says whether to use the watching read, and what to hand to confirm after it.
func (s *session) arming(k watchKey) (watch bool, doubt armDoubt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.armed[k]
	if st == nil {
		st = &armState{}
		s.armed[k] = st
	}
	return !st.armed, armDoubt{k, st, st.fires}
}

// armDoubt is a watching read under way. It armed the watch for sure if the connection
// (which drops all armStates) and the count of events are still the same after it.
type armDoubt struct {
	key   watchKey
	state *armState
	fires int
}

// confirm notes a successful watching read.
func (s *session) confirm(d armDoubt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed[d.key] == d.state && d.state.fires == d.fires {
		d.state.armed = true
	}
}

// fired notes that a watch was used up. It runs before the event is delivered.
func (s *session) fired(t EventType, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t != ChildrenChanged {
		s.usedUpLocked(watchKey{false, path})
	}
	if t == ChildrenChanged || t == Deleted {
		s.usedUpLocked(watchKey{true, path})
	}
}

func (s *session) usedUpLocked(k watchKey) {
	if st := s.armed[k]; st != nil {
		st.armed = false
		st.fires++
	}
}
