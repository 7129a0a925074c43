package link

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/journal"
)

// world is two nodes on one network behind a table: a dials, b listens.
type world struct {
	*Faults
	a, b   Network
	l      net.Listener
	events []string
}

func newWorld(t testing.TB, under Network) *world {
	j := journal.New(0)
	w := &world{Faults: NewFaults(j)}
	t.Cleanup(j.Subscribe(func(e journal.Event) { w.events = append(w.events, e.Text) }))
	w.a, w.b = w.Network("a", under), w.Network("b", under)
	var err error
	if w.l, err = w.b.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.l.Close() })
	return w
}

func (w *world) dial(ctx context.Context) (net.Conn, error) {
	return w.a.Dial(ctx, w.l.Addr().String())
}

func (w *world) connect(t testing.TB) (atA, atB net.Conn) {
	t.Helper()
	atA, err := w.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if atB, err = w.l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { atA.Close(); atB.Close() })
	return atA, atB
}

// request and answer are frames as package wire draws them.
func request(key int16, id int32, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, 0)
	return string(binary.BigEndian.AppendUint32(b, uint32(id))) + body
}

func answer(id int32, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	return string(binary.BigEndian.AppendUint32(b, uint32(id))) + body
}

// expectSilence says that c gives nothing for an hour.
func expectSilence(t testing.TB, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Hour))
	n, err := c.Read(make([]byte, 100))
	if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes and %v where silence was due", n, err)
	}
	c.SetReadDeadline(time.Time{})
}

func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t, NewMemory())) })
}

func TestNoFaultNoQueue(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		write(t, a, "ping")
		expect(t, b, "ping")
		write(t, b, "pong")
		expect(t, a, "pong")
		if c := a.(*faultConn); c.in.slow || c.out.slow {
			t.Error("bytes were queued without a fault")
		}
		b.Close()
		_, err := a.Read(make([]byte, 1))
		expectErr(t, err, io.EOF)
		a.Close()
		_, err = a.Read(make([]byte, 1))
		expectErr(t, err, net.ErrClosed)
		if len(w.conns) != 0 {
			t.Error("a closed connection is remembered")
		}
	})
}

func TestCutIsSilenceUntilHealed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		w.Cut("a", "b")
		write(t, a, "held ") // as into a socket's buffer
		write(t, a, "back")
		expectSilence(t, b)
		write(t, b, "the other direction lives")
		expect(t, a, "the other direction lives")
		w.Heal("a", "b")
		expect(t, b, "held back")

		w.Cut("b", "a")
		write(t, b, "answer")
		b.Close()
		expectSilence(t, a) // not even the end
		w.HealAll()
		expect(t, a, "answer")
		_, err := a.Read(make([]byte, 1))
		expectErr(t, err, io.EOF)
	})
}

func TestCutMeetsAReaderThatWaitsAlready(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		got := make(chan string, 1)
		go func() {
			buf := make([]byte, 10)
			n, _ := a.Read(buf)
			got <- string(buf[:n])
		}()
		synctest.Wait()
		w.Cut("b", "a")
		write(t, b, "late")
		synctest.Wait()
		select {
		case s := <-got:
			t.Fatalf("%q came through the cut", s)
		default:
		}
		w.Heal("b", "a")
		if s := <-got; s != "late" {
			t.Errorf("%q", s)
		}
	})
}

func TestACutConnectionCanBeClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		w.Cut("a", "b")
		w.Cut("b", "a")
		write(t, a, "lost")
		failed := make(chan error)
		go func() {
			_, err := a.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		a.Close()
		expectErr(t, <-failed, net.ErrClosed)
		_, err := a.Write([]byte("x"))
		expectErr(t, err, net.ErrClosed)
		_, err = b.Read(make([]byte, 1))
		expectErr(t, err, io.EOF)
	})
}

