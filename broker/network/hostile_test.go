package network

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
	"kz/internal/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a real broker did with the same bytes is in the golden answers, cases framing/*.
func TestBadInput(t *testing.T) {
	const (
		closed  = "closed"
		waits   = "waits for more"
		handled = "handled"
	)
	for _, row := range []struct{ rule, bytes, outcome string }{
		{"a negative size", "ffffffff", closed},
		{"the most negative size", "80000000", closed},
		{"size 0", "00000000", closed},
		{"one above socket.request.max.bytes", "06400001", closed},
		{"exactly socket.request.max.bytes", "06400000", waits},
		{"a size smaller than a header", "00000007 00000000000000", closed},
		{"size 3", "00000003 001200", closed},
		{"a body shorter than its size", "00000064 0003 0001 00000001 0003 616e73", waits},
		{"HTTP", "474554202f20485454502f312e310d0a0d0a", closed},
		{"an api key that nobody knows", "0000000d 0063 0000 00000001 0003 616e73", closed},
		{"a negative api key", "0000000d ffff 0000 00000001 0003 616e73", closed},
		{"the largest api key", "0000000d 7fff 0000 00000001 0003 616e73", closed},
		{"an API of KRaft (Vote)", "0000000d 0034 0000 00000001 0003 616e73", closed},
		{"a version too new", "0000000d 0003 000c 00000001 0003 616e73", closed},
		{"a version too new for a record format we have", "0000000d 0000 0002 00000001 0003 616e73", closed},
		{"a negative version", "0000000d 0000 ffff 00000001 0003 616e73", closed},
		{"a client id that is longer than the frame", "0000000a 0003 0001 00000001 7fff", closed},
		{"a flexible header without tags", "0000000f 0003 0009 00000001 0003 616e73 0100", closed},
		{"ApiVersions of an unknown version goes to its handler", "0000000e 0012 0063 00000001 0003 616e73 00", handled},
		{"and so does a negative one", "0000000d 0012 ffff 00000001 0003 616e73", handled},
		{"unless its header does not parse for that version", "0000000d 0012 0063 00000001 0003 616e73", closed},
		{"a client id that is not UTF-8", "0000000c 0012 0000 00000001 0002 fffe", handled},
		{"a null client id", "0000000a 0012 0000 00000001 ffff", handled},
	} {
		t.Run(row.rule, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, r *rig) {
				good, c := r.dial(), r.dial()
				send(t, c, unhex(t, row.bytes))
				switch row.outcome {
				case closed:
					expectClosed(t, c)
				case waits:
					expectOpen(t, c)
				case handled:
					r.next().Respond(bytesPart("ok")...)
					expect(t, c, 1, "ok")
				}
				if n := len(r.Requests()); n != 0 {
					t.Errorf("%d requests too many", n)
				}
				send(t, good, frame(metadata, 1, 9, ""))
				r.next().Respond()
				expect(t, good, 9, "")
			})
		})
	}
}

func TestARequestBeforeABadOneIsAnswered(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c := r.dial()
		send(t, c, bytes.Join([][]byte{frame(apiVersions, 0, 1, ""), frame(99, 0, 2, ""), frame(apiVersions, 0, 3, "")}, nil))
		r.next().Respond(bytesPart("first")...)
		expect(t, c, 1, "first")
		expectClosed(t, c)
		synctest.Wait()
		if n := len(r.Requests()); n != 0 {
			t.Errorf("%d requests behind the bad one", n)
		}
	})
}

const idle = 10 * time.Minute

