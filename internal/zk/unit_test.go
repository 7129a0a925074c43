package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
)

func TestParseConnect(t *testing.T) {
	for _, row := range []struct {
		in      string
		servers []string
		chroot  string
		ok      bool
	}{
		{"h1:2181", []string{"h1:2181"}, "", true},
		{"h1:2181,h2:2182/kafka", []string{"h1:2181", "h2:2182"}, "/kafka", true},
		{"h1, [::1]/a/b/", []string{"h1:2181", "[::1]:2181"}, "/a/b", true},
		{"h1:2181/", []string{"h1:2181"}, "", true},
		{"", nil, "", false},
		{"h1,,h2", nil, "", false},
		{"/kafka", nil, "", false},
		{"h//x", nil, "", false},
		{"h/a/..", nil, "", false},
		{"h/.", nil, "", false},
		{"h/..a/b.", []string{"h:2181"}, "/..a/b.", true},
		{"h:x", nil, "", false},
		{"h:0", nil, "", false},
		{"h:65536", nil, "", false},
		{"h:", nil, "", false},
	} {
		servers, chroot, err := ParseConnect(row.in)
		if (err == nil) != row.ok || row.ok && (!slices.Equal(servers, row.servers) || chroot != row.chroot) {
			t.Errorf("%q: %v %q %v", row.in, servers, chroot, err)
		}
	}
}

func TestHostsPauseOnlyAfterAllWereTried(t *testing.T) {
	h := &hosts{}
	h.Init([]string{"a", "b"})
	var story string
	step := func() {
		server, pause := h.Next()
		story += server
		if pause {
			story += "!"
		}
	}
	step()
	step()
	step() // both tried
	h.Connected()
	step() // a connection was lost: at once
	step()
	step()
	if story != "aba!bab!" {
		t.Errorf("got %s", story)
	}
}

func TestTranslate(t *testing.T) {
	for _, row := range []struct {
		in, want error
	}{
		{nil, nil},
		{gozk.ErrNoNode, NoNode},
		{gozk.ErrSessionExpired, SessionExpired},
		{errors.New("unknown error: -2"), RuntimeInconsistency},
		{errors.New("unknown error: -4"), errLost},
		{errors.New("unknown error: -122"), Code(-122)},
		{gozk.ErrNoServer, errUnsent},
		{gozk.ErrConnectionClosed, errLost},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, errLost},
		{io.EOF, errLost},
		{gozk.ErrShortBuffer, gozk.ErrShortBuffer},
	} {
		if got := translate(row.in); got != row.want {
			t.Errorf("%v: got %v, want %v", row.in, got, row.want)
		}
	}
	if Code(-101).Error() != "NONODE" || Code(-999).Error() != "ZOOKEEPER-999" {
		t.Error("names")
	}
}

// pieces hands out bytes in the sizes a test wants.
type pieces struct {
	net.Conn
	r io.Reader
}

func (p pieces) Read(b []byte) (int, error)        { return p.r.Read(b) }
func (p pieces) SetReadDeadline(t time.Time) error { return nil }
func (p pieces) RemoteAddr() net.Addr              { return &net.TCPAddr{} }
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
func answerTo(xid int32, zxid int64, n int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	return frame(append(b, make([]byte, 4+n)...))
}

// However the bytes are cut into reads, each answer's zxid reaches its call.
func TestWatchedConnFindsZxids(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		stream := frame(make([]byte, 36))
		calls := map[int32]*call{}
		for xid := range int32(1 + rng.IntN(20)) {
			calls[xid] = &call{}
			stream = append(stream, answerTo(xid, int64(xid)*7+1, rng.IntN(50))...)
			stream = append(stream, answerTo(-1, 99, 12)...)
		}
		w := newWatchedConn(pieces{r: bytes.NewReader(stream)}, nil, time.Minute)
		for xid, c := range calls {
			w.calls[xid] = c
		}
		var out []byte
		for {
			buf := make([]byte, 1+rng.IntN(40))
			n, err := w.Read(buf)
			out = append(out, buf[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if !bytes.Equal(out, stream) || len(w.calls) != 0 {
			t.Fatalf("seed %d: bytes changed, or calls left: %v", seed, w.calls)
		}
		for xid, c := range calls {
			if c.zxid.Load() != int64(xid)*7+1 {
				t.Fatalf("seed %d: call %d has zxid %d", seed, xid, c.zxid.Load())
			}
		}
	}
}

func TestWatchedConnRefusesImpossibleFrames(t *testing.T) {
	for _, row := range []struct {
		rule   string
		stream []byte
	}{
		{"a handshake of 1 MB", binary.BigEndian.AppendUint32(nil, 1<<20)},
		{"an answer without a header", append(frame(make([]byte, 36)), frame(make([]byte, 15))...)},
		{"an answer of 2 GB", append(frame(make([]byte, 36)), binary.BigEndian.AppendUint32(nil, 1<<31)...)},
	} {
		w := newWatchedConn(pieces{r: bytes.NewReader(row.stream)}, nil, time.Minute)
		if _, err := io.ReadAll(w); err == nil {
			t.Errorf("%s was accepted", row.rule)
		}
	}
}

func FuzzWatchedConn(f *testing.F) {
	f.Add(append(frame(make([]byte, 36)), answerTo(1, 2, 3)...), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		w := newWatchedConn(pieces{r: bytes.NewReader(stream)}, nil, time.Minute)
		buf := make([]byte, int(size)+1)
		for total := 0; ; {
			n, err := w.Read(buf)
			total += n
			if total > len(stream) {
				t.Fatal("more came out than went in")
			}
			if err != nil {
				return
			}
		}
	})
}

func TestChrootPaths(t *testing.T) {
	c := Config{Chroot: "/k/z"}
	for _, path := range []string{"/", "/a", "/a/b"} {
		if got := c.local(c.full(path)); got != path {
			t.Errorf("%s came back as %s", path, got)
		}
	}
	if c.full("/") != "/k/z" || c.full("/a") != "/k/z/a" {
		t.Error(fmt.Sprint(c.full("/"), c.full("/a")))
	}
}
