package clustertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/broker"
	"kz/broker/config"
	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zk"
)

// InProcess is a cluster of brokers in this process, each behind one table of link faults. Its kills
// are not those of a process (nothing the system has buffered is lost either way), but its links can be
// cut and its moments armed, and on the right Ground its time is virtual.
type InProcess struct {
	Faults  *link.Faults
	Brokers map[int32]*Member
	Ground  *Ground
	t       testing.TB
}

// A Member is one broker of an InProcess cluster, over all its lives.
type Member struct {
	ID      int32
	Addr    string
	LogDir  string
	Journal *journal.Journal // of all its lives
	props   map[string]string
	cluster *InProcess
	broker  atomic.Pointer[broker.Broker] // nil: down

	mu     sync.Mutex // guards events
	events []journal.Event
}

// NodeName is a broker's name in the table of faults.
func NodeName(id int32) string { return "broker-" + strconv.Itoa(int(id)) }

// ZookeeperName is ZooKeeper's name in the table of faults.
const ZookeeperName = "zookeeper"

// StartInProcess starts brokers 1..n over TCP with a ZooKeeper of the test's own, and waits until each
// serves. They end with the test.
func StartInProcess(t testing.TB, zookeeper string, n int, props map[string]string) *InProcess {
	t.Helper()
	return StartOn(t, onTCP(t, elsewhere(zookeeper)), n, props)
}

// StartOn starts brokers 1..n on a ground and waits until each serves. They end with the test.
func StartOn(t testing.TB, g *Ground, n int, props map[string]string) *InProcess {
	t.Helper()
	c := NewOn(t, g, n, props)
	for _, m := range c.Sorted() {
		m.Start()
	}
	return c
}

// NewOn is a cluster whose brokers have not been started yet. They end with the test.
func NewOn(t testing.TB, g *Ground, n int, props map[string]string) *InProcess {
	t.Helper()
	c := &InProcess{Faults: link.NewFaults(nil), Brokers: map[int32]*Member{}, Ground: g, t: t}
	c.Faults.Name(zookeeperServer(g.Zookeeper.Connect()), ZookeeperName)
	t.Cleanup(func() {
		if t.Failed() && !g.Virtual { // what fails in a bubble is replayed by its seed
			c.logEvents()
		}
		c.Faults.HealAll()
		for _, m := range c.Sorted() {
			m.Kill()
		}
	})
	for id := int32(1); id <= int32(n); id++ {
		m := &Member{ID: id, Addr: g.addr(id), LogDir: filepath.Join(g.Dir, NodeName(id)), Journal: journal.New(id), cluster: c, props: maps.Clone(props)}
		m.Journal.Subscribe(func(ev journal.Event) {
			m.mu.Lock()
			m.events = append(m.events, ev)
			m.mu.Unlock()
		})
		c.Brokers[id] = m
	}
	return c
}

// logEvents prints what each broker said last, for whoever reads why a test failed.
func (c *InProcess) logEvents() {
	const last = 60
	for _, m := range c.Sorted() {
		events := m.Events()
		for _, ev := range events[max(0, len(events)-last):] {
			line, _ := json.Marshal(ev)
			c.t.Logf("broker %d: %s", m.ID, line)
		}
	}
}

// Sorted is the members by id.
func (c *InProcess) Sorted() []*Member {
	var out []*Member
	for _, m := range c.Brokers {
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Seeds is every member's address.
func (c *InProcess) Seeds() []string {
	var out []string
	for _, m := range c.Sorted() {
		out = append(out, m.Addr)
	}
	return out
}

// Client is an outside client of the cluster, closed with the test.
func (c *InProcess) Client(opts ...kgo.Opt) *kgo.Client {
	return outsideClient(c.t, c.Seeds(), c.reach(opts)...)
}

// reach adds the way into the cluster's network to an outside client's options.
func (c *InProcess) reach(opts []kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{dialer(c.Ground.Network)}, opts...)
}

// ReadAll is the function of that name, with a client that may ask these brokers first.
func (c *InProcess) ReadAll(topic string, partition int32, first ...int32) map[int64]string {
	c.t.Helper()
	seeds := c.Seeds()
	if len(first) > 0 {
		seeds = nil
		for _, id := range first {
			seeds = append(seeds, c.Brokers[id].Addr)
		}
	}
	return ReadAll(c.t, seeds, topic, partition, c.reach(nil)...)
}

// StartWorkload is the function of that name, for this cluster.
func (c *InProcess) StartWorkload(topic string, partitions int32, perPartition, size int, acks kgo.Acks, opts ...kgo.Opt) *Workload {
	c.t.Helper()
	return StartWorkload(c.t, c.Seeds(), topic, partitions, perPartition, size, acks, c.reach(opts)...)
}

// Check holds what is stored in this cluster against what the workload was told.
func (c *InProcess) Check(w *Workload) Verdict {
	c.t.Helper()
	return w.Check(c.t, c.Seeds(), c.reach(nil)...)
}

// Znodes is a ZooKeeper client of the test's own, closed with the test.
func (c *InProcess) Znodes() *zk.Client {
	c.t.Helper()
	return znodes(c.t, c.Ground.Zookeeper.Connect(), c.Ground.Network)
}

// Txns is ZooKeeper's own record of what was written.
func (c *InProcess) Txns() []Txn {
	c.t.Helper()
	switch z := c.Ground.Zookeeper.(type) {
	case *Embedded:
		return z.Txns(c.t)
	case *apache:
		txns, err := ReadTxnLog(z.server.DataDir())
		if err != nil {
			c.t.Fatal(err)
		}
		return txns
	}
	c.t.Fatalf("the log of %s is not ours to read", c.Ground.Zookeeper.Connect())
	return nil
}

// Start starts the broker and returns when it serves. A start within the old session's timeout is
// refused, as Kafka refuses it, so it is tried until the session is over.
func (m *Member) Start() {
	t := m.cluster.t
	t.Helper()
	Eventually(t, 60*time.Second, fmt.Sprintf("broker %d to start", m.ID), func() (bool, string) {
		if err := m.TryStart(context.Background()); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// TryStart tries once to start the broker.
func (m *Member) TryStart(ctx context.Context) error {
	g := m.cluster.Ground
	props := map[string]string{
		"broker.id": strconv.Itoa(int(m.ID)), "listeners": "PLAINTEXT://" + m.Addr,
		"log.dirs": m.LogDir, "zookeeper.connect": g.Zookeeper.Connect(),
	}
	maps.Copy(props, m.props)
	cfg, _, err := config.Parse(props)
	if err != nil {
		return err
	}
	b := broker.New(cfg, broker.Options{
		Network: m.cluster.Faults.Network(NodeName(m.ID), g.Network),
		Journal: m.Journal,
		Log:     zerolog.New(io.Discard),
	})
	if err := b.Start(ctx); err != nil {
		return err
	}
	m.broker.Store(b)
	return nil
}

// Kill ends the broker without a word to anybody. Its ZooKeeper session stays until it times out.
func (m *Member) Kill() {
	if b := m.broker.Swap(nil); b != nil {
		b.Kill()
	}
}

// Stop is the controlled shutdown.
func (m *Member) Stop() {
	if b := m.broker.Swap(nil); b != nil {
		b.Stop()
	}
}

// Broker is the running broker, nil when it is down.
func (m *Member) Broker() *broker.Broker { return m.broker.Load() }

// Events is what the member's journal said so far.
func (m *Member) Events() []journal.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]journal.Event(nil), m.events...)
}

// Events is what all journals said, member by member.
func (c *InProcess) Events() []journal.Event {
	var all []journal.Event
	for _, m := range c.Sorted() {
		all = append(all, m.Events()...)
	}
	return all
}

// Controller is the id of the active controller; it waits for one.
func (c *InProcess) Controller() int32 {
	c.t.Helper()
	id := int32(-1)
	Eventually(c.t, 60*time.Second, "a controller", func() (bool, string) {
		for _, m := range c.Sorted() {
			if b := m.Broker(); b != nil && b.Controller().IsActive() {
				id = m.ID
				return true, ""
			}
		}
		return false, "none is active"
	})
	return id
}

// CutBrokers silences both directions between two brokers.
func (c *InProcess) CutBrokers(a, b int32) {
	c.Faults.Cut(NodeName(a), NodeName(b))
	c.Faults.Cut(NodeName(b), NodeName(a))
}

// HealBrokers ends all faults between two brokers.
func (c *InProcess) HealBrokers(a, b int32) {
	c.Faults.Heal(NodeName(a), NodeName(b))
	c.Faults.Heal(NodeName(b), NodeName(a))
}