// Ref: Kafka 2.8 Selector.maybeCloseOldestConnection.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for _, row := range []struct {
		rule   string
		client func(t *testing.T, r *rig, c net.Conn)
		want   time.Duration
	}{
		{"nothing is sent", func(*testing.T, *rig, net.Conn) {}, idle},
		{"half a request", func(t *testing.T, _ *rig, c net.Conn) { send(t, c, frame(metadata, 1, 1, "x")[:9]) }, idle},
		{"a byte now and then counts as life", func(t *testing.T, _ *rig, c net.Conn) {
			for _, b := range frame(metadata, 1, 1, "x")[:9] {
				time.Sleep(idle - time.Second)
				send(t, c, []byte{b})
			}
		}, 9*(idle-time.Second) + idle},
		{"it counts from the answer", func(t *testing.T, r *rig, c net.Conn) {
			send(t, c, frame(metadata, 1, 1, ""))
			req := r.next()
			time.Sleep(3 * idle) // the broker is not the client's fault
			req.Respond()
			expect(t, c, 1, "")
		}, 4 * idle},
		{"an answer that nobody reads", func(t *testing.T, r *rig, c net.Conn) {
			send(t, c, frame(metadata, 1, 1, ""))
			r.next().Respond(bytesPart(strings.Repeat("x", 10<<20))...)
			time.Sleep(idle)
			synctest.Wait() // the broker's clock has struck too: it acts first
			for n := 0; ; { // what had fitted into the socket
				k, err := c.Read(make([]byte, 64<<10))
				if n += k; err != nil {
					if n >= 10<<20 {
						t.Error("the whole answer fitted")
					}
					return
				}
			}
		}, idle},
	} {
		t.Run(row.rule, func(t *testing.T) {
			bubble(t, Config{ConnectionsMaxIdle: idle}, func(t *testing.T, r *rig) {
				start, c := time.Now(), r.dial()
				row.client(t, r, c)
				expectClosed(t, c)
				if d := time.Since(start); d != row.want {
					t.Errorf("closed after %v, want %v", d, row.want)
				}
			})
		})
	}
}

// Garbage, cut requests, hasty disconnects and giants, all at once; a well-behaved client
// in the middle gets every answer.
func TestHostileClients(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	bubble(t, Config{ConnectionsMaxIdle: idle, QueuedMaxRequests: 4, MaxRequestBytes: 1 << 20}, func(t *testing.T, r *rig) {
		for range 3 {
			r.handle(func(req *Request) []Part { return bytesPart(strings.Repeat("y", 300_000)) })
		}
		for i := range 200 {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			c := r.dial()
			go hostile(rnd, c)
		}
		c := r.dial()
		for i := range int32(20) {
			send(t, c, frame(metadata, 1, i, "honest"))
			expect(t, c, i, strings.Repeat("y", 300_000))
		}
		time.Sleep(2 * idle)
		if n := r.Stats().Connections; n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func hostile(r *rand.Rand, c net.Conn) {
	good := frame(metadata, 1, 1, "body")
	switch r.IntN(6) {
	case 0: // garbage
		b := make([]byte, r.IntN(5000))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		c.Write(b)
	case 1: // a damaged request
		good[r.IntN(len(good))] ^= byte(1 << r.IntN(8))
		c.Write(good)
	case 2: // a cut one
		c.Write(good[:r.IntN(len(good))])
	case 3: // many, and away before the answers
		for range r.IntN(20) {
			c.Write(good)
		}
	case 4: // a giant that never comes
		c.Write(unhexConst("000fffff"))
		c.Write(make([]byte, r.IntN(200_000)))
		return // stays open
	case 5: // never reads
		for range 20 {
			c.Write(good)
		}
		return
	}
	if r.IntN(2) == 0 {
		c.(interface{ SetLinger(int) error }).SetLinger(0)
	}
	c.Close()
}

func unhexConst(s string) []byte { b, _ := hex.DecodeString(s); return b }

// Whatever a frame holds, it is refused, or it is a request that is served here.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "0003 0001 00000001 0003 616e73", "0012 0063 00000001 0003 616e73 00", "0000 0009 00000001 ffff 00 aabb", "0007 0000 00000001 00000001"} {
		f.Add(unhex(f, s))
	}
	s := New(Config{}, link.NewMemory(), zerolog.Nop())
	f.Fuzz(func(t *testing.T, b []byte) {
		buf := wire.GetBuffer(len(b))
		copy(buf.B, b)
		r, err := (&conn{server: s}).parse(buf)
		if err != nil {
			buf.Free()
			return
		}
		if v, ok := wire.Lookup(r.Header.Key); !ok || !v.Contains(r.Header.Version) && r.Header.Key != apiVersions {
			t.Fatalf("%+v was let in", r.Header)
		}
		if !bytes.HasSuffix(b, r.Body) {
			t.Fatalf("body %x of %x", r.Body, b)
		}
		r.Detach()
	})
}
