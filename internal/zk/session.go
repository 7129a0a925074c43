package zk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/rs/zerolog"

	"kz/internal/link"
)

// session is one ZooKeeper session and the one go-zookeeper Conn that holds it. It is
// connected, disconnected, connected again …, and then over: expired or closed. It never
// comes back from over.
type session struct {
	cfg     Config
	network link.Network
	events  *eventQueue
	conn    *gozk.Conn

	turn    chan struct{}        // holds one token: whose request leaves next
	leaving atomic.Pointer[call] // the call that has the turn and is not written yet
	id      atomic.Int64         // 0 until known; kept after the end, when go-zookeeper forgets it

	timeoutMs atomic.Int32 // the session timeout that the server granted

	over    chan struct{} // closed when the session is over
	cancel  context.CancelFunc
	dialCtx context.Context // ends with the session

	mu        sync.Mutex // guards all below; taken inside go-zookeeper's callback, so nothing of go-zookeeper that locks is called under it
	connected bool
	everUp    bool
	overErr   error         // SessionExpired or ErrClosed, once over
	changed   chan struct{} // closed and replaced at each change of connected or overErr
	failure   error         // why the last attempt to connect failed; nil while connected
	socket    net.Conn      // the last one dialled
	closing   bool          // losing the connection is what we want
	armed     map[watchKey]*armState
}

// openSession starts connecting and returns at once.
func openSession(cfg Config, n link.Network, events *eventQueue, log zerolog.Logger) (*session, error) {
	s := &session{
		cfg: cfg, network: n, events: events,
		turn: make(chan struct{}, 1), over: make(chan struct{}), changed: make(chan struct{}),
		armed: map[watchKey]*armState{},
	}
	s.dialCtx, s.cancel = context.WithCancel(context.Background())
	s.turn <- struct{}{}
	s.mu.Lock() // the first callback waits until s.conn is there
	defer s.mu.Unlock()
	conn, sessionEvents, err := gozk.Connect(cfg.Servers, cfg.SessionTimeout,
		gozk.WithHostProvider(&hosts{}), gozk.WithDialer(s.dial), gozk.WithEventCallback(s.onEvent),
		gozk.WithLogger(goLogger{log}), gozk.WithLogInfo(false), gozk.WithMaxBufferSize(maxAnswer))
	if err != nil {
		s.cancel()
		return nil, err
	}
	s.conn = conn
	go func() { // never read for news (it drops events when full); it ends with the Conn
		for range sessionEvents {
		}
	}()
	return s, nil
}

// goLogger passes what go-zookeeper has to say on at debug level: all that matters is
// told by sessions and results.
type goLogger struct{ log zerolog.Logger }

func (l goLogger) Printf(format string, args ...any) {
	l.log.Debug().Msg("go-zookeeper: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// dial opens the socket, unless the session is over: this is what makes one Conn one session.
func (s *session) dial(_, addr string, _ time.Duration) (net.Conn, error) {
	limit := s.cfg.handshakeLimit()
	ctx, cancel := context.WithTimeout(s.dialCtx, limit)
	defer cancel()
	if s.dialCtx.Err() != nil {
		return nil, errors.New("the session is over")
	}
	c, err := s.network.Dial(ctx, addr)
	s.mu.Lock()
	s.socket = c
	if err != nil {
		s.failure = err
	}
	over := s.overErr != nil
	s.mu.Unlock()
	if err == nil && over {
		c.Close()
		err = errors.New("the session is over")
	}
	if err != nil {
		return nil, err
	}
	return newWatchedConn(c, s, limit), nil
}

// onEvent runs on go-zookeeper's goroutines, in order. It must not block.
func (s *session) onEvent(ev gozk.Event) {
	switch {
	case ev.Type == gozk.EventSession:
		s.onState(ev.State)
	case ev.Type == gozk.EventNotWatching:
		// The watch died with its session; the new session re-reads everything.
	default:
		if t, ok := eventTypes[ev.Type]; ok {
			path := s.cfg.local(ev.Path)
			s.fired(t, path)
			s.events.put(event{kind: watchEvent, session: s, watch: t, path: path})
		}
	}
}

func (s *session) onState(state gozk.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case gozk.StateHasSession:
		if s.overErr != nil {
			return
		}
		kind := sessionReconnected
		if !s.everUp {
			kind, s.everUp = sessionOpened, true
		}
		s.connected, s.failure = true, nil
		s.id.Store(s.conn.SessionID())
		s.events.put(event{kind: kind, session: s})
	case gozk.StateDisconnected:
		if !s.connected {
			return
		}
		s.connected = false
		s.armed = map[watchKey]*armState{} // re-reads after a reconnect arm anew
		if s.overErr == nil && !s.closing {
			s.events.put(event{kind: connectionLost, session: s})
		}
	case gozk.StateExpired:
		s.endLocked(SessionExpired)
	default:
		return
	}
	s.changedLocked()
}

// end marks the session as over; the first reason stays.
func (s *session) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(why)
	s.changedLocked()
}

func (s *session) endLocked(why error) {
	if s.overErr == nil {
		s.overErr, s.connected = why, false
		close(s.over)
		s.cancel()
	}
}

func (s *session) changedLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// waitConnected returns nil once connected, or why it will never be.
func (s *session) waitConnected(ctx context.Context) error {
	for {
		s.mu.Lock()
		connected, over, changed := s.connected, s.overErr, s.changed
		s.mu.Unlock()
		if over != nil {
			return over
		}
		if connected {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// overError is why the session is over, or nil.
func (s *session) overError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overErr
}

func (s *session) isOver() bool { return s.overError() != nil }

func (s *session) isConnected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected
}

// noHandshake notes that a server took the connection and opened no session.
func (s *session) noHandshake(addr net.Addr, err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("closed instead of answered")
	}
	s.mu.Lock()
	s.failure = fmt.Errorf("the handshake with %s: %w", addr, err)
	s.mu.Unlock()
}

func (s *session) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// hangUp leaves the session without a word: nothing is sent any more.
func (s *session) hangUp() {
	s.end(ErrClosed)
	s.mu.Lock()
	socket := s.socket
	s.mu.Unlock()
	if socket != nil {
		socket.Close()
	}
}

// close ends the session: the server removes its ephemeral nodes, if it can be reached.
func (s *session) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.conn.Close() // asks the server first: it needs the connection
	s.end(ErrClosed)
}
