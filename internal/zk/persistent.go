package zk

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"kz/internal/link"
)

// A Persistent is one session that watches one path with a watch that stays (addWatch,
// ZooKeeper 3.6): every change is told, none is folded into another, nothing has to be
// armed again. Kafka uses none; go-zookeeper 1.0.4 knows none, so this speaks the few
// requests it needs itself:
//
//	request   length, xid, operation, body      answer   length, xid, zxid, error, body
//	event     length, -1, zxid or -1, 0, type, state, path
//
// It is for one goroutine, which both waits for events and asks: answers come on the same
// connection as events, in the order in which ZooKeeper did things. When the connection
// is lost the watch is over, because what happened meanwhile would be missing.
type Persistent struct {
	cfg     Config
	conn    net.Conn
	in      *bufio.Reader
	xid     int32
	timeout time.Duration // that the server granted
	waiting []NodeEvent   // that came before an answer that was awaited
}

// A NodeEvent is one event of a watch.
type NodeEvent struct {
	Type EventType
	Path string // without chroot
}

// ErrNoPersistentWatches: the server is older than 3.6.
var ErrNoPersistentWatches = errors.New("this ZooKeeper knows no persistent watches, which came with 3.6")

// The operations spoken here, and the xids with a meaning of their own.
const (
	opGetData      = 4
	opPing         = 11
	opAddWatch     = 106
	opCloseSession = -11
	xidEvent       = -1
	xidPing        = -2
	statBytes      = 68
)

// WatchPersistent watches a path, which need not exist; with recursive also all below it,
// and then no ChildrenChanged comes, but each child's own event.
func WatchPersistent(ctx context.Context, cfg Config, n link.Network, path string, recursive bool) (*Persistent, error) {
	var failures []error
	for _, addr := range cfg.Servers {
		p, err := openPersistent(ctx, cfg, n, addr)
		if err == nil {
			err = p.addWatch(ctx, path, recursive)
		}
		if err == nil {
			return p, nil
		}
		if p != nil {
			p.conn.Close()
		}
		failures = append(failures, fmt.Errorf("%s: %w", addr, err))
	}
	return nil, errors.Join(failures...)
}

func openPersistent(ctx context.Context, cfg Config, n link.Network, addr string) (*Persistent, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectionTimeout)
	defer cancel()
	conn, err := n.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	p := &Persistent{cfg: cfg, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	defer p.interruptible(ctx)()
	hello := make([]byte, 4, 48)
	hello = binary.BigEndian.AppendUint64(hello, 0) // last zxid seen
	hello = binary.BigEndian.AppendUint32(hello, uint32(cfg.SessionTimeout.Milliseconds()))
	hello = binary.BigEndian.AppendUint64(hello, 0) // a new session
	hello = binary.BigEndian.AppendUint32(hello, 16)
	hello = append(hello, make([]byte, 16)...) // its password, which a new one does not have
	if err := p.write(hello); err != nil {
		return p, p.because(ctx, err)
	}
	answer, err := p.frame()
	if err != nil || len(answer) < 16 {
		return p, p.because(ctx, errors.Join(err, errors.New("no handshake")))
	}
	p.timeout = time.Duration(int32(binary.BigEndian.Uint32(answer[4:]))) * time.Millisecond
	if p.timeout <= 0 {
		return p, errors.New("the server gave no session")
	}
	return p, nil
}

func (p *Persistent) addWatch(ctx context.Context, path string, recursive bool) error {
	body := appendString(nil, p.cfg.full(path))
	mode := uint32(0)
	if recursive {
		mode = 1
	}
	_, err := p.ask(ctx, opAddWatch, binary.BigEndian.AppendUint32(body, mode))
	if err == Unimplemented {
		return ErrNoPersistentWatches
	}
	return err
}

// Next waits for an event, as long as ctx lasts.
func (p *Persistent) Next(ctx context.Context) (NodeEvent, error) {
	defer p.interruptible(ctx)()
	for {
		if len(p.waiting) > 0 {
			ev := p.waiting[0]
			p.waiting = p.waiting[1:]
			return ev, nil
		}
		if err := p.takeFrame(ctx); err != nil {
			return NodeEvent{}, p.because(ctx, err)
		}
	}
}

