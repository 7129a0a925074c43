//go:build unix

package zkconsumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client"
	"kz/client/consumer"
	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// rig is a kz broker in virtual time with the topic t of 12 partitions, and members.
type rig struct {
	t         *testing.T
	network   link.Network
	zookeeper string
	kgo       *kgo.Client
	znodes    *zk.Client

	counted bool // ZooKeeper says which watches fired

	mu    sync.Mutex // guards what follows
	read  map[string]int
	sent  int
	fired map[string]map[string]int // znode -> session -> how often a watch of its on the znode fired
}

func inBubble(t *testing.T, run func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.StartOn(t, clustertest.Bubble(t), 1, map[string]string{"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1"})
		r := &rig{t: t, network: c.Ground.Network, zookeeper: c.Ground.Zookeeper.Connect(), znodes: c.Znodes(), read: map[string]int{}, counted: true}
		c.Ground.Zookeeper.(*clustertest.Embedded).Journal.Subscribe(func(ev journal.Event) {
			if ev.Kind != journal.WatchFired {
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.fired[ev.Path] == nil {
				r.fired[ev.Path] = map[string]int{}
			}
			r.fired[ev.Path][ev.Session]++
		})
		r.forgetFired()
		r.kgo = c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		clustertest.CreateTopic(t, r.kgo, "t", 12, 1)
		run(r)
	})
}

// onServer runs a story, in real time, on a server of any kind.
func onServer(t *testing.T, s clustertest.Server, run func(*rig)) {
	r := &rig{t: t, network: link.TCP{}, zookeeper: s.Zookeeper, znodes: clustertest.Znodes(t, s.Zookeeper), read: map[string]int{}}
	var err error
	if r.kgo, err = kgo.NewClient(kgo.SeedBrokers(s.Seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.kgo.Close)
	clustertest.CreateTopic(t, r.kgo, "t", 12, 1)
	run(r)
}

func (r *rig) config(name string) Config {
	servers, chroot, err := zk.ParseConnect(r.zookeeper)
	if err != nil {
		r.t.Fatal(err)
	}
	cfg := DefaultConfig(zk.Config{Servers: servers, Chroot: chroot, ConnectionTimeout: time.Minute}, client.DefaultConfig(), "g")
	cfg.ID, cfg.Topics, cfg.Smallest = name, []string{"t"}, true
	return cfg
}

// member is a consumer with the goroutine that polls it.
type member struct {
	*Consumer
	done chan struct{}
	err  error // why polling ended
}

func (r *rig) join(name string, configure func(*Config)) *member {
	r.t.Helper()
	cfg := r.config(name)
	if configure != nil {
		configure(&cfg)
	}
	c, err := New(context.Background(), cfg, r.network)
	if err != nil {
		r.t.Fatal(err)
	}
	m := &member{Consumer: c, done: make(chan struct{})}
	r.t.Cleanup(func() { c.Close(); <-m.done })
	go func() {
		defer close(m.done)
		for {
			fetched, err := c.Poll(context.Background())
			if err != nil {
				m.err = err
				return
			}
			r.note(fetched)
		}
	}()
	return m
}

func (r *rig) note(fetched []consumer.Fetched) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range fetched {
		for rec, err := range fetched[i].Records() {
			if err != nil {
				r.t.Error(err)
				return
			}
			r.read[fmt.Sprintf("%v@%d", fetched[i].Partition, rec.Offset)]++
		}
		fetched[i].Release()
	}
}

// kill ends a member as the death of its process would: its session lives on for a while.
func (m *member) kill() {
	m.zk.HangUp()
	m.cancel()
	m.inner.Close()
	<-m.done
	m.wg.Wait()
}

func (r *rig) produce(n int) {
	r.t.Helper()
	for p := range int32(12) {
		for range n {
			if err := r.kgo.ProduceSync(context.Background(), &kgo.Record{Topic: "t", Partition: p, Value: []byte("v")}).FirstErr(); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	r.sent += n
}

// owners reads the owner nodes: thread -> partitions.
func (r *rig) owners() map[string]int {
	out := map[string]int{}
	names, err := r.znodes.Children(context.Background(), "/consumers/g/owners/t", false)
	if err != nil {
		return out
	}
	for _, p := range names {
		if data, _, err := r.znodes.Get(context.Background(), "/consumers/g/owners/t/"+p); err == nil {
			out[string(data)]++
		}
	}
	return out
}

// shares waits until the owner nodes are these, and each member knows the same of itself.
func (r *rig) shares(want map[string]int, members ...*member) {
	r.t.Helper()
	clustertest.Eventually(r.t, time.Minute, fmt.Sprint("owners ", want), func() (bool, string) {
		have := r.owners()
		seen := map[topic.Partition]bool{}
		for _, m := range members {
			for _, p := range m.Owned() {
				if seen[p] {
					r.t.Fatalf("%v is owned twice", p)
				}
				seen[p] = true
			}
		}
		return maps.Equal(have, want) && len(seen) == 12, fmt.Sprint(have, len(seen))
	})
}

func (r *rig) forgetFired() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired = map[string]map[string]int{}
}

// woke holds what ZooKeeper sent since forgetFired against the herd: one event to each of so many members.
func (r *rig) woke(members int) {
	r.t.Helper()
	if !r.counted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.fired[idsPath("g")]
	if len(got) != members {
		r.t.Errorf("ZooKeeper woke %d members: %v", len(got), got)
	}
	for session, n := range got {
		if n != 1 {
			r.t.Errorf("ZooKeeper told %s %d times", session, n)
		}
	}
}

func (r *rig) allRead() {
	r.t.Helper()
	clustertest.Eventually(r.t, 2*time.Minute, "every record to be read", func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for p := range 12 {
			for o := range r.sent {
				if at := fmt.Sprintf("t-%d@%d", p, o); r.read[at] == 0 {
					return false, at + " was not"
				}
			}
		}
		return true, ""
	})
}

