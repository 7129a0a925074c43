package zk

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"
)

// watchedConn is the socket under go-zookeeper, watched at the level of frames. It is
// how this package learns four things that go-zookeeper does not say:
//
//   - when a request has left, so that the next one may be queued (see call);
//   - the transaction number (zxid) in the header of each answer;
//   - the session timeout that the server granted;
//   - that a server accepted the connection but never answers the handshake, for which
//     go-zookeeper would wait ten times too long.
//
// It also refuses answers of impossible length before anything is allocated for them.
//
// A frame is a 4-byte length and a body. Request: xid 4, op code 4, … Answer: xid 4,
// zxid 8, error 4, … The first frame each way is the handshake and has no header.
type watchedConn struct {
	net.Conn
	s *session

	wrote bool // the handshake request was written; the writer's goroutine only

	// The reader's goroutine only.
	limit    time.Time // when the handshake must be done
	shook    bool      // the handshake answer was read whole
	head     [20]byte  // length, then up to 16 bytes of the body
	have     int       // bytes of head read
	bodyLeft int       // bytes of this frame not yet read

	mu    sync.Mutex      // guards calls; innermost
	calls map[int32]*call // by xid: written, not answered
}

const (
	maxAnswer    = 64 << 20 // a list of 200,000 children of 250 bytes
	maxHandshake = 256
)

func newWatchedConn(c net.Conn, s *session, limit time.Duration) *watchedConn {
	w := &watchedConn{Conn: c, s: s, limit: time.Now().Add(limit), calls: map[int32]*call{}}
	_ = c.SetReadDeadline(w.limit)
	return w
}

// SetReadDeadline is go-zookeeper's wish, except during the handshake.
func (w *watchedConn) SetReadDeadline(t time.Time) error {
	if !w.shook {
		t = w.limit
	}
	return w.Conn.SetReadDeadline(t)
}

// Op codes that go-zookeeper sends on its own account.
const (
	opcodePing       = 11
	opcodeAuth       = 100
	opcodeSetWatches = 101
	opcodeClose      = -11
)

// Write sends one whole frame: go-zookeeper writes each request with one call.
func (w *watchedConn) Write(p []byte) (int, error) {
	if !w.wrote || len(p) < 12 {
		w.wrote = true
		return w.Conn.Write(p)
	}
	var c *call
	switch int32(binary.BigEndian.Uint32(p[8:])) {
	case opcodePing, opcodeAuth, opcodeSetWatches, opcodeClose:
	default:
		c = w.s.leaving.Swap(nil)
	}
	if c != nil {
		xid := int32(binary.BigEndian.Uint32(p[4:]))
		w.mu.Lock()
		w.calls[xid] = c
		w.mu.Unlock()
	}
	n, err := w.Conn.Write(p)
	if c != nil {
		c.passTurn()
	}
	return n, err
}

// Read looks at what goes by and hands it on.
func (w *watchedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	for b := p[:n]; len(b) > 0; {
		used, bad := w.look(b)
		if bad != nil {
			return 0, bad
		}
		b = b[used:]
	}
	if err != nil && !w.shook && w.s != nil {
		w.s.noHandshake(w.RemoteAddr(), err)
	}
	return n, err
}

// look takes in bytes of one frame, and says how many.
func (w *watchedConn) look(b []byte) (used int, err error) {
	if w.have < 4 {
		used = copy(w.head[w.have:4], b)
		w.have += used
		if w.have < 4 {
			return used, nil
		}
		length := int(binary.BigEndian.Uint32(w.head[:4]))
		least, most := 16, maxAnswer
		if !w.shook {
			most = maxHandshake
		}
		if length < least || length > most {
			return used, fmt.Errorf("ZooKeeper at %s sent a frame of %d bytes, want %d to %d", w.RemoteAddr(), length, least, most)
		}
		w.bodyLeft = length
		return used, nil
	}
	used = min(len(b), w.bodyLeft)
	if w.have < len(w.head) {
		before := w.have
		w.have += copy(w.head[w.have:], b[:used])
		switch whole := before < len(w.head) && w.have == len(w.head); {
		case whole && w.shook:
			w.answered(int32(binary.BigEndian.Uint32(w.head[4:])), int64(binary.BigEndian.Uint64(w.head[8:])))
		case whole && w.s != nil: // handshake: protocol 4, timeout 4, session 8, …
			w.s.timeoutMs.Store(int32(binary.BigEndian.Uint32(w.head[8:])))
		}
	}
	w.bodyLeft -= used
	if w.bodyLeft == 0 {
		w.have, w.shook = 0, true
	}
	return used, nil
}

// answered notes the zxid before go-zookeeper hands the answer to the one who waits.
func (w *watchedConn) answered(xid int32, zxid int64) {
	w.mu.Lock()
	c := w.calls[xid]
	delete(w.calls, xid)
	w.mu.Unlock()
	if c != nil {
		c.zxid.Store(zxid)
	}
}