func TestDialOnACutLink(t *testing.T) {
	for _, cut := range [][2]string{{"a", "b"}, {"b", "a"}} {
		bubble(t, func(t *testing.T, w *world) {
			w.Cut(cut[0], cut[1])
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			start := time.Now()
			_, err := w.dial(ctx)
			expectErr(t, err, os.ErrDeadlineExceeded)
			if ne, ok := err.(net.Error); !ok || !ne.Timeout() || time.Since(start) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
			time.AfterFunc(time.Minute, w.HealAll)
			if _, err := w.dial(t.Context()); err != nil {
				t.Errorf("after the cut was healed: %v", err)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		w.Refuse("a", "b")
		_, err := w.dial(t.Context())
		expectErr(t, err, syscall.ECONNREFUSED)
		write(t, a, "open ones live")
		expect(t, b, "open ones live")
		w.Heal("a", "b")
		if _, err := w.dial(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		failed := make(chan error)
		go func() {
			_, err := a.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		w.Reset("b", "a") // either order
		expectErr(t, <-failed, syscall.ECONNRESET)
		_, err := b.Read(make([]byte, 1))
		expectErr(t, err, syscall.ECONNRESET)
		_, err = a.Write([]byte("x"))
		expectErr(t, err, syscall.ECONNRESET)
		a, b = w.connect(t) // only the open ones
		write(t, a, "new")
		expect(t, b, "new")
		w.Cut("a", "b")
		write(t, a, "held")
		w.Reset("a", "b")
		_, err = a.Write([]byte("x"))
		expectErr(t, err, syscall.ECONNRESET)
	})
}

func TestDelay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Delay("a", "b", 30*time.Millisecond)
		w.Delay("b", "a", 20*time.Millisecond)
		start := time.Now()
		took := func(want time.Duration) {
			t.Helper()
			if d := time.Since(start); d != want {
				t.Errorf("%v, want %v", d, want)
			}
			start = time.Now()
		}
		a, b := w.connect(t)
		took(50 * time.Millisecond)
		write(t, a, "1")
		took(0)
		time.Sleep(10 * time.Millisecond)
		write(t, a, "2")
		expect(t, b, "1")
		took(30 * time.Millisecond)
		expect(t, b, "2") // delays overlap: they do not add up
		took(10 * time.Millisecond)
		write(t, b, "3")
		expect(t, a, "3")
		took(20 * time.Millisecond)
		write(t, a, "4")
		a.Close()
		expect(t, b, "4") // closing does not overtake
		took(30 * time.Millisecond)
		_, err := b.Read(make([]byte, 1))
		expectErr(t, err, io.EOF)
	})
}

func TestHeldBackBytesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, _ := w.connect(t)
		w.Cut("a", "b")
		a.SetWriteDeadline(time.Now().Add(time.Second))
		var err error
		sent := 0
		for err == nil && sent < 10*faultQueue {
			_, err = a.Write(make([]byte, 64<<10))
			sent += 64 << 10
		}
		expectErr(t, err, os.ErrDeadlineExceeded)
		if sent > 2*faultQueue {
			t.Errorf("%d bytes were held back", sent)
		}
	})
}

func TestDropAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		write(t, a, request(1, 1, "sent before"))
		w.Drop("b", "a", Drop{Key: 1, API: "Fetch", Answer: true, Count: 2})
		write(t, a, request(3, 2, "")+request(1, 3, "")+request(1, 4, ""))
		write(t, b, answer(1, "gone")+answer(2, "of another API")+answer(3, strings.Repeat("gone", 50000)))
		write(t, b, answer(4, "the third one"))
		expect(t, a, answer(2, "of another API")+answer(4, "the third one"))
		if got := w.Links(); len(got) != 0 {
			t.Errorf("used up, and still listed: %+v", got)
		}
		want := "b -> a: dropped a FetchResponse"
		if n := strings.Count(strings.Join(w.events, "\n"), want); n != 2 {
			t.Errorf("the journal has %d of %q:\n%s", n, want, strings.Join(w.events, "\n"))
		}
	})
}

func TestDropRequest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Drop("a", "b", Drop{Key: 4, Count: 1})
		a, b := w.connect(t)
		all := request(3, 1, "x") + request(4, 2, "gone") + request(4, 3, "second") + request(3, 4, "")
		for _, c := range []byte(all) { // however it is cut into writes
			write(t, a, string(c))
		}
		expect(t, b, request(3, 1, "x")+request(4, 3, "second")+request(3, 4, ""))
		write(t, b, answer(1, "")) // requests are no answers
		expect(t, a, answer(1, ""))
	})
}

