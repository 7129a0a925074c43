package zk

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zktest"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// cutter is TCP that can be cut.
type cutter struct {
	mu      sync.Mutex
	refuse  bool
	conns   []net.Conn
	dialled int
}

func (c *cutter) Listen(addr string) (net.Listener, error) { return link.TCP{}.Listen(addr) }

func (c *cutter) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialled++
	if c.refuse {
		return nil, errors.New("refused by the test")
	}
	conn, err := link.TCP{}.Dial(ctx, addr)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// cut closes every connection; with refuse, no new one is made until heal.
func (c *cutter) cut(refuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = refuse
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func (c *cutter) heal() { c.mu.Lock(); c.refuse = false; c.mu.Unlock() }

type fixture struct {
	*Client
	net    *cutter
	events chan journal.Event
	cfg    Config
}

// connect opens a client below a fresh chroot of the shared server.
func connect(t *testing.T, s *zktest.Server, chroot string) *fixture {
	t.Helper()
	cfg := Config{Servers: []string{s.Addr}, Chroot: chroot, SessionTimeout: 6 * time.Second, ConnectionTimeout: 20 * time.Second}
	return connectWith(t, cfg)
}

func connectWith(t *testing.T, cfg Config) *fixture {
	t.Helper()
	f := &fixture{net: &cutter{}, events: make(chan journal.Event, 10000), cfg: cfg}
	j := journal.New(1)
	j.Subscribe(func(e journal.Event) {
		select {
		case f.events <- e:
		default:
		}
	})
	c, err := Connect(t.Context(), cfg, f.net, j, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	f.Client = c
	t.Cleanup(c.Close)
	return f
}

// until waits for a journal event.
func (f *fixture) until(t *testing.T, what string, ok func(journal.Event) bool) journal.Event {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case e := <-f.events:
			if ok(e) {
				return e
			}
		case <-limit:
			t.Fatalf("no event: %s", what)
		}
	}
}

func kind(k journal.Kind) func(journal.Event) bool {
	return func(e journal.Event) bool { return e.Kind == k }
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
