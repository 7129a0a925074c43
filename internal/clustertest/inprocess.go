package clustertest

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/broker"
	"kz/broker/config"
	"kz/internal/journal"
	"kz/internal/link"
)

// InProcess is a cluster of brokers in this process, over TCP, each behind one table of link faults.
// Its kills are not those of a process (nothing the system has buffered is lost either way), but its
// links can be cut and its moments armed.
type InProcess struct {
	Faults  *link.Faults
	Brokers map[int32]*Member
	t       testing.TB
	zk      string
	dir     string
}

// A Member is one broker of an InProcess cluster, over all its lives.
type Member struct {
	ID      int32
	Addr    string
	LogDir  string
	Journal *journal.Journal // of all its lives
	props   map[string]string
	cluster *InProcess
	broker  *broker.Broker

	mu     sync.Mutex // guards events
	events []journal.Event
}

// NodeName is a broker's name in the table of faults.
func NodeName(id int32) string { return "broker-" + strconv.Itoa(int(id)) }

// StartInProcess starts brokers 1..n and waits until each serves. They end with the test.
func StartInProcess(t testing.TB, zookeeper string, n int, props map[string]string) *InProcess {
	t.Helper()
	c := &InProcess{Faults: link.NewFaults(nil), Brokers: map[int32]*Member{}, t: t, zk: zookeeper, dir: t.TempDir()}
	c.Faults.Name(zookeeper, "zookeeper")
	t.Cleanup(func() {
		c.Faults.HealAll()
		for _, m := range c.Sorted() {
			m.Kill()
		}
	})
	for id := int32(1); id <= int32(n); id++ {
		m := &Member{ID: id, Addr: freeAddr(t), LogDir: filepath.Join(c.dir, NodeName(id)), Journal: journal.New(id), cluster: c, props: map[string]string{}}
		for k, v := range props {
			m.props[k] = v
		}
		m.Journal.Subscribe(func(ev journal.Event) {
			m.mu.Lock()
			m.events = append(m.events, ev)
			m.mu.Unlock()
		})
		c.Brokers[id] = m
	}
	for _, m := range c.Sorted() {
		m.Start()
	}
	return c
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
	return outsideClient(c.t, c.Seeds(), opts...)
}

// Start starts the broker and returns when it serves. A start within the old session's timeout is
// refused, as Kafka refuses it, so it is tried until the session is over.
func (m *Member) Start() {
	t := m.cluster.t
	t.Helper()
	props := map[string]string{
		"broker.id": strconv.Itoa(int(m.ID)), "listeners": "PLAINTEXT://" + m.Addr,
		"log.dirs": m.LogDir, "zookeeper.connect": m.cluster.zk,
	}
	for k, v := range m.props {
		props[k] = v
	}
	Eventually(t, 60*time.Second, fmt.Sprintf("broker %d to start", m.ID), func() (bool, string) {
		cfg, _, err := config.Parse(props)
		if err != nil {
			t.Fatal(err)
		}
		b := broker.New(cfg, broker.Options{
			Network: m.cluster.Faults.Network(NodeName(m.ID), link.TCP{}),
			Journal: m.Journal,
			Log:     zerolog.New(io.Discard),
		})
		if err := b.Start(context.Background()); err != nil {
			return false, err.Error()
		}
		m.broker = b
		return true, ""
	})
}

// Kill ends the broker without a word to anybody. Its ZooKeeper session stays until it times out.
func (m *Member) Kill() {
	if m.broker != nil {
		m.broker.Kill()
		m.broker = nil
	}
}

// Stop is the controlled shutdown.
func (m *Member) Stop() {
	if m.broker != nil {
		m.broker.Stop()
		m.broker = nil
	}
}

// Broker is the running broker, nil when it is down.
func (m *Member) Broker() *broker.Broker { return m.broker }

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
			if m.broker != nil && m.broker.Controller().IsActive() {
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