func TestAFrameThatBeganIsNotDropped(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		first := request(1, 1, "body")
		write(t, a, first[:5])
		w.Drop("a", "b", Drop{Key: 1, Count: 1})
		write(t, a, first[5:]+request(1, 2, "gone")+request(1, 3, ""))
		expect(t, b, first+request(1, 3, ""))
	})
}

func TestAStreamThatIsNoKafkaPasses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.connect(t)
		write(t, a, "ruok")
		expect(t, b, "ruok") // nothing is held back while no drop is armed
		w.Drop("a", "b", Drop{Key: 1, Count: 1})
		write(t, a, "GET / HTTP/1.1")
		b.SetReadDeadline(time.Now().Add(time.Second))
		got, _ := io.ReadAll(b)
		if string(got) != "GET / HTTP/1.1" {
			t.Errorf("%q", got)
		}
	})
}

func TestAnswersOfManyUnansweredRequests(t *testing.T) {
	var c calls
	for i := range int32(3 * maxCalls) {
		c.add(i, int16(i%7))
	}
	if len(c.sent) != maxCalls {
		t.Errorf("%d requests are remembered", len(c.sent))
	}
	last := int32(3*maxCalls - 1)
	if _, ok := c.take(0); ok {
		t.Error("the first is remembered")
	}
	if key, ok := c.take(last); !ok || key != int16(last%7) || len(c.sent) != 0 {
		t.Errorf("%d %v; %d left", key, ok, len(c.sent))
	}
}

func TestLinksAndNames(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Name("localhost:2181", "zookeeper")
		if got := w.peer("127.0.0.1:2181"); got != "zookeeper" {
			t.Error(got)
		}
		if got := w.peer("elsewhere:1"); got != "elsewhere:1" {
			t.Error(got)
		}
		w.Cut("b", "zookeeper")
		w.Delay("a", "b", time.Second)
		w.Drop("a", "b", Drop{Key: 1, Count: 3})
		w.Drop("a", "b", Drop{Key: 1, Count: 0})
		want := []Link{{From: "a", To: "b", Delay: time.Second, Drops: []Drop{{Key: 1, Count: 3}}}, {From: "b", To: "zookeeper", Cut: true}}
		if got := w.Links(); !slices.EqualFunc(got, want, func(x, y Link) bool {
			return x.From == y.From && x.To == y.To && x.Cut == y.Cut && x.Delay == y.Delay && slices.Equal(x.Drops, y.Drops)
		}) {
			t.Errorf("%+v", got)
		}
		w.HealAll()
		if got := w.Links(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Over real sockets: whatever is cut, delayed and healed meanwhile, nothing is lost,
// repeated or out of order.
func TestFaultsKeepTheStreamWhole(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, TCP{})
	a, b := w.connect(t)
	sent := make([]byte, 4<<20)
	for i := range sent {
		sent[i] = byte(r.Uint32())
	}
	send := func(c net.Conn, r *rand.Rand) {
		defer c.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Time{})
		for left := sent; len(left) > 0; {
			n := min(1+r.IntN(100000), len(left))
			if _, err := c.Write(left[:n]); err != nil {
				t.Error(err)
				return
			}
			left = left[n:]
		}
	}
	done := make(chan bool, 2)
	receive := func(c net.Conn) {
		got := make([]byte, len(sent))
		if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes of %d arrived, %v, equal %v", n, len(sent), err, bytes.Equal(got, sent))
		}
		done <- true
	}
	go send(a, rand.New(rand.NewPCG(seed, 1)))
	go send(b, rand.New(rand.NewPCG(seed, 2)))
	go receive(a)
	go receive(b)
	ways := [][2]string{{"a", "b"}, {"b", "a"}}
	for left := 2; left > 0; {
		d := ways[r.IntN(2)]
		switch r.IntN(4) {
		case 0:
			w.Cut(d[0], d[1])
		case 1:
			w.Delay(d[0], d[1], time.Duration(r.IntN(2000))*time.Microsecond)
		default:
			w.HealAll()
		}
		select {
		case <-done:
			left--
		case <-time.After(time.Duration(r.IntN(1000)) * time.Microsecond):
		}
	}
}
