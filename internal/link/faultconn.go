package link

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// faultConn is a connection that its node dialed, behind the rows of both directions.
//
// While a direction never had a fault, its bytes go straight through on the caller's
// goroutine; the tracker only counts along. With the first fault the direction becomes
// slow and stays so: a queue and a goroutine (pump) that ends when the connection does.
type faultConn struct {
	net.Conn // what is under
	faults   *Faults
	local    string // the dialing node
	peer     string
	calls    calls
	out, in  half
}

func newFaultConn(f *Faults, local, peer string, under net.Conn) *faultConn {
	c := &faultConn{Conn: under, faults: f, local: local, peer: peer}
	c.out.changed.L, c.in.changed.L = &c.out.mu, &c.in.mu
	c.out.writer = true
	c.out.frames = tracker{want: 12, decide: c.onRequest}
	c.in.frames = tracker{want: 8, decide: c.onAnswer}
	return c
}

// onRequest sees api key, version and correlation id of a request. It runs under out.mu.
func (c *faultConn) onRequest(head []byte, droppable bool) bool {
	key, id := int16(binary.BigEndian.Uint16(head)), int32(binary.BigEndian.Uint32(head[4:]))
	if droppable {
		if d := c.out.row.take(key, false); d != nil {
			c.faults.tellDropped(c.local, c.peer, d)
			return true
		}
	}
	c.calls.add(id, key)
	return false
}

// onAnswer sees the correlation id of an answer. It runs under in.mu.
func (c *faultConn) onAnswer(head []byte, droppable bool) bool {
	key, ok := c.calls.take(int32(binary.BigEndian.Uint32(head)))
	if ok && droppable {
		if d := c.in.row.take(key, true); d != nil {
			c.faults.tellDropped(c.peer, c.local, d)
			return true
		}
	}
	return false
}

func (c *faultConn) Write(p []byte) (int, error) {
	fast, err := c.out.enqueue(p, func() {
		c.Conn.SetWriteDeadline(time.Time{}) // from now on it is the queue's
		go c.pumpOut()
	})
	switch {
	case err != nil:
		return 0, c.opError("write", err)
	case fast:
		n, err := c.Conn.Write(p)
		return n, c.out.reason(err)
	}
	return len(p), nil
}

// pumpOut writes what the out queue lets go.
func (c *faultConn) pumpOut() {
	for {
		b, err := c.out.next(nil)
		if err == nil {
			_, err = c.Conn.Write(b)
		}
		if err != nil {
			c.out.end(err)
			c.Conn.Close() // also after a Close that had to wait for the queue
			return
		}
	}
}

func (c *faultConn) Read(p []byte) (int, error) {
	for {
		if c.in.isSlow() {
			b, err := c.in.next(p)
			return len(b), c.opError("read", err)
		}
		n, err := c.Conn.Read(p)
		fast, qerr := c.in.enqueue(p[:n], func() {
			c.Conn.SetReadDeadline(time.Time{}) // from now on it is the queue's
			go c.pumpIn(err)
		})
		switch {
		case qerr != nil:
			return 0, c.opError("read", qerr)
		case fast:
			return n, err
		case err != nil && isTimeout(err):
			return 0, err
		}
	}
}

// pumpIn reads what is under into the in queue. err is what the read that made the
// direction slow ended with.
func (c *faultConn) pumpIn(err error) {
	buf := make([]byte, 64<<10)
	for err == nil || isTimeout(err) { // a timeout is the first read's
		var n int
		n, err = c.Conn.Read(buf)
		if _, qerr := c.in.enqueue(buf[:n], nil); qerr != nil {
			err = qerr
		}
	}
	c.in.end(err)
}

// Close lets delayed bytes arrive first. Those behind a cut are lost.
func (c *faultConn) Close() error {
	c.faults.forget(c)
	c.in.close()
	if c.out.close() {
		// pumpOut closes when its queue is empty, and does not wait for ever.
		return c.Conn.SetWriteDeadline(time.Now().Add(drainTime))
	}
	return c.Conn.Close()
}

// reset breaks the connection as a lost peer would.
func (c *faultConn) reset() {
	c.faults.forget(c)
	c.out.breakWith(syscall.ECONNRESET)
	c.in.breakWith(syscall.ECONNRESET)
	if l, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
	c.Conn.Close()
}

func (c *faultConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *faultConn) SetReadDeadline(t time.Time) error {
	return c.in.setDeadline(t, c.Conn.SetReadDeadline)
}

func (c *faultConn) SetWriteDeadline(t time.Time) error {
	return c.out.setDeadline(t, c.Conn.SetWriteDeadline)
}

func (c *faultConn) opError(op string, err error) error {
	if _, wrapped := err.(*net.OpError); err == nil || err == io.EOF || wrapped {
		return err
	}
	if no, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, no)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// drainTime is how long delayed bytes of a closed connection may take to be written.
const drainTime = 10 * time.Second

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}
