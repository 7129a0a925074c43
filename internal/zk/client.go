package zk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
)

// Client is one broker's ZooKeeper client over all its sessions.
//
// Locks, outermost first: mu, then session.mu; handlers.mu, eventQueue.mu, hosts.mu and
// watchedConn.mu are innermost. None is held while a handler, a hook, go-zookeeper or
// the network is called.
type Client struct {
	cfg      Config
	network  link.Network
	journal  *journal.Journal
	log      zerolog.Logger
	events   *eventQueue
	handlers handlers
	inFlight chan struct{} // one token per unanswered request

	closing chan struct{} // closed by Close
	wg      sync.WaitGroup

	mu         sync.Mutex // guards all below
	session    *session
	closed     bool
	hungUp     bool          // no new session replaces the one that was left
	hooks      []sessionHook // in the order of registration
	remembered int64         // the session that made the last CreateEphemeral; -1 none
}

// Connect waits up to cfg.ConnectionTimeout for a session. Its error names the address
// and the wait. A chroot is created first, through a separate short-lived connection.
func Connect(ctx context.Context, cfg Config, n link.Network, j *journal.Journal, log zerolog.Logger) (*Client, error) {
	if len(cfg.Servers) == 0 {
		return nil, errors.New("zookeeper.connect names no server")
	}
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = defaultMaxInFlight
	}
	if n == nil {
		n = link.TCP{}
	}
	if cfg.Chroot != "" && !cfg.ExistingChroot {
		if err := createChroot(ctx, cfg, n, log); err != nil {
			return nil, err
		}
	}
	c := &Client{
		cfg: cfg, network: n, journal: j, log: log,
		events:     newEventQueue(),
		handlers:   handlers{data: map[string]func(EventType){}, child: map[string]func(EventType){}},
		inFlight:   make(chan struct{}, cfg.MaxInFlight),
		closing:    make(chan struct{}),
		remembered: -1,
	}
	s, err := openSession(cfg, n, c.events, log)
	if err != nil {
		return nil, err
	}
	c.session = s
	c.wg.Go(c.runEvents)
	c.wg.Go(c.runSessions)
	if err := c.waitFirst(ctx, s); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// ErrNoSession is inside the error of a Connect that met no ZooKeeper.
var ErrNoSession = errors.New("no session")

func (c *Client) waitFirst(ctx context.Context, s *session) error {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.cfg.ConnectionTimeout)
	defer cancel()
	err := s.waitConnected(limited)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w within %v (zookeeper.connection.timeout.ms)", ErrNoSession, c.cfg.ConnectionTimeout)
	} else {
		err = fmt.Errorf("%w after %v: %w", ErrNoSession, time.Since(start).Round(time.Millisecond), err)
	}
	if last := s.lastFailure(); last != nil {
		err = fmt.Errorf("%w; last attempt: %v", err, last)
	}
	return fmt.Errorf("zookeeper at %s: %w", c.cfg.connectString(), err)
}

func createChroot(ctx context.Context, cfg Config, n link.Network, log zerolog.Logger) error {
	chroot := cfg.Chroot
	cfg.Chroot = ""
	c, err := Connect(ctx, cfg, n, nil, log)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.CreateRecursive(ctx, chroot, nil); err != nil && err != NodeExists {
		return fmt.Errorf("zookeeper at %s: cannot create the chroot %s: %w", cfg.connectString(), chroot, err)
	}
	return nil
}

func (c *Client) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// SessionID is the current session's id, 0 before it is known.
func (c *Client) SessionID() int64 { return c.current().id.Load() }

// Connected says whether the current session has a connection now.
func (c *Client) Connected() bool { return c.current().isConnected() }

// ConnectString is zookeeper.connect as it is used, for messages.
func (c *Client) ConnectString() string { return c.cfg.connectString() }

// HangUp is the end that kill -9 makes: the socket closes, the server is told nothing,
// and the session with its ephemeral nodes lives on until it times out. Everybody who
// waits for an answer gets ErrClosed. It does not wait; Close must follow.
func (c *Client) HangUp() {
	c.mu.Lock()
	c.hungUp = true
	s := c.session
	c.mu.Unlock()
	s.hangUp()
}

// Close ends the session, which removes its ephemeral nodes, and waits for all of this
// client's goroutines. Everybody who waits for an answer gets ErrClosed. Not to be
// called from a handler or a hook.
func (c *Client) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		c.wg.Wait()
		return
	}
	c.closed = true
	s := c.session
	c.mu.Unlock()
	close(c.closing)
	s.close()
	c.events.close()
	c.wg.Wait()
}
