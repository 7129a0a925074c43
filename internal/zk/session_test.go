package zk

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kz/internal/journal"
	"kz/internal/zktest"
)

// A connection that breaks again and again under a batch: everything is done in the end,
// and an answer that may be an echo says so.
func TestLostConnectionsAreRetriedAndSaySo(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	ops := make([]Op, 400)
	for i := range ops {
		ops[i] = CreateOp(fmt.Sprint("/n", i), nil)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		every := time.NewTicker(30 * time.Millisecond)
		defer every.Stop()
		for range 15 {
			select {
			case <-every.C:
				c.net.cut(false)
			case <-stop:
				return
			}
		}
	}()
	results := c.Do(t.Context(), ops...)
	close(stop)
	<-stopped
	retried := 0
	for i, r := range results {
		if r.Retried {
			retried++
		}
		if r.Err != nil && !(r.Err == NodeExists && r.Retried) {
			t.Errorf("op %d: %v, retried %v", i, r.Err, r.Retried)
		}
	}
	kids, err := c.Children(t.Context(), "/", false)
	if err != nil || len(kids) != len(ops) {
		t.Errorf("%d nodes, %v", len(kids), err)
	}
	if retried == 0 {
		t.Log("no request was under way at any cut")
	}
}

func TestServerRestartIsWaitedFor(t *testing.T) {
	s := zktest.Start(t, zktest.Fsync())
	c := connect(t, s, "")
	if err := c.CreateRecursive(t.Context(), "/before", nil); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	c.until(t, "connection lost", kind(journal.SessionLost))
	if c.Connected() {
		t.Error("says connected")
	}
	done := make(chan Result, 1)
	go func() { done <- c.Do(context.Background(), ExistsOp("/before"))[0] }()
	s.StartAgain(t)
	// Real servers may lose a session over a restart; then the answer is that.
	if r := receive(t, done); r.Err != nil && r.Err != SessionExpired {
		t.Errorf("after the restart: %v", r.Err)
	}
}

