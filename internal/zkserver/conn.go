package zkserver

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// handshakeLimit is how long a connection may take to say who it is.
const handshakeLimit = 10 * time.Second

// conn is one connection: a reader that decodes requests for apply, and a writer that
// sends what apply has released.
type conn struct {
	net    net.Conn
	host   string // the client's address without port: its "ip" identity
	number int64  // of its acceptance: an order that does not depend on chance

	heard    atomic.Int64 // when the reader last heard something, on the server's clock
	received atomic.Int64 // packets
	sent     atomic.Int64

	// Apply's.
	session    *session // nil before the handshake; stays when another connection takes over
	identities []identity
	closing    bool    // nothing more is taken from it or sent to it
	withFlag   bool    // the client sent a readOnly flag, and so gets one
	touched    bool    // is in Server.touched
	pending    []byte  // answers and events of the batch
	began      []int64 // when the requests of the batch were read, µs
	since      time.Time
	lastOp     opCode
	lastXid    int32
	lastZxid   int64
	latency    latency

	mu      sync.Mutex // guards what follows; held over nothing
	changed sync.Cond
	out     []byte // released, and not yet taken by the writer
	last    bool   // out is the last there will be
	dead    bool   // nobody reads any more
}

func newConn(nc net.Conn, host string, number, now int64) *conn {
	c := &conn{net: nc, host: host, number: number, since: time.Now(), identities: []identity{{"ip", host}}}
	c.changed.L = &c.mu
	c.heard.Store(now)
	return c
}

// serve is the reader: a handshake or a four-letter word, then requests until the end.
func (s *Server) serve(c *conn) {
	defer s.leave(c)
	c.net.SetReadDeadline(time.Now().Add(handshakeLimit))
	var first [4]byte
	if _, err := io.ReadFull(c.net, first[:]); err != nil {
		c.kill()
		return
	}
	if word := string(first[:]); isFourLetterWord(word) {
		s.submit(request{control: func() { s.answerWord(c, word) }})
		io.Copy(io.Discard, c.net) // until the writer has closed it
		c.kill()
		return
	}
	if err := s.readRequests(c, first); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		s.cfg.Log.Debug().Err(err).Stringer("client", c.net.RemoteAddr()).Msg("connection ended")
	}
	c.kill()
}

// readRequests reads packets: an int32 length and a body each. The first one is the
// handshake. It returns why there are no more.
func (s *Server) readRequests(c *conn, length [4]byte) error {
	var frame []byte // used again: decoding copies
	for handshaken := false; ; handshaken = true {
		n := int(int32(binary.BigEndian.Uint32(length[:])))
		if n <= 0 || n > s.cfg.MaxRequest {
			return errFrame
		}
		frame = slices.Grow(frame[:0], n)[:n]
		if _, err := io.ReadFull(c.net, frame); err != nil {
			return err
		}
		now := s.microClock()
		c.heard.Store(now / 1000)
		c.received.Add(1)
		r, err := decodeFrame(frame, handshaken)
		if err != nil {
			return err
		}
		r.conn, r.at = c, now
		if connect := r.connect; connect != nil {
			c.net.SetReadDeadline(time.Time{})
			r.control = func() { s.connect(c, *connect) }
		}
		if !s.submit(r.request) {
			return net.ErrClosed
		}
		if cap(frame) > keptFrame {
			frame = nil
		}
		if _, err := io.ReadFull(c.net, length[:]); err != nil {
			return err
		}
	}
}

// keptFrame is how large a reader's buffer may stay when it is not in use.
const keptFrame = 64 << 10

var errFrame = errors.New("zkserver: not a packet of a ZooKeeper client")

// frame is what a packet says: a request, or the handshake.
type frame struct {
	request
	connect *connectRequest
}

// decodeFrame reads one packet, whatever its bytes are.
//
//	handshake  int protocolVersion (0), long lastZxidSeen, int timeOut, long sessionId,
//	           buffer passwd, and from newer clients a boolean readOnly
//	request    int xid, int op, the operation's body
func decodeFrame(b []byte, handshaken bool) (frame, error) {
	d := &decoder{b: b}
	if handshaken {
		xid, op := d.int(), opCode(d.int())
		if d.bad {
			return frame{}, errFrame
		}
		return frame{request: request{xid: xid, op: decodeRequest(op, d.b)}}, nil
	}
	d.int()
	r := connectRequest{lastZxid: d.long(), timeout: d.int(), session: d.long(), password: d.buffer()}
	if d.bad {
		return frame{}, errFrame
	}
	r.withFlag = len(d.b) > 0
	return frame{connect: &r}, nil
}

// addIdentity takes over what an auth request proves. New ones come first, as whoAmI
// shows them.
func (c *conn) addIdentity(o authOp, superDigest string) bool {
	id, good := authenticate(o.scheme, o.credential, superDigest)
	if good && id != (identity{}) && !slices.Contains(c.identities, id) {
		c.identities = slices.Insert(c.identities, 0, id)
	}
	return good
}

func (c *conn) sessionID() int64 {
	if c.session == nil {
		return 0
	}
	return c.session.id
}
