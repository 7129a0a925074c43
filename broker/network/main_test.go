package network

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kz/internal/link"
	"kz/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server that listens on one endpoint, and the network it listens on.
type rig struct {
	*Server
	t   testing.TB
	net link.Network
}

// newRig does not Serve yet. The server is stopped when the test ends.
func newRig(t testing.TB, n link.Network, cfg Config) *rig {
	t.Helper()
	if cfg.Listeners == nil {
		cfg.Listeners = []Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1"}}
	}
	r := &rig{Server: New(cfg, n, zerolog.Nop()), t: t, net: n}
	if err := r.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// bubble runs f with a serving server on an in-memory network in virtual time.
func bubble(t *testing.T, cfg Config, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, link.NewMemory(), cfg)
		r.Serve()
		f(t, r)
	})
}

func (r *rig) dial() net.Conn { return r.dialListener(0) }

func (r *rig) dialListener(i int) net.Conn {
	r.t.Helper()
	c, err := r.net.Dial(context.Background(), r.Endpoints()[i].addr())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// client is a wire.Conn to the server.
func (r *rig) client() *wire.Conn {
	r.t.Helper()
	c, err := wire.Dial(context.Background(), r.net, r.Endpoints()[0].addr(), "tester")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// next is the next request of the queue.
func (r *rig) next() *Request {
	r.t.Helper()
	req, ok := <-r.Requests()
	if !ok {
		r.t.Fatal("the queue is closed")
	}
	return req
}

// handle answers every request with what f returns, until the queue is closed.
func (r *rig) handle(f func(*Request) []Part) {
	go func() {
		for req := range r.Requests() {
			req.Respond(f(req)...)
		}
	}()
}

// frame is a request as bytes: a header of any key and version, without tags, and a body.
func frame(key, version int16, id int32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+2+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(id))
	b = binary.BigEndian.AppendUint16(b, 0)
	return append(b, body...)
}

const (
	metadata    = 3
	apiVersions = 18
)

func send(t testing.TB, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// expect reads one answer, of a version that is not flexible.
func expect(t testing.TB, c io.Reader, id int32, body string) {
	t.Helper()
	f, err := wire.ReadFrame(c, 1<<30)
	if err != nil {
		t.Fatalf("answer %d: %v", id, err)
	}
	if got := int32(binary.BigEndian.Uint32(f)); got != id || string(f[4:]) != body {
		t.Fatalf("answer %d %.40q, want %d %.40q", got, f[4:], id, body)
	}
}

// expectClosed says that the server ends the connection without another byte.
func expectClosed(t testing.TB, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || isTimeout(err) {
		t.Fatalf("%d bytes, %v: the connection is open", n, err)
	}
}

// expectOpen says that the server keeps the connection and is silent.
func expectOpen(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !isTimeout(err) {
		t.Fatalf("%d bytes, %v: the connection is not silent and open", n, err)
	}
	c.SetReadDeadline(time.Time{})
}

func bytesPart(s string) []Part { return []Part{{Bytes: []byte(s)}} }

// respondTo answers a request as kmsg would.
func respondTo(req *Request, resp kmsg.Response) {
	resp.SetVersion(req.Header.Version)
	req.Respond(Part{Bytes: resp.AppendTo(nil)})
}

// releases counts how often parts were released.
type releases struct{ ch chan string }

func newReleases() releases { return releases{make(chan string, 100)} }

func (r releases) part(name, content string) Part {
	return Part{Bytes: []byte(content), Release: func() { r.ch <- name }}
}

func (r releases) expect(t testing.TB, names ...string) {
	t.Helper()
	for _, want := range names {
		if got := <-r.ch; got != want {
			t.Errorf("released %s, want %s", got, want)
		}
	}
	select {
	case extra := <-r.ch:
		t.Errorf("%s was released too often", extra)
	default:
	}
}
