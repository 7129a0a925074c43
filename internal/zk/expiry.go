package zk

import (
	"time"

	"kz/internal/journal"
)

// sessionRetry is the wait between attempts to make a new session, as in Kafka.
const sessionRetry = time.Second

type sessionHook struct {
	name          string
	before, after func()
}

// RegisterSession: before runs after an expiry and before the new session is opened,
// after runs once it is open. They run on the session goroutine and may block. Either
// may be nil. A name registered again replaces the old hooks.
func (c *Client) RegisterSession(name string, before, after func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := sessionHook{name, before, after}
	for i := range c.hooks {
		if c.hooks[i].name == name {
			c.hooks[i] = h
			return
		}
	}
	c.hooks = append(c.hooks, h)
}

// UnregisterSession removes the hooks of that name.
func (c *Client) UnregisterSession(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := make([]sessionHook, 0, len(c.hooks))
	for _, h := range c.hooks {
		if h.name != name {
			kept = append(kept, h)
		}
	}
	c.hooks = kept
}

func (c *Client) currentHooks() []sessionHook {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]sessionHook(nil), c.hooks...)
}

// runSessions is the session goroutine: it replaces an expired session by a new one,
// for ever. Mirrors ZooKeeperClient.reinitialize.
func (c *Client) runSessions() {
	for {
		s := c.current()
		if !c.await(s, func() bool { return s.overErr != nil }) || s.overError() != SessionExpired {
			return
		}
		c.log.Warn().Str("session", hex(s.id.Load())).Msg("zookeeper session expired")
		c.sessionEvent(journal.SessionExpired, s, "expired")
		c.journal.At(journal.MomentSessionExpired, "")
		for _, h := range c.currentHooks() {
			if h.before != nil {
				h.before()
			}
		}
		c.wg.Go(s.conn.Close) // its session is gone; only its goroutines end here
		if !c.replaceSession() {
			return
		}
		for _, h := range c.currentHooks() {
			if h.after != nil {
				h.after()
			}
		}
		c.events.put(event{kind: rereadAll})
	}
}

// replaceSession opens a new session and waits until it is connected. False: closing.
func (c *Client) replaceSession() bool {
	for {
		s, err := openSession(c.cfg, c.network, c.events, c.log)
		if err == nil {
			if !c.install(s) {
				s.close()
				return false
			}
			return c.waitUp(s)
		}
		c.log.Warn().Err(err).Msg("cannot make a new zookeeper session, trying again")
		select {
		case <-c.closing:
			return false
		case <-time.After(sessionRetry):
		}
	}
}

func (c *Client) install(s *session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.hungUp {
		return false
	}
	c.session = s
	return true
}

// waitUp waits for the new session without limit; whatever ends that wait but Close is a
// matter for the next round of runSessions.
func (c *Client) waitUp(s *session) bool {
	return c.await(s, func() bool { return s.connected || s.overErr != nil })
}

// awayReminder is how often the log says that there is still no connection.
const awayReminder = 30 * time.Second

// await waits until done, which is asked under session.mu. False: closing. Without a
// connection it says from time to time why there is none: the broker serves on as long as
// it can, and looks healthy from outside.
func (c *Client) await(s *session, done func() bool) bool {
	for {
		s.mu.Lock()
		ok, connected, changed := done(), s.connected, s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		var remind <-chan time.Time
		if !connected {
			remind = time.After(awayReminder)
		}
		select {
		case <-c.closing:
			return false
		case <-changed:
		case <-remind:
			c.log.Warn().Err(s.lastFailure()).Str("session", hex(s.id.Load())).Str("servers", c.cfg.connectString()).
				Msg("still no connection to zookeeper")
		}
	}
}
