package zkserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zk"
)

// bubbled runs a server in virtual time over a network in memory, and stops it.
func bubbled(t *testing.T, cfg Config, test func(t *testing.T, s *Server, network link.Network, events *diary)) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		cfg.Network, cfg.Addr = network, "127.0.0.1:2181"
		events := &diary{}
		cfg.Journal = journal.New(-1)
		cfg.Journal.Subscribe(events.add)
		s := start(t, cfg)
		test(t, s, network, events)
		s.Stop()
	})
}

// diary is what the journal said. In a bubble, look at it after synctest.Wait.
type diary struct {
	mu   sync.Mutex
	list []journal.Event
}

func (d *diary) add(ev journal.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, ev)
}

func (d *diary) all() []journal.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.list)
}

func (d *diary) count(k journal.Kind) int {
	n := 0
	for _, ev := range d.all() {
		if ev.Kind == k {
			n++
		}
	}
	return n
}

// In a bubble: a silent session ends between its timeout and one tick later, never
// earlier, and its ephemerals go with it under one zxid.
// Ref: ZooKeeper 3.8 SessionTrackerImpl, ExpiryQueue.roundToNextInterval
func TestSilentSessionEndsOnTheNextTick(t *testing.T) {
	for _, timeout := range []time.Duration{4 * time.Second, 5 * time.Second, 6500 * time.Millisecond, 18 * time.Second} {
		bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
			watcher := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
			silent := joinOver(t, network, s.Addr(), connectRequest{timeout: int32(timeout.Milliseconds())})
			silent.must(createAs("/e1", 1))
			silent.must(createAs("/e2", 1))
			began := time.Now()
			for events.count(journal.SessionExpired) == 0 {
				time.Sleep(100 * time.Millisecond)
				watcher.events()
				synctest.Wait()
			}
			if lasted := time.Since(began); lasted < timeout || lasted > timeout+s.cfg.Tick+100*time.Millisecond {
				t.Errorf("a timeout of %v ended after %v", timeout, lasted)
			}
			if !silent.closed() {
				t.Error("its connection is still open")
			}
			root, _ := watcher.stat("/")
			if last := watcher.call(exists("/")).zxid; root.numChildren != 1 || root.pzxid != last || root.cversion != -1+4 {
				t.Errorf("the root after it: %+v at zxid %x", root, last)
			}
		})
	}
}

// In a bubble: pings alone keep a session for hours; the first silence after them ends it.
func TestThreeHoursOfPings(t *testing.T) {
	real := time.Now()
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 18000})
		c.must(createAs("/e", 1))
		for began := time.Now(); time.Since(began) < 3*time.Hour; time.Sleep(6 * time.Second) {
			if _, err := c.events(); err != nil {
				t.Fatal(err)
			}
		}
		if n := events.count(journal.SessionExpired); n != 0 {
			t.Fatalf("%d sessions expired", n)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		s.on(func() {
			if events.count(journal.SessionExpired) != 1 || len(s.sessions) != 0 || s.tree.nodes["/e"] != nil {
				t.Errorf("the silent session is still there")
			}
		})
	})
	t.Logf("three virtual hours took %v", time.Since(real))
}

// In a bubble: what the broker's own client needs, for three hours, through an expiry.
func TestOwnClientInVirtualTime(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		faults := link.NewFaults(nil)
		faults.Name(s.Addr(), "zookeeper")
		cfg := zk.Config{Servers: []string{s.Addr()}, SessionTimeout: 18 * time.Second, ConnectionTimeout: 20 * time.Second}
		c, err := zk.Connect(context.Background(), cfg, faults.Network("broker-1", network), nil, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		first := c.SessionID()
		time.Sleep(3 * time.Hour)
		if c.SessionID() != first {
			t.Error("the session was lost in quiet times")
		}
		faults.Cut("broker-1", "zookeeper")
		faults.Cut("zookeeper", "broker-1")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if events.count(journal.SessionExpired) != 1 {
			t.Error("a session that is cut off does not expire")
		}
		faults.HealAll()
		time.Sleep(30 * time.Second)
		s.on(func() {
			if c.SessionID() == first || len(s.sessions) != 1 {
				t.Errorf("no new session: %d sessions", len(s.sessions))
			}
		})
	})
}

// In a bubble: a process that stood still expires nobody for that; who stays silent
// afterwards ends after his timeout.
func TestSessionsOutliveAPauseOfTheServer(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 4000})
		other := joinOver(t, network, s.Addr(), connectRequest{timeout: 4000})
		time.Sleep(time.Second)
		s.on(func() { time.Sleep(15 * time.Second) }) // apply stands still: as good as SIGSTOP
		synctest.Wait()
		if n := events.count(journal.SessionExpired); n != 0 {
			t.Fatalf("%d sessions expired over the pause", n)
		}
		for range 10 {
			c.events()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		s.on(func() {
			if s.sessions[c.id] == nil || s.sessions[other.id] != nil {
				t.Error("after the pause timeouts do not count as before")
			}
		})
	})
}

