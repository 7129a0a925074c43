package network

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"kz/internal/link"
	"kz/internal/wire"
)

// tempFile is a file of n random bytes, and those bytes.
func tempFile(t testing.TB, n int) (*os.File, []byte) {
	t.Helper()
	content := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(content[i:], r.Uint64())
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return f, content
}

// byCopy hides what is special about a TCP connection, so that files are copied.
type byCopy struct{ link.TCP }

func (n byCopy) Listen(addr string) (net.Listener, error) {
	l, err := n.TCP.Listen(addr)
	return plainListener{l}, err
}

type plainListener struct{ net.Listener }

func (l plainListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return plainConn{c}, err
}

type plainConn struct{ net.Conn }

// The networks a file can go out on, and whether sendfile is used there.
var fileNetworks = []struct {
	name     string
	net      func() link.Network
	sendfile bool
}{
	{"TCP", func() link.Network { return link.TCP{} }, runtime.GOOS == "linux"},
	{"TCP without sendfile", func() link.Network { return byCopy{} }, false},
	{"memory", func() link.Network { return link.NewMemory() }, false},
}

func TestFileParts(t *testing.T) {
	f, content := tempFile(t, 3<<20+17)
	part := func(offset, n int) Part { return Part{File: f, Offset: int64(offset), Length: int64(n)} }
	for _, net := range fileNetworks {
		t.Run(net.name, func(t *testing.T) {
			for _, row := range []struct {
				rule  string
				parts []Part
				want  []byte
				files int64
				small int64 // of these, in ranges that are copied everywhere
			}{
				{"a whole file", []Part{part(0, len(content))}, content, int64(len(content)), 0},
				{"a range", []Part{part(1_000_001, 123456)}, content[1_000_001:][:123456], 123456, 0},
				{"nothing of it", []Part{part(5, 0)}, nil, 0, 0},
				{"between bytes", []Part{{Bytes: []byte("head")}, part(7, 100), {Bytes: []byte("tail")}}, append(append([]byte("head"), content[7:107]...), "tail"...), 100, 100},
				{"small ones around a large one", []Part{part(0, smallRange), part(9, smallRange+1), part(3, 5)},
					slices.Concat(content[:smallRange], content[9:][:smallRange+1], content[3:8]), 2*smallRange + 6, smallRange + 5},
				{"more small ones than a batch holds", slices.Repeat([]Part{part(11, smallRange)}, 5),
					bytes.Repeat(content[11:][:smallRange], 5), 5 * smallRange, 5 * smallRange},
				{"several, out of order", []Part{part(1<<20, 1<<20), {}, part(0, 1<<20)}, append(bytes.Clone(content[1<<20:2<<20]), content[:1<<20]...), 2 << 20, 0},
			} {
				r := newRig(t, net.net(), Config{})
				r.Serve()
				c := r.dial()
				released := 0
				row.parts[len(row.parts)-1].Release = func() { released++ }
				for id := range int32(2) {
					send(t, c, frame(metadata, 1, id, ""))
					r.next().Respond(row.parts...)
					expect(t, c, id, string(row.want))
				}
				r.Stop()
				if released != 2 {
					t.Errorf("%s: released %d times", row.rule, released)
				}
				s := r.Stats()
				sent, copied := 2*(row.files-row.small), 2*row.small
				if !net.sendfile {
					sent, copied = 0, 2*row.files
				}
				if s.SendfileBytes != sent || s.CopiedBytes != copied {
					t.Errorf("%s: %+v, want %d bytes of the file by sendfile and %d copied", row.rule, s, sent, copied)
				}
				if total := s.OtherBytes + row.files*2; total != 2*int64(8+len(row.want)) {
					t.Errorf("%s: %d bytes counted, %d sent", row.rule, total, 2*(8+len(row.want)))
				}
			}
			if pos, err := f.Seek(0, io.SeekCurrent); pos != int64(len(content)) || err != nil {
				t.Errorf("the file's own position is %d, %v", pos, err)
			}
		})
	}
}

