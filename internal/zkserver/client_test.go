package zkserver

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kz/internal/link"
)

// start runs a server on a free port until the test ends.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	s := New(cfg)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// client is one connection that speaks the protocol and hides nothing of it.
type client struct {
	t        testing.TB
	net      net.Conn
	id       int64 // of the session
	password []byte
	timeout  int32
	rest     []byte // of the handshake's answer: the flag
	xid      int32
	lastZxid int64
}

const answerWithin = 60 * time.Second

func dial(t testing.TB, network link.Network, addr string) net.Conn {
	t.Helper()
	c, err := network.Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// join connects over TCP and must get a session.
func join(t testing.TB, addr string, r connectRequest) *client {
	t.Helper()
	return joinOver(t, link.TCP{}, addr, r)
}

func joinOver(t testing.TB, network link.Network, addr string, r connectRequest) *client {
	t.Helper()
	c, err := tryJoin(t, network, addr, r)
	if err != nil || c.id == 0 {
		t.Fatalf("no session: %v", err)
	}
	return c
}

// tryJoin returns what the server says to a handshake.
func tryJoin(t testing.TB, network link.Network, addr string, r connectRequest) (*client, error) {
	t.Helper()
	c := &client{t: t, net: dial(t, network, addr)}
	e := encoder{}
	e.int(0)
	e.long(r.lastZxid)
	e.int(r.timeout)
	e.long(r.session)
	e.buffer(r.password)
	if r.withFlag {
		e.bool(false)
	}
	c.write(e.b)
	b, err := c.read()
	if err != nil {
		return c, err
	}
	d := decoder{b: b}
	d.int()
	c.timeout, c.id, c.password = d.int(), d.long(), d.buffer()
	c.rest = d.b
	return c, nil
}

func (c *client) write(body []byte) {
	c.net.SetWriteDeadline(time.Now().Add(answerWithin))
	c.net.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)) // an error shows in read
}

func (c *client) read() ([]byte, error) {
	c.net.SetReadDeadline(time.Now().Add(answerWithin))
	var n [4]byte
	if _, err := io.ReadFull(c.net, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(c.net, b)
	return b, err
}

// packet is an answer or an event.
type packet struct {
	xid  int32
	zxid int64
	err  code
	body []byte
}

func (c *client) receive() (packet, error) {
	b, err := c.read()
	if err != nil {
		return packet{}, err
	}
	d := decoder{b: b}
	p := packet{d.int(), d.long(), code(d.int()), d.b}
	if p.zxid > c.lastZxid {
		c.lastZxid = p.zxid
	}
	return p, nil
}

// send sends a request under the next xid.
func (c *client) send(op opCode, body []byte) int32 {
	c.xid++
	c.sendAs(c.xid, op, body)
	return c.xid
}

func (c *client) sendAs(xid int32, op opCode, body []byte) {
	e := encoder{}
	e.int(xid)
	e.int(int32(op))
	c.write(append(e.b, body...))
}

// await returns the answer with an xid and the events before it.
func (c *client) await(xid int32) (events []string, p packet, err error) {
	for {
		if p, err = c.receive(); err != nil || p.xid == xid {
			return events, p, err
		}
		if p.xid != xidEvent {
			events = append(events, fmt.Sprintf("an answer to %d", p.xid))
			continue
		}
		events = append(events, describeEvent(p))
	}
}

func describeEvent(p packet) string {
	d := decoder{b: p.body}
	typ, state, path := eventType(d.int()), d.int(), d.string()
	if p.zxid != -1 || p.err != ok || state != syncConnected || d.bad || len(d.b) > 0 {
		return fmt.Sprintf("a strange event %+v", p)
	}
	return eventNames[typ] + " " + path
}

// call does one operation and must get an answer.
func (c *client) call(o operation) packet {
	c.t.Helper()
	_, p, err := c.await(c.send(o.code(), encodeOperation(o)))
	if err != nil {
		c.t.Fatalf("%v: %v", o, err)
	}
	return p
}

// must does one operation that must succeed.
func (c *client) must(o operation) packet {
	c.t.Helper()
	p := c.call(o)
	if p.err != ok {
		c.t.Fatalf("%v: %v", o, p.err)
	}
	return p
}

// events are those that have come so far: a ping is answered after them.
func (c *client) events() ([]string, error) {
	c.sendAs(xidPing, opPing, nil)
	events, _, err := c.await(xidPing)
	return events, err
}

func (c *client) stat(path string) (stat, code) {
	c.t.Helper()
	p := c.call(readOp{op: opExists, path: path})
	if p.err != ok {
		return stat{}, p.err
	}
	return decodeStat(&decoder{b: p.body}), ok
}

func (c *client) closed() bool {
	_, err := c.read()
	return err != nil && !os.IsTimeout(err)
}

func decodeStat(d *decoder) stat {
	return stat{d.long(), d.long(), d.long(), d.long(), d.int(), d.int(), d.int(), d.long(), d.int(), d.int(), d.long()}
}

// encodeOperation is the body of a request: the inverse of decodeRequest.
func encodeOperation(o operation) []byte {
	e := encoder{}
	switch o := o.(type) {
	case createOp:
		e.string(o.path)
		e.buffer(o.data)
		e.acls(o.acl)
		e.int(o.flags)
		if o.op == opCreateTTL {
			e.long(o.ttl)
		}
	case deleteOp:
		e.string(o.path)
		e.int(o.version)
	case setDataOp:
		e.string(o.path)
		e.buffer(o.data)
		e.int(o.version)
	case setACLOp:
		e.string(o.path)
		e.acls(o.acl)
		e.int(o.version)
	case checkOp:
		e.string(o.path)
		e.int(o.version)
	case multiOp:
		for _, sub := range o.ops {
			multiHeader(&e, sub.code(), -1)
			e.b = append(e.b, encodeOperation(sub)...)
		}
		multiEnd(&e)
	case readOp:
		e.string(o.path)
		e.bool(o.watch)
	case pathOp:
		e.string(o.path)
	case watchOp:
		e.string(o.path)
		e.int(o.mode)
	case setWatchesOp:
		e.long(o.since)
		lists := [][]string{o.data, o.exist, o.child}
		if o.op == opSetWatches2 {
			lists = append(lists, o.persistent, o.persistentRecurs)
		}
		for _, list := range lists {
			e.strings(list)
		}
	case authOp:
		e.int(0)
		e.string(o.scheme)
		e.buffer(o.credential)
	}
	return e.b
}

// Short forms for tests.
func create(path string, data string) createOp {
	return createOp{opCreate, path, []byte(data), openACL, 0, -1}
}
func createAs(path string, flags int32) createOp {
	return createOp{opCreate, path, nil, openACL, flags, -1}
}
func remove(path string) deleteOp { return deleteOp{path, anyVersion} }
func set(path, data string) setDataOp {
	return setDataOp{path, []byte(data), anyVersion}
}

// ask sends a four-letter word.
func ask(t testing.TB, addr, word string) string {
	t.Helper()
	c := dial(t, link.TCP{}, addr)
	c.SetDeadline(time.Now().Add(answerWithin))
	io.WriteString(c, word)
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files copies a data directory, as a crash would leave it.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err == nil && !strings.HasPrefix(e.Name(), ".") {
			err = os.WriteFile(filepath.Join(to, e.Name()), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}