// takeFrame waits for one frame that answers no request of ours: an event, or a ping's echo.
// While nothing comes it pings, so that the session lives.
func (p *Persistent) takeFrame(ctx context.Context) error {
	silent := time.Time{} // since when a ping has had no echo
	for {
		_ = p.conn.SetReadDeadline(time.Now().Add(p.timeout / 3))
		if ctx.Err() != nil { // asked now: before, the deadline of its end could be overwritten
			return ctx.Err()
		}
		_, err := p.in.Peek(4)
		if err == nil {
			break
		}
		var ne net.Error
		if !errors.As(err, &ne) || !ne.Timeout() || ctx.Err() != nil {
			return err
		}
		if silent.IsZero() {
			silent = time.Now()
		} else if time.Since(silent) > p.timeout {
			return fmt.Errorf("nothing heard for %v: the session is over", p.timeout)
		}
		ping := binary.BigEndian.AppendUint32(nil, uint32(0xfffffffe)) // xidPing
		if err := p.write(binary.BigEndian.AppendUint32(ping, opPing)); err != nil {
			return err
		}
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(p.timeout)) // for the rest of the frame
	frame, err := p.frame()
	if err != nil {
		return err
	}
	_, _, err = p.sort(frame)
	return err
}

// Get reads a node on the same connection: what it shows is at least as new as the last event.
func (p *Persistent) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	body, err := p.ask(ctx, opGetData, append(appendString(nil, p.cfg.full(path)), 0))
	if err != nil {
		return nil, Stat{}, err
	}
	data, rest, ok := cutBuffer(body)
	if !ok || len(rest) < statBytes {
		return nil, Stat{}, MarshallingError
	}
	return data, decodeStat(rest), nil
}

// ask sends a request and waits for its answer; events that come first are kept.
func (p *Persistent) ask(ctx context.Context, op int32, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectionTimeout)
	defer cancel()
	defer p.interruptible(ctx)()
	p.xid++
	head := binary.BigEndian.AppendUint32(nil, uint32(p.xid))
	if err := p.write(append(binary.BigEndian.AppendUint32(head, uint32(op)), body...)); err != nil {
		return nil, p.because(ctx, err)
	}
	for {
		frame, err := p.frame()
		if err != nil {
			return nil, p.because(ctx, err)
		}
		switch xid, code, err := p.sort(frame); {
		case err != nil:
			return nil, err
		case xid == p.xid && code != OK:
			return nil, code
		case xid == p.xid:
			return frame[16:], nil
		}
	}
}

// sort looks at a frame's header and keeps an event.
func (p *Persistent) sort(frame []byte) (xid int32, code Code, err error) {
	if len(frame) < 16 {
		return 0, OK, MarshallingError
	}
	xid, code = int32(binary.BigEndian.Uint32(frame)), Code(int32(binary.BigEndian.Uint32(frame[12:])))
	if xid != xidEvent {
		return xid, code, nil
	}
	body := frame[16:]
	if len(body) < 12 {
		return xid, code, MarshallingError
	}
	path, _, ok := cutBuffer(body[8:])
	t, known := nodeEventTypes[int32(binary.BigEndian.Uint32(body))]
	if !ok || !known {
		return xid, code, MarshallingError
	}
	p.waiting = append(p.waiting, NodeEvent{t, p.cfg.local(string(path))})
	return xid, code, nil
}

// nodeEventTypes are the types as they are on the wire.
var nodeEventTypes = map[int32]EventType{1: Created, 2: Deleted, 3: DataChanged, 4: ChildrenChanged}

// Close ends the session.
func (p *Persistent) Close() {
	_ = p.conn.SetDeadline(time.Now().Add(time.Second))
	p.xid++
	head := binary.BigEndian.AppendUint32(nil, uint32(p.xid))
	closing := int32(opCloseSession)
	_ = p.write(binary.BigEndian.AppendUint32(head, uint32(closing))) // a lost one ends by its timeout
	p.conn.Close()
}

// interruptible lets ctx's end wake whoever reads or writes, until the returned function is called.
func (p *Persistent) interruptible(ctx context.Context) (release func()) {
	_ = p.conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// because prefers the reason for the interruption to its trace.
func (p *Persistent) because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (p *Persistent) write(body []byte) error {
	_, err := p.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func (p *Persistent) frame() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(p.in, length[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(length[:]))
	if n <= 0 || n > maxAnswer {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(p.in, b)
	return b, err
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// cutBuffer takes a buffer or string off; null stays null.
func cutBuffer(b []byte) (buf, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if n < 0 {
		return nil, b, true
	}
	if int(n) > len(b) {
		return nil, nil, false
	}
	return b[:n:n], b[n:], true
}

// decodeStat reads the 68 bytes of a stat.
func decodeStat(b []byte) Stat {
	long := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	num := func(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
	return Stat{
		Czxid: long(0), Mzxid: long(8), Ctime: long(16), Mtime: long(24), Version: num(32), Cversion: num(36), Aversion: num(40),
		EphemeralOwner: long(44), DataLength: num(52), NumChildren: num(56), Pzxid: long(60),
	}
}