// Many connections send ranges of one file at once, to readers of all speeds.
func TestOneFileManyReaders(t *testing.T) {
	f, content := tempFile(t, 4<<20)
	for _, net := range fileNetworks {
		t.Run(net.name, func(t *testing.T) {
			r := newRig(t, net.net(), Config{SendBufferBytes: 100 << 10})
			r.Serve()
			r.handle(func(req *Request) []Part {
				id := int64(req.Header.CorrelationID)
				return []Part{{File: f, Offset: id * 1000, Length: 1<<20 + id}}
			})
			var wg sync.WaitGroup
			for n := range 8 {
				c := r.dial()
				wg.Go(func() {
					for i := range int32(3) {
						id := int32(n)*100 + i
						c.Write(frame(metadata, 1, id, ""))
						var src io.Reader = c
						if n%2 == 0 {
							src = &smallReader{c, 7000}
						}
						got, err := wire.ReadFrame(src, 1<<30)
						if err != nil || !bytes.Equal(got[4:], content[id*1000:][:1<<20+id]) {
							t.Errorf("connection %d, answer %d: %d bytes, %v", n, i, len(got), err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// smallReader reads a little at a time.
type smallReader struct {
	io.Reader
	max int
}

func (r *smallReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.max)]) }

// The size was announced; nothing but the end of the connection can take it back.
func TestAFileThatShrinks(t *testing.T) {
	f, content := tempFile(t, 1<<20)
	for _, net := range fileNetworks {
		t.Run(net.name, func(t *testing.T) {
			r := newRig(t, net.net(), Config{})
			r.Serve()
			c, rel := r.dial(), newReleases()
			send(t, c, frame(metadata, 1, 1, ""))
			r.next().Respond(Part{File: f, Length: int64(len(content)) + 1}, rel.part("behind it", "x"))
			if got, err := wire.ReadFrame(c, 1<<30); err != io.ErrUnexpectedEOF {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			rel.expect(t, "behind it")
		})
	}
}

func TestAClosedFile(t *testing.T) {
	for _, net := range fileNetworks {
		t.Run(net.name, func(t *testing.T) {
			f, content := tempFile(t, 1000)
			f.Close()
			r := newRig(t, net.net(), Config{})
			r.Serve()
			c := r.dial()
			send(t, c, frame(metadata, 1, 1, ""))
			r.next().Respond(Part{File: f, Length: int64(len(content))})
			if _, err := wire.ReadFrame(c, 1<<30); err == nil {
				t.Error("an answer came")
			}
		})
	}
}

// A client that goes away, or stops reading, in the middle of a file. Real sockets.
func TestSendfileToABadClient(t *testing.T) {
	f, content := tempFile(t, 16<<20)
	for _, net := range fileNetworks[:2] {
		t.Run(net.name, func(t *testing.T) {
			r := newRig(t, net.net(), Config{ConnectionsMaxIdle: 50 * time.Millisecond})
			r.Serve()
			for _, bad := range []func(net interface{ Close() error }){
				func(c interface{ Close() error }) { c.Close() }, // goes away
				func(interface{ Close() error }) {},              // stops reading
			} {
				c, rel := r.dial(), newReleases()
				send(t, c, frame(metadata, 1, 1, ""))
				p := rel.part("file", "")
				p.File, p.Length = f, int64(len(content))
				r.next().Respond(p)
				if _, err := io.CopyN(io.Discard, c, 100_000); err != nil {
					t.Fatal(err)
				}
				bad(c)
				rel.expect(t, "file") // waits for it
			}
		})
	}
}

// What a consumer costs the broker per megabyte, by sendfile and by copy. The bytes that
// were copied through the process are counted.
func BenchmarkFetch(b *testing.B) {
	f, content := tempFile(b, 16<<20)
	const chunk = 1 << 20
	for _, net := range fileNetworks[:2] {
		b.Run(net.name, func(b *testing.B) {
			r := newRig(b, net.net(), Config{SendBufferBytes: 100 << 10, ReceiveBufferBytes: 100 << 10})
			r.Serve()
			r.handle(func(req *Request) []Part {
				offset := int64(req.Header.CorrelationID) % (int64(len(content)) / chunk) * chunk
				return []Part{{Bytes: make([]byte, 60)}, {File: f, Offset: offset, Length: chunk}}
			})
			c := r.dial()
			buf := make([]byte, 8+60+chunk)
			before := r.Stats()
			b.SetBytes(chunk)
			for i := int32(0); b.Loop(); i++ {
				c.Write(frame(metadata, 1, i, ""))
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
			after := r.Stats()
			b.ReportMetric(float64(after.CopiedBytes-before.CopiedBytes)/float64(b.N), "copied-B/op")
			b.ReportMetric(float64(after.SendfileBytes-before.SendfileBytes)/float64(b.N), "sendfile-B/op")
		})
	}
}

// BenchmarkFetchSmall is an answer with one kilobyte of each of some partitions: what a follower
// mostly gets.
func BenchmarkFetchSmall(b *testing.B) {
	f, _ := tempFile(b, 1<<20)
	const size = 1000
	for _, n := range []int{1, 6} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			r := newRig(b, link.TCP{}, Config{})
			r.Serve()
			r.handle(func(req *Request) []Part {
				return slices.Repeat([]Part{{Bytes: make([]byte, 60)}, {File: f, Offset: 1234, Length: size}}, n)
			})
			c := r.dial()
			req, buf := frame(metadata, 1, 1, ""), make([]byte, 8+n*(60+size))
			for b.Loop() {
				c.Write(req)
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRoundTrip is the least that a request costs: rooms 1, 2 and 7.
func BenchmarkRoundTrip(b *testing.B) {
	for _, net := range []int{0, 2} {
		b.Run(fileNetworks[net].name, func(b *testing.B) {
			r := newRig(b, fileNetworks[net].net(), Config{})
			r.Serve()
			r.handle(func(req *Request) []Part { return []Part{{Bytes: req.Body[:0]}} })
			c := r.dial()
			req, buf := frame(metadata, 1, 1, "body"), make([]byte, 8)
			b.ReportAllocs()
			for b.Loop() {
				c.Write(req)
				if _, err := io.ReadFull(c, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReceive is a produce request's way in: a megabyte into a pooled buffer.
func BenchmarkReceive(b *testing.B) {
	r := newRig(b, link.TCP{}, Config{ConnectionsMaxIdle: time.Minute})
	r.Serve()
	r.handle(func(req *Request) []Part { return nil })
	c := r.dial()
	req, buf := frame(metadata, 1, 1, string(make([]byte, 1<<20))), make([]byte, 8)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		c.Write(req)
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