func TestWatches(t *testing.T) {
	s := zktest.Shared(t)
	chroot := s.Chroot()
	c, other := connect(t, s, chroot), connect(t, s, chroot)
	ctx := t.Context()
	seen := make(chan string, 100)
	c.RegisterData("/w", func(e EventType) { seen <- "data " + e.String() })
	c.RegisterChild("/", func(e EventType) { seen <- "child " + e.String() })
	expect := func(want string) {
		t.Helper()
		if got := receive(t, seen); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	c.Exists(ctx, "/w") // arms, though there is nothing
	c.Children(ctx, "/", true)
	other.CreateRecursive(ctx, "/w", nil)
	expect("data created")
	expect("child children changed")

	for range 20 { // arming what is armed must not pile up: one event comes
		c.Get(ctx, "/w")
		c.Children(ctx, "/", false) // without watch: arms nothing
	}
	other.Set(ctx, "/w", []byte("1"), AnyVersion)
	expect("data data changed")
	other.Set(ctx, "/w", []byte("2"), AnyVersion) // not armed: no event
	c.Get(ctx, "/w")
	other.Delete(ctx, "/w", AnyVersion)
	expect("data deleted")

	c.UnregisterData("/w")
	c.Exists(ctx, "/w")
	other.CreateRecursive(ctx, "/w", nil)
	c.Get(ctx, "/w") // after this answer an event, had there been one, would be queued
	c.net.cut(false)
	expect("child re-read") // only what is registered is re-read
	c.Children(ctx, "/", true)
	other.CreateRecursive(ctx, "/x", nil)
	expect("child children changed")
	if len(seen) != 0 {
		t.Errorf("unexpected: %q", <-seen)
	}
}

// While disconnected, changes make no events; the re-read after the reconnect is how
// they are found, and it arms the watch again.
func TestRereadAfterReconnect(t *testing.T) {
	s := zktest.Shared(t)
	chroot := s.Chroot()
	c, other := connect(t, s, chroot), connect(t, s, chroot)
	other.CreateRecursive(t.Context(), "/r", []byte("old"))
	seen := make(chan EventType, 100)
	c.RegisterData("/r", func(e EventType) { seen <- e })
	c.Get(t.Context(), "/r")
	c.net.cut(true)
	c.until(t, "connection lost", kind(journal.SessionLost))
	other.Set(t.Context(), "/r", []byte("new"), AnyVersion)
	c.net.heal()
	for e := receive(t, seen); e != Reread; e = receive(t, seen) {
		if e != DataChanged { // setWatches may bring it too
			t.Fatalf("got %v", e)
		}
	}
	if data, _, err := c.Get(t.Context(), "/r"); err != nil || string(data) != "new" {
		t.Fatalf("re-read: %q %v", data, err)
	}
	other.Set(t.Context(), "/r", []byte("newer"), AnyVersion)
	for e := receive(t, seen); e != DataChanged; e = receive(t, seen) {
	}
}

// Mirrors ZooKeeperClient.reinitialize: before hooks, a new session, after hooks; code
// of the old session does not go on in the new one.
func TestExpiredSessionIsReplaced(t *testing.T) {
	s := zktest.Start(t)
	cfg := Config{Servers: []string{s.Addr}, SessionTimeout: time.Second, ConnectionTimeout: 20 * time.Second}
	c := connectWith(t, cfg)
	ctx := t.Context()
	stat := must[Stat](t)(c.CreateEphemeral(ctx, "/e", []byte("1")))
	if stat.Version != 1 || stat.EphemeralOwner != c.SessionID() {
		t.Fatalf("registered: %+v", stat)
	}
	story := make(chan string, 20)
	inBefore, goOn := make(chan struct{}), make(chan struct{})
	old := c.SessionID()
	c.journal.Arm(journal.MomentSessionExpired, func(string) { story <- "moment" })
	c.RegisterSession("gone", func() { story <- "gone" }, nil)
	c.RegisterSession("test",
		func() { story <- "before"; close(inBefore); <-goOn },
		func() {
			story <- "after"
			if c.SessionID() == old || !c.Connected() {
				story <- "old session"
			}
		})
	c.UnregisterSession("gone")
	c.RegisterData("/e", func(e EventType) { story <- e.String() })

	c.net.cut(true)
	c.until(t, "connection lost", kind(journal.SessionLost))
	watcher := connect(t, s, "")
	gone := make(chan struct{})
	watcher.RegisterData("/e", func(e EventType) {
		if e == Deleted {
			close(gone)
		}
	})
	if _, found, _ := watcher.Exists(ctx, "/e"); found {
		receive(t, gone)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- c.CreateRecursive(ctx, "/from-old-session", nil) }()
	c.net.heal()
	receive(t, inBefore)
	if err := receive(t, waiting); err != SessionExpired {
		t.Errorf("who waited over the end of the session got %v", err)
	}
	if r := c.Do(ctx, GetOp("/"))[0]; r.Err != SessionExpired {
		t.Errorf("between the sessions: %v", r.Err)
	}
	close(goOn)
	var got []string
	for range 4 {
		got = append(got, receive(t, story))
	}
	if strings.Join(got, ",") != "moment,before,after,re-read" {
		t.Errorf("story: %v", got)
	}
	c.until(t, "expired", kind(journal.SessionExpired))
	again := must[Stat](t)(c.CreateEphemeral(ctx, "/e", []byte("2")))
	if again.Czxid <= stat.Czxid {
		t.Errorf("a new registration has a larger czxid: %d after %d", again.Czxid, stat.Czxid)
	}
	if _, found, _ := c.Exists(ctx, "/from-old-session"); found {
		t.Error("a write of the old session was made in the new one")
	}
}

// Ref: Kafka 2.8 KafkaZkClient.CheckedEphemeral, facts 2.2
func TestCreateEphemeralByOwner(t *testing.T) {
	s := zktest.Shared(t)
	chroot := s.Chroot()
	c, other := connect(t, s, chroot), connect(t, s, chroot)
	ctx := t.Context()
	owned := must[Stat](t)(other.CreateEphemeral(ctx, "/id", []byte("other")))

	if _, err := c.CreateEphemeral(ctx, "/id", nil); err == nil || !strings.Contains(err.Error(), "NODEEXISTS") || !strings.Contains(err.Error(), hex(owned.EphemeralOwner)) {
		t.Errorf("another live session holds it: %v", err)
	}
	if again, err := other.CreateEphemeral(ctx, "/id", []byte("other")); err != nil || again.Czxid != owned.Czxid {
		t.Errorf("our own, the answer was lost: keep it: %+v %v", again, err)
	}
	c.remember(owned.EphemeralOwner) // as if it were our expired session (ZOOKEEPER-2985)
	stat, err := c.CreateEphemeral(ctx, "/id", []byte("mine"))
	if err != nil || stat.EphemeralOwner != c.SessionID() || stat.Czxid <= owned.Czxid {
		t.Errorf("left over from our expired session: delete and create: %+v %v", stat, err)
	}
	if data, _, _ := c.Get(ctx, "/id"); string(data) != "mine" {
		t.Errorf("data %q", data)
	}
}

// HangUp is what kill -9 does: the server learns of it by the timeout only.
func TestAbandonedSessionLivesOnUntilItTimesOut(t *testing.T) {
	s := zktest.Shared(t)
	chroot := s.Chroot()
	c, other := connectWith(t, Config{Servers: []string{s.Addr}, Chroot: chroot, SessionTimeout: time.Second, ConnectionTimeout: 20 * time.Second}), connect(t, s, chroot)
	must[Stat](t)(c.CreateEphemeral(t.Context(), "/e", nil))
	gone := make(chan struct{})
	other.RegisterData("/e", func(e EventType) {
		if e == Deleted {
			close(gone)
		}
	})
	c.HangUp()
	c.Close()
	if _, found, err := other.Exists(t.Context(), "/e"); !found || err != nil {
		t.Fatalf("right after: %v %v", found, err)
	}
	receive(t, gone)
}

// The server keeps session timeouts between 2 and 20 of its ticks (500 ms here); the log
// says what was granted.
func TestGrantedSessionTimeoutIsKnown(t *testing.T) {
	s := zktest.Shared(t)
	for _, row := range []struct{ asked, granted time.Duration }{{100 * time.Millisecond, time.Second}, {3 * time.Second, 3 * time.Second}} {
		c := connectWith(t, Config{Servers: []string{s.Addr}, SessionTimeout: row.asked, ConnectionTimeout: 20 * time.Second})
		if got := time.Duration(c.current().timeoutMs.Load()) * time.Millisecond; got != row.granted {
			t.Errorf("asked for %v, granted %v, want %v", row.asked, got, row.granted)
		}
	}
}
