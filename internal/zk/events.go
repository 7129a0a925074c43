package zk

import (
	"fmt"
	"sync"
	"time"

	"kz/internal/journal"
)

type eventKind int8

const (
	watchEvent eventKind = iota
	sessionOpened
	sessionReconnected
	connectionLost
	rereadAll // a new session is in place and its hooks have run
)

type event struct {
	kind    eventKind
	session *session
	watch   EventType
	path    string
}

// eventQueue is unbounded: go-zookeeper's receive loop puts, and whoever handles an
// event may be waiting for an answer that this very loop has to bring.
type eventQueue struct {
	mu     sync.Mutex // guards list and closed; innermost
	list   []event
	closed bool
	signal chan struct{} // holds one token when the list may be non-empty, or closed
}

func newEventQueue() *eventQueue { return &eventQueue{signal: make(chan struct{}, 1)} }

func (q *eventQueue) put(e event) {
	q.mu.Lock()
	if !q.closed {
		q.list = append(q.list, e)
	}
	q.mu.Unlock()
	q.wake()
}

func (q *eventQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.list = nil
	q.mu.Unlock()
	q.wake()
}

func (q *eventQueue) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// take waits for events and returns all there are; false once closed.
func (q *eventQueue) take() ([]event, bool) {
	for range q.signal {
		q.mu.Lock()
		list, closed := q.list, q.closed
		q.list = nil
		q.mu.Unlock()
		if closed {
			return nil, false
		}
		if len(list) > 0 {
			return list, true
		}
	}
	return nil, false
}

// runEvents is the event goroutine: the only caller of handlers.
func (c *Client) runEvents() {
	for {
		list, ok := c.events.take()
		if !ok {
			return
		}
		for _, e := range list {
			c.dispatch(e)
		}
	}
}

func (c *Client) dispatch(e event) {
	switch e.kind {
	case watchEvent:
		if c.journal.On() {
			c.journal.Emit(journal.Event{Kind: journal.WatchFired, Source: "zk", Path: e.path, Text: e.watch.String()})
		}
		if f := c.handlers.get(e.watch, e.path); f != nil {
			f(e.watch)
		}
	case sessionOpened:
		c.logOpened(e.session)
		c.sessionEvent(journal.SessionOpened, e.session, "opened")
	case connectionLost:
		c.log.Warn().Str("session", hex(e.session.id.Load())).Msg("connection to zookeeper lost")
		c.sessionEvent(journal.SessionLost, e.session, "connection lost: what was in flight is unknown")
	case sessionReconnected:
		c.log.Info().Str("session", hex(e.session.id.Load())).Msg("connected to zookeeper again, same session")
		c.sessionEvent(journal.SessionRegained, e.session, "connected again, same session")
		c.rereadAll()
	case rereadAll:
		c.rereadAll()
	}
}

// logOpened says so when the server granted another timeout than was asked for: it keeps
// to 2 to 20 of its ticks.
func (c *Client) logOpened(s *session) {
	granted := time.Duration(s.timeoutMs.Load()) * time.Millisecond
	ev := c.log.Info()
	if granted != c.cfg.SessionTimeout {
		ev = c.log.Warn().Stringer("asked", c.cfg.SessionTimeout)
	}
	ev.Str("session", hex(s.id.Load())).Stringer("timeout", granted).Msg("zookeeper session opened")
}

func (c *Client) rereadAll() {
	for _, f := range c.handlers.all() {
		f(Reread)
	}
}

func (c *Client) sessionEvent(kind journal.Kind, s *session, what string) {
	if c.journal.On() {
		c.journal.Emit(journal.Event{Kind: kind, Source: "zk", Session: hex(s.id.Load()), Text: "session " + hex(s.id.Load()) + " " + what})
	}
}

// hex prints a session id as ZooKeeper's logs do.
func hex(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }
