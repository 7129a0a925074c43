package broker

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"kz/broker/config"
	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zktest"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// A rig is one cluster's ZooKeeper path, seen from a test.
type rig struct {
	t      *testing.T
	zk     *zk.Client // the test's own
	addr   string     // zookeeper.connect
	dir    string
	faults *link.Faults
	server *zktest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, zktest.Shared(t))
}

func newRigOn(t *testing.T, s *zktest.Server) *rig {
	t.Helper()
	// Brokers stop in cleanups that run before this one: nothing may be left of them.
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("kz/internal/zktest.(*Server).run.func1"),
			goleak.IgnoreAnyFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // sarama's, one for ever
	})
	r := &rig{t: t, server: s, addr: s.Addr + s.Chroot(), dir: t.TempDir(), faults: link.NewFaults(nil)}
	r.faults.Name(s.Addr, "zookeeper")
	servers, chroot, _ := zk.ParseConnect(r.addr)
	c, err := zk.Connect(t.Context(), zk.Config{Servers: servers, Chroot: chroot, SessionTimeout: 10 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r.zk = c
	return r
}

// node is one broker and what it journaled.
type node struct {
	*Broker
	journal *journal.Journal
	mu      sync.Mutex // guards events
	events  []journal.Event
}

func (n *node) seen() []journal.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]journal.Event(nil), n.events...)
}

// broker makes a broker; dir names its log directory, so that two can share one.
func (r *rig) broker(dir string, props map[string]string) *node {
	r.t.Helper()
	all := map[string]string{
		"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": filepath.Join(r.dir, dir),
		"zookeeper.connect": r.addr, "zookeeper.session.timeout.ms": "3000",
		"controlled.shutdown.retry.backoff.ms": "100", "auto.leader.rebalance.enable": "false",
	}
	maps.Copy(all, props)
	cfg, _, err := config.Parse(all)
	if err != nil {
		r.t.Fatal(err)
	}
	log := zerolog.Nop()
	if os.Getenv("KZ_TEST_LOG") != "" {
		log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr})
	}
	n := &node{journal: journal.New(-1)}
	n.journal.Subscribe(func(e journal.Event) {
		n.mu.Lock()
		n.events = append(n.events, e)
		n.mu.Unlock()
	})
	n.Broker = New(cfg, Options{Network: r.faults.Network("broker-"+dir, link.TCP{}), Journal: n.journal, Log: log})
	return n
}

// start starts a broker that must start, and stops it at the end.
func (r *rig) start(dir string, props map[string]string) *node {
	r.t.Helper()
	n := r.broker(dir, props)
	if err := n.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(n.Kill)
	return n
}

func (r *rig) get(path string) string {
	r.t.Helper()
	data, _, err := r.zk.Get(r.t.Context(), path)
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	return string(data)
}

func id(n int) map[string]string { return map[string]string{"broker.id": strconv.Itoa(n)} }

// eventually polls: for what only ZooKeeper or another process can tell.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(40 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

func (n *node) until(t *testing.T, what string, ok func(journal.Event) bool) journal.Event {
	t.Helper()
	var found journal.Event
	eventually(t, what, func() bool {
		for _, e := range n.seen() {
			if ok(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func addrOf(n *node) string {
	e := n.Endpoints()[0]
	return fmt.Sprintf("%s:%d", e.Host, e.Port)
}
