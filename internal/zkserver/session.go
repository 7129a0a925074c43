package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"maps"
	"slices"
	"time"

	"kz/internal/journal"
)

// session is one client, over all its connections. Mirrors SessionTrackerImpl.SessionImpl.
//
// A session ends when its client closes it, or when nothing was heard of it for its
// timeout. The end of a connection does not end it.
type session struct {
	id         int64
	timeout    int32 // ms
	password   []byte
	ephemerals map[string]struct{}

	// Not kept over a restart.
	conn  *conn // the one connection it has now, or nil
	heard int64 // when something was last heard of it, on the server's clock
}

func newSession(id int64, timeout int32, password []byte) *session {
	return &session{id: id, timeout: timeout, password: password, ephemerals: map[string]struct{}{}}
}

// lastHeard is the later of what the session knows and what its connection's reader saw.
func (ss *session) lastHeard() int64 {
	if ss.conn != nil {
		return max(ss.heard, ss.conn.heard.Load())
	}
	return ss.heard
}

// expiry is when the session ends if nothing more is heard: the first tick after its
// timeout. All times in ms.
func expiry(heard int64, timeout int32, tick int64) int64 {
	return ((heard+int64(timeout))/tick + 1) * tick
}

// sessionName is how ZooKeeper prints a session; 0 is none.
func sessionName(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("0x%x", id)
}

// connectRequest is the first packet of a connection.
type connectRequest struct {
	lastZxid int64 // the last zxid that the client saw
	timeout  int32 // what it asks for, in ms
	session  int64 // 0: a new one
	password []byte
	withFlag bool // a readOnly flag was sent, and one is expected back
}

// connect opens a session or goes on with one. A refusal is an answer without a session.
func (s *Server) connect(c *conn, r connectRequest) {
	c.withFlag = r.withFlag
	if r.lastZxid > s.zxid {
		// The client knows a later state than ours: it would see time run backwards.
		s.cfg.Log.Warn().Stringer("client", c.net.RemoteAddr()).Msgf("refused: it has seen zxid %#x, the last one here is %#x", r.lastZxid, s.zxid)
		s.hangUp(c)
		return
	}
	timeout := int32(min(max(int64(r.timeout), s.cfg.MinSessionTimeout.Milliseconds()), s.cfg.MaxSessionTimeout.Milliseconds()))
	var ss *session
	if r.session == 0 {
		ss = s.openSession(timeout)
	} else {
		ss = s.sessions[r.session]
		// The password is looked at before the session's present connection is touched.
		if ss == nil || subtle.ConstantTimeCompare(r.password, ss.password) != 1 {
			s.answerConnect(c, 0, 0, make([]byte, 16))
			s.hangUp(c)
			return
		}
	}
	if ss.conn != nil {
		s.drop(ss.conn)
	}
	ss.conn, ss.timeout, ss.heard, c.session = c, timeout, s.clock(), ss
	s.answerConnect(c, timeout, ss.id, ss.password)
}

func (s *Server) openSession(timeout int32) *session {
	t := s.begin(0)
	id := s.lastSession + 1
	password := make([]byte, 16)
	rand.Read(password)
	s.do(t, mutation{op: opCreateSession, owner: id, timeout: timeout, password: password})
	s.commit(t)
	s.note(journal.Event{Kind: journal.SessionOpened, Session: sessionName(id), Zxid: t.zxid,
		Text: fmt.Sprintf("timeout %v", time.Duration(timeout)*time.Millisecond)})
	return s.sessions[id]
}

// firstSession is what ids of sessions are counted from: server 1 and the wall clock, as
// ZooKeeper has it, so that two servers do not give one id away.
func firstSession(now time.Time) int64 { return 1<<56 | now.UnixMilli()<<16&(1<<56-1) }

// endSession is one write, with one zxid for the session and all its ephemerals.
func (s *Server) endSession(ss *session, kind journal.Kind, why string) {
	t := s.begin(ss.id)
	gone := slices.Sorted(maps.Keys(ss.ephemerals))
	s.note(journal.Event{Kind: kind, Session: sessionName(ss.id), Zxid: t.zxid, Text: fmt.Sprintf("%s; %d ephemerals", why, len(gone))})
	for _, path := range gone {
		s.do(t, mutation{op: opDelete, path: path})
	}
	s.do(t, mutation{op: opCloseSession, owner: ss.id})
	s.commit(t)
}

// beat is one tick: it ends the sessions of which nothing was heard.
func (s *Server) beat() {
	now, tick := s.clock(), s.cfg.Tick.Milliseconds()
	if late := now - s.lastBeat - tick; late > tick/2 {
		s.excuse(late, now)
	}
	s.lastBeat = now
	for _, ss := range s.sortedSessions() {
		heard := ss.lastHeard()
		if now < expiry(heard, ss.timeout, tick) {
			continue
		}
		s.expire(ss, fmt.Sprintf("nothing heard for %d ms, timeout %d ms", now-heard, ss.timeout))
	}
}

// expire ends a session that its client did not close.
func (s *Server) expire(ss *session, why string) {
	c := ss.conn
	s.endSession(ss, journal.SessionExpired, why)
	s.stats.expired++
	s.cfg.Log.Info().Msgf("session %s has expired: %s", sessionName(ss.id), why)
	if c != nil {
		s.drop(c)
	}
}

// Expire ends a session as if nothing had been heard of it for its timeout, which is how
// a test makes an expiry without the wait. False: there is no such session, or no server.
func (s *Server) Expire(id int64) bool {
	found := make(chan bool, 1)
	end := func() {
		ss := s.sessions[id]
		if ss != nil {
			s.expire(ss, "asked to expire")
		}
		found <- ss != nil
	}
	if !s.submit(request{control: end}) {
		return false
	}
	select {
	case ok := <-found:
		return ok
	case <-s.done:
		return false
	}
}

// excuse adds to every session the time in which this process did not run: it was
// stopped, or stood in a debugger, and could not hear anybody.
func (s *Server) excuse(late, now int64) {
	s.cfg.Log.Warn().Msgf("this process stood still for about %d ms; all sessions get that much longer", late)
	for _, ss := range s.sessions {
		ss.heard = min(ss.lastHeard()+late, now)
	}
}

// drop ends a connection and leaves its session alone.
func (s *Server) drop(c *conn) {
	s.dataWatches.forget(c)
	s.childWatches.forget(c)
	if ss := c.session; ss != nil && ss.conn == c {
		ss.heard = ss.lastHeard()
		ss.conn = nil
	}
	s.hangUp(c)
}

// reap removes what is to go by itself: containers that have lost their last child, and
// nodes whose time has passed. Mirrors ContainerManager.
func (s *Server) reap() {
	now := wallClock()
	for _, path := range slices.Sorted(maps.Keys(s.perishable)) {
		n := s.tree.nodes[path]
		if len(n.children) > 0 {
			continue
		}
		if n.kind == container && n.creates > 0 || n.kind == timeToLive && now-n.mtime > n.owner {
			t := s.begin(0)
			s.do(t, mutation{op: opDelete, path: path})
			s.commit(t)
		}
	}
}
