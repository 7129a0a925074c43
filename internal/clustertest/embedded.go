package clustertest

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zkserver"
	"kz/zkpaths"
)

// Embedded is the embedded ZooKeeper, over all its lives, as a Zookeeper. Its data lies in a directory,
// so that a restart keeps it and the history of every znode can be read in the end.
type Embedded struct {
	Dir     string
	Journal *journal.Journal // of all its lives

	cfg    zkserver.Config
	server atomic.Pointer[zkserver.Server] // nil: stopped

	mu       sync.Mutex      // guards sessions
	sessions map[int32]int64 // broker → the session it is registered in
}

// startEmbedded starts one that ends with the test. Its ticks are short, so that session timeouts are
// what they say.
func startEmbedded(t testing.TB, n link.Network, addr, dir string) *Embedded {
	t.Helper()
	e := &Embedded{Dir: dir, Journal: journal.New(-1), sessions: map[int32]int64{}}
	e.Journal.Subscribe(e.noteRegistration)
	e.cfg = zkserver.Config{
		Addr: addr, Network: n, Dir: dir, NoFsync: true, SnapshotsKept: 1 << 20,
		Tick: 100 * time.Millisecond, MinSessionTimeout: 500 * time.Millisecond, MaxSessionTimeout: time.Minute,
		Journal: e.Journal, Log: zerolog.Nop(),
	}
	if err := e.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Stop)
	return e
}

// Connect is its address.
func (e *Embedded) Connect() string { return e.cfg.Addr }

// Start starts it, on what its directory holds.
func (e *Embedded) Start() error {
	s := zkserver.New(e.cfg)
	if err := s.Start(); err != nil {
		return err
	}
	e.server.Store(s)
	return nil
}

// Stop stops it.
func (e *Embedded) Stop() {
	if s := e.server.Swap(nil); s != nil {
		s.Stop()
	}
}

// ExpireSession ends the session in which a broker is registered. False: it is registered in none, or
// the server is stopped.
func (e *Embedded) ExpireSession(broker int32) bool {
	e.mu.Lock()
	id, ok := e.sessions[broker]
	e.mu.Unlock()
	s := e.server.Load()
	return ok && s != nil && s.Expire(id)
}

func (e *Embedded) noteRegistration(ev journal.Event) {
	name, ok := strings.CutPrefix(ev.Path, zkpaths.BrokerIDs+"/")
	if !ok || ev.Kind != journal.ZnodeWrite || ev.Result != "ok" || ev.VersionAfter < 0 {
		return
	}
	id, err := strconv.ParseInt(name, 10, 32)
	session, bad := strconv.ParseInt(strings.TrimPrefix(ev.Session, "0x"), 16, 64)
	if err == nil && bad == nil {
		e.mu.Lock()
		e.sessions[int32(id)] = session
		e.mu.Unlock()
	}
}