// Five members; one dies: the herd wakes, everybody works out the same, and each
// partition is owned once.
func TestTheHerd(t *testing.T) { inBubble(t, herd) }

// The same, on kz and on Apache Kafka.
func TestTheHerdOnServers(t *testing.T) {
	clustertest.OnServers(t, nil, func(t *testing.T, s clustertest.Server) { onServer(t, s, herd) })
}

func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

func herd(r *rig) {
	r.produce(2)
	var all []*member
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, r.join(name, nil))
	}
	r.shares(map[string]int{"a-0": 3, "b-0": 3, "c-0": 2, "d-0": 2, "e-0": 2}, all...)
	r.allRead()
	before := make([]Stats, len(all))
	for i, m := range all {
		before[i] = m.Stats()
	}
	r.forgetFired()
	all[2].kill()
	left := slices.Delete(slices.Clone(all), 2, 3)
	r.produce(2)
	r.shares(map[string]int{"a-0": 3, "b-0": 3, "d-0": 3, "e-0": 3}, left...)
	r.allRead()
	r.woke(4)
	for i, m := range all {
		if i != 2 && (m.Stats().Wakeups == before[i].Wakeups || m.Stats().Rebalances == before[i].Rebalances) {
			r.t.Errorf("%s slept through it: %+v, then %+v", m.ID(), before[i], m.Stats())
		}
	}
	r.forgetFired()
	back := r.join("c", nil)
	r.shares(map[string]int{"a-0": 3, "b-0": 3, "c-0": 2, "d-0": 2, "e-0": 2}, append(left, back)...)
	r.woke(4)
	for _, m := range append(left, back) {
		if m.err != nil {
			r.t.Errorf("%s: %v", m.ID(), m.err)
		}
	}
}

// A member with two streams counts twice; a new topic that matches is found, and more partitions, too.
func TestStreamsAndPatterns(t *testing.T) {
	inBubble(t, func(r *rig) {
		pattern := func(n int) func(*Config) {
			return func(c *Config) { c.Topics, c.WhiteList, c.Streams = nil, "t.*", n }
		}
		a, b := r.join("a", pattern(2)), r.join("b", pattern(1))
		r.shares(map[string]int{"a-0": 4, "a-1": 4, "b-0": 4}, a, b)
		clustertest.CreateTopic(t, r.kgo, "two", 3, 1)
		clustertest.Eventually(t, time.Minute, "the new topic to be read", func() (bool, string) {
			n := len(a.Owned()) + len(b.Owned())
			return n == 15, fmt.Sprint(n)
		})
	})
}

// Somebody who does not let go: the retries are used up, Poll says so, and the next change is a new chance.
func TestConflict(t *testing.T) {
	inBubble(t, func(r *rig) {
		ctx := context.Background()
		path := ownerPath("g", "t", 5)
		if err := r.znodes.CreateRecursive(ctx, path, []byte("stranger-0")); err != nil {
			t.Fatal(err)
		}
		m := r.join("a", nil)
		<-m.done
		if !errors.Is(m.err, ErrRebalanceFailed) || !strings.Contains(m.err.Error(), "t-5") {
			t.Errorf("Poll: %v", m.err)
		}
		if s := m.Stats(); s.Conflicts != 4 || s.Rebalances != 0 {
			t.Errorf("%+v", s)
		}
		if got := r.owners(); !maps.Equal(got, map[string]int{"stranger-0": 1}) {
			t.Errorf("what was taken was not given back: %v", got)
		}
		if err := r.znodes.Delete(ctx, path, -1); err != nil {
			t.Fatal(err)
		}
		b := r.join("b", nil)
		r.shares(map[string]int{"a-0": 6, "b-0": 6}, m, b)
	})
}

// offsets.storage: where a commit goes; the next member goes on there.
func TestStorage(t *testing.T) {
	for _, s := range []consumer.Storage{consumer.StoreZooKeeper, consumer.StoreKafka, consumer.StoreDual} {
		t.Run(string(s), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				with := func(c *Config) { c.Storage = s }
				r.produce(3)
				m := r.join("a", with)
				r.allRead()
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				data, _, err := r.znodes.Get(context.Background(), zkpaths.ConsumerOffset("g", "t", 7))
				if inZk := err == nil && string(data) == "3"; inZk != (s != consumer.StoreKafka) {
					t.Errorf("the znode: %q, %v", data, err)
				}
				r.produce(1)
				r.join("b", with)
				r.allRead()
				r.mu.Lock()
				defer r.mu.Unlock()
				for at, n := range r.read {
					if n != 1 {
						t.Errorf("%s was read %d times", at, n)
					}
				}
			})
		})
	}
}
