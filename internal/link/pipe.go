package link

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// socketBuffer is how many bytes one direction of an in-memory connection holds before
// a writer has to wait for the reader.
const socketBuffer = 256 << 10

// memoryConn is one end of a connection of Memory.
type memoryConn struct {
	in, out       *stream
	local, remote net.Addr

	mu      sync.Mutex // guards abrupt
	abrupt  bool       // SetLinger(0): Close resets
	closing sync.Once
}

func newMemoryPair(a, b net.Addr) (atA, atB *memoryConn) {
	ab, ba := newStream(), newStream()
	return &memoryConn{in: ba, out: ab, local: a, remote: b}, &memoryConn{in: ab, out: ba, local: b, remote: a}
}

func (c *memoryConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.opError("read", err)
}

func (c *memoryConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.opError("write", err)
}

// Close lets the peer read what was written, then gives it the end of the stream; after
// SetLinger(0) it resets.
func (c *memoryConn) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		abrupt := c.abrupt
		c.mu.Unlock()
		if abrupt {
			c.reset()
		}
		c.out.endWriting()
		c.in.endReading()
	})
	return nil
}

// CloseWrite gives the peer the end of the stream and goes on reading.
func (c *memoryConn) CloseWrite() error {
	c.out.endWriting()
	return nil
}

// SetLinger with 0 makes Close drop what is under way and reset the connection, as
// *net.TCPConn does.
func (c *memoryConn) SetLinger(sec int) error {
	c.mu.Lock()
	c.abrupt = sec == 0
	c.mu.Unlock()
	return nil
}

func (c *memoryConn) reset() {
	c.in.reset()
	c.out.reset()
}

func (c *memoryConn) LocalAddr() net.Addr  { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (c *memoryConn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// stream is one direction of a connection: bytes between a writer and a reader.
type stream struct {
	mu      sync.Mutex // guards everything; held for a copy at most
	changed sync.Cond  // any field below changed
	data    []byte     // written and not yet read
	readBy  deadline
	writeBy deadline

	writerDone bool // no more will be written: the reader gets io.EOF after data
	readerDone bool // nobody will read: the writer gets EPIPE
	broken     bool // reset: both get ECONNRESET
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerDone:
			return 0, net.ErrClosed
		case s.broken:
			return 0, os.NewSyscallError("read", syscall.ECONNRESET)
		case s.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.data) > 0:
			n := copy(p, s.data)
			s.data = s.data[n:]
			s.changed.Broadcast()
			return n, nil
		case s.writerDone:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writerDone:
			return n, net.ErrClosed
		case s.broken:
			return n, os.NewSyscallError("write", syscall.ECONNRESET)
		case s.readerDone:
			return n, os.NewSyscallError("write", syscall.EPIPE)
		case s.writeBy.passed:
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		case len(s.data) < socketBuffer:
			k := min(socketBuffer-len(s.data), len(p)-n)
			s.data = append(s.data, p[n:n+k]...)
			n += k
			s.changed.Broadcast()
		default:
			s.changed.Wait()
		}
	}
}

func (s *stream) endWriting() {
	s.change(func() { s.writerDone = true; s.writeBy.set(s, time.Time{}) })
}
func (s *stream) endReading() {
	s.change(func() { s.readerDone = true; s.data = nil; s.readBy.set(s, time.Time{}) })
}
func (s *stream) reset() { s.change(func() { s.broken = true; s.data = nil }) }

func (s *stream) setDeadline(d *deadline, t time.Time) { s.change(func() { d.set(s, t) }) }

func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// waiter is what a deadline wakes: something with a lock and a condition.
type waiter interface{ change(func()) }

// deadline becomes passed at its time. It belongs to a waiter whose lock guards it.
type deadline struct {
	passed bool
	timer  *time.Timer
	round  int // counts settings, so that a timer that fired late is not believed
}

// set replaces the deadline; the zero time is none. The caller holds w's lock.
func (d *deadline) set(w waiter, t time.Time) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.round++
	d.passed = false
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		d.passed = true
		return
	}
	round := d.round
	d.timer = time.AfterFunc(left, func() {
		w.change(func() { d.passed = d.passed || d.round == round })
	})
}
