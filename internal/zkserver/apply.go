package zkserver

import (
	"time"

	"kz/internal/journal"
)

// request is one thing for the apply goroutine to do, in the order of arrival.
type request struct {
	conn *conn
	xid  int32
	op   operation
	at   int64 // when it was read, on the server's clock in µs
	// control is work that is no request of a session: a connect, a four-letter word, the
	// end of a connection.
	control func()
}

// One batch is what one fsync covers. These bound how much may wait for it.
const (
	batchRequests = 1000
	batchBytes    = 8 << 20
)

// run is the apply goroutine: the only one that touches state, sessions, watches and log.
func (s *Server) run() {
	defer close(s.done)
	tick := time.NewTicker(s.cfg.Tick)
	defer tick.Stop()
	reap := time.NewTicker(s.cfg.ReapEvery)
	defer reap.Stop()
	for stopping := false; !stopping; {
		select {
		case r := <-s.requests:
			s.handle(r)
			s.drain()
		case <-tick.C:
			s.beat()
		case <-reap.C:
			s.reap()
		case <-s.quit:
			stopping = true
		}
		if err := s.flush(); err != nil {
			s.abandon(err)
			return
		}
	}
	s.farewell()
}

// drain handles what else has arrived already, so that it shares the fsync.
func (s *Server) drain() {
	for n := 1; n < batchRequests && s.log.pending() < batchBytes; n++ {
		select {
		case r := <-s.requests:
			s.handle(r)
		default:
			return
		}
	}
}

// flush makes the batch durable, and only then lets out what was answered in it.
func (s *Server) flush() error {
	if err := s.log.flush(); err != nil {
		return err
	}
	s.emit()
	now := s.microClock()
	for _, c := range s.touched {
		s.stats.answered(c, now)
		c.release(s.cfg.MaxUnsent)
		c.touched = false
	}
	clear(s.touched)
	s.touched = s.touched[:0]
	if s.log.due() {
		return s.snapshot()
	}
	return nil
}

func (s *Server) handle(r request) {
	if r.control != nil {
		r.control()
		return
	}
	c := r.conn
	if c.closing {
		return // its session ended, or went to another connection, with this still under way
	}
	c.lastOp, c.lastXid = r.op.code(), r.xid
	c.began = append(c.began, r.at)
	s.stats.received++
	s.answer(c, r.xid, r.op)
}

// answer does one request of a session.
func (s *Server) answer(c *conn, xid int32, o operation) {
	out := &s.scratch
	out.b = out.b[:0]
	switch op := o.code(); {
	case isWrite(o):
		s.answerWrite(c, xid, o, out)
		return
	case op == opPing:
		s.reply(c, xidPing, s.zxid, ok, nil)
		return
	}
	switch o := o.(type) {
	case malformedOp:
		s.reply(c, xid, s.zxid, marshallingError, nil)
	case unknownOp:
		s.reply(c, xid, -1, unimplemented, nil)
		s.hangUp(c)
	case authOp:
		if !c.addIdentity(o, s.cfg.SuperDigest) {
			s.reply(c, xid, 0, authFailed, nil)
			s.hangUp(c)
			return
		}
		s.reply(c, xid, 0, ok, nil)
	default:
		e := s.read(c, o, out)
		s.reply(c, xid, s.zxid, e, out.b)
	}
}

// answerWrite does one write: it takes a zxid, whatever comes of it.
func (s *Server) answerWrite(c *conn, xid int32, o operation, out *encoder) {
	if o.code() == opCloseSession {
		s.endSession(c.session, journal.SessionClosed, "closed by its client")
		s.reply(c, xid, s.zxid, ok, nil)
		s.drop(c)
		return
	}
	t := s.begin(c.sessionID())
	e, failed := ok, o
	switch o := o.(type) {
	case malformedOp:
		e = marshallingError
	case bareOp: // reconfig: there is one server, and no other can be added
		e = reconfigDisabled
	case multiOp:
		var inner code
		if failed, inner = s.multi(t, c, o.ops, out); inner != ok {
			s.noteFailure(t, failed, inner)
			s.reply(c, xid, t.zxid, ok, out.b)
			return
		}
	default:
		e = s.write(t, c, o, out, false)
	}
	if e != ok {
		s.noteFailure(t, failed, e)
		s.reply(c, xid, t.zxid, e, nil)
		return
	}
	s.commit(t)
	s.reply(c, xid, t.zxid, ok, out.b)
}
