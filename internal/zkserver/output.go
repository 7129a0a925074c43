package zkserver

import (
	"encoding/binary"
)

// The way out of a connection: apply collects in pending, release hands over what is on
// disk, the writer sends it.

// reply collects an answer: int length, int xid, long zxid, int error, and a body if ok.
func (s *Server) reply(c *conn, xid int32, zxid int64, e code, body []byte) {
	if e != ok {
		body = nil
	}
	if xid != xidEvent && zxid > 0 {
		c.lastZxid = zxid
	}
	b := binary.BigEndian.AppendUint32(c.pending, uint32(16+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	b = binary.BigEndian.AppendUint32(b, uint32(e))
	c.pending = append(b, body...)
	c.sent.Add(1)
	s.touch(c)
}

// syncConnected is the only state of the session that a server reports with an event.
const syncConnected = 3

// event collects a watch event: an answer to nobody, with int type, int state, path.
func (s *Server) event(c *conn, typ eventType, path string) {
	var e encoder
	e.int(int32(typ))
	e.int(syncConnected)
	e.string(path)
	s.reply(c, xidEvent, -1, ok, e.b)
}

// answerConnect collects the answer to the handshake; session 0 is a refusal.
func (s *Server) answerConnect(c *conn, timeout int32, session int64, password []byte) {
	e := encoder{make([]byte, 4, 64)} // the length, below
	e.int(0)                          // protocolVersion
	e.int(timeout)
	e.long(session)
	e.buffer(password)
	if c.withFlag {
		e.bool(false) // this server is not read-only
	}
	binary.BigEndian.PutUint32(e.b, uint32(len(e.b)-4))
	c.pending = append(c.pending, e.b...)
	c.sent.Add(1)
	s.touch(c)
}

// release hands what is pending to the writer. A client that does not read may not hold
// memory without bound: it loses its connection, and finds its session again.
func (c *conn) release(limit int) {
	c.mu.Lock()
	c.out = append(c.out, c.pending...)
	c.last = c.last || c.closing
	tooMuch := len(c.out) > limit
	c.mu.Unlock()
	c.changed.Signal()
	if c.pending = c.pending[:0]; cap(c.pending) > keptFrame {
		c.pending = nil
	}
	if tooMuch {
		c.kill()
	}
}

// kill ends a connection at once, whatever waits to be sent.
func (c *conn) kill() {
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	c.changed.Signal()
	c.net.Close()
}

// write is the writer: it sends what was released, in large pieces.
func (c *conn) write() {
	defer c.net.Close()
	var buf []byte
	for {
		c.mu.Lock()
		for len(c.out) == 0 && !c.last && !c.dead {
			c.changed.Wait()
		}
		if c.dead || len(c.out) == 0 {
			c.mu.Unlock()
			return
		}
		buf, c.out = c.out, buf[:0]
		c.mu.Unlock()
		if _, err := c.net.Write(buf); err != nil {
			return
		}
		if cap(buf) > keptFrame {
			buf = nil
		}
	}
}