// In a bubble: bounds of the session timeout may be set apart from the tick.
func TestTimeoutBoundsApartFromTheTick(t *testing.T) {
	cfg := Config{Tick: 100 * time.Millisecond, MinSessionTimeout: time.Second, MaxSessionTimeout: 18 * time.Second}
	bubbled(t, cfg, func(t *testing.T, s *Server, network link.Network, _ *diary) {
		for asked, want := range map[int32]int32{1: 1000, 6000: 6000, 100000: 18000} {
			if c := joinOver(t, network, s.Addr(), connectRequest{timeout: asked}); c.timeout != want {
				t.Errorf("asked for %d, got %d, want %d", asked, c.timeout, want)
			}
		}
	})
}

// In a bubble: a new timeout, on reconnecting, is the one that counts, also when shorter.
func TestReconnectChangesTheTimeout(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		joinOver(t, network, s.Addr(), connectRequest{timeout: 4000, session: c.id, password: c.password})
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if events.count(journal.SessionExpired) != 1 {
			t.Error("the old timeout counts")
		}
	})
}

// In a bubble: containers that lost their last child and nodes past their time go within
// a minute; a container that never had a child stays.
func TestReaper(t *testing.T) {
	bubbled(t, Config{ExtendedTypes: true}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		for _, path := range []string{"/used", "/unused"} {
			c.must(createOp{opCreateContainer, path, nil, openACL, 4, -1})
		}
		c.must(create("/used/kid", ""))
		c.must(remove("/used/kid"))
		c.must(createOp{opCreateTTL, "/short", nil, openACL, 5, 2000})
		c.must(createOp{opCreateTTL, "/long", nil, openACL, 5, 100000})
		for range 12 {
			time.Sleep(5 * time.Second)
			c.events()
		}
		time.Sleep(time.Second)
		var left []string
		for _, path := range []string{"/used", "/unused", "/short", "/long"} {
			if _, e := c.stat(path); e == ok {
				left = append(left, path)
			}
		}
		if fmt.Sprint(left) != "[/unused /long]" {
			t.Errorf("after a minute there are %v", left)
		}
	})
}

// In a bubble: a connection that does not say who it is is closed after ten seconds.
func TestSilentConnectionIsClosed(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, _ *diary) {
		c := &client{t: t, net: dial(t, network, s.Addr())}
		began := time.Now()
		if !c.closed() || time.Since(began) != handshakeLimit {
			t.Errorf("after %v", time.Since(began))
		}
	})
}

// In a bubble: a client that does not read loses its connection, not the server its memory.
func TestClientThatDoesNotRead(t *testing.T) {
	bubbled(t, Config{MaxUnsent: 1 << 20}, func(t *testing.T, s *Server, network link.Network, _ *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		c.must(create("/big", strings.Repeat("x", 100_000)))
		for range 100 {
			c.send(opGetData, encodeOperation(get("/big")))
		}
		synctest.Wait()
		if n := len(s.connections()); n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// In a bubble: the journal tells a session's life, each write with its versions, and what
// caused what.
func TestJournal(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		other := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		c.must(create("/a", ""))
		other.must(watching(get("/a")))
		c.must(set("/a", "x"))
		c.call(setDataOp{"/a", nil, 7})
		c.call(multi(set("/a", "y"), checkOp{"/a", 1}))
		c.must(createAs("/e", 1))
		other.must(watching(exists("/e")))
		c.must(bareOp{opCloseSession})
		var told []string
		for _, ev := range events.all()[2:] {
			who := map[string]string{sessionName(c.id): "c", sessionName(other.id): "other"}[ev.Session]
			cause := ""
			if ev.Cause != 0 {
				cause = fmt.Sprintf(" because of %d", ev.Cause-2)
			}
			if ev.Kind == journal.ZnodeWrite {
				told = append(told, fmt.Sprintf("%s %s %s v%d -> v%d %s z%d%s", who, ev.Text, ev.Path, ev.VersionBefore, ev.VersionAfter, ev.Result, ev.Zxid-1<<32, cause))
			} else {
				told = append(told, fmt.Sprintf("%s %s %s %s z%d%s", who, ev.Kind, ev.Path, ev.Text, ev.Zxid-1<<32, cause))
			}
		}
		want := `c create /a v-1 -> v0 ok z3
c setData /a v0 -> v1 ok z4
other zk.watch-fired /a NodeDataChanged z4 because of 2
c setData /a v1 -> v1 BADVERSION z5
c check /a v1 -> v1 BADVERSION z6
c create /e v-1 -> v0 ok z7
c zk.session-closed  closed by its client; 1 ephemerals z8
c delete /e v0 -> v-1 ok z8 because of 7
other zk.watch-fired /e NodeDeleted z8 because of 7`
		if got := strings.Join(told, "\n"); got != want {
			t.Errorf("told\n%s\nwant\n%s", got, want)
		}
	})
}
