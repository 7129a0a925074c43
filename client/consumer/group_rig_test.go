//go:build unix

package consumer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client"
	"kz/client/assignor"
	"kz/internal/clustertest"
	"kz/internal/link"
	"kz/internal/topic"
)

// crew is a real kz broker in virtual time, members of the group "g", and what they did.
type crew struct {
	t       *testing.T
	cluster *clustertest.InProcess // nil: a server of somebody else's
	seeds   []string
	network link.Network
	outside func(...kgo.Opt) *kgo.Client // another client of the same server
	name    string                       // of the topic and of the group
	kgo     *kgo.Client

	mu     sync.Mutex // guards what follows
	owner  map[topic.Partition]string
	ofGen  map[genPart]string
	read   map[string]map[string]int // "3@17" -> who read it, how often
	sent   map[int32]int64           // records per partition of t
	log    []string                  // what the listeners heard
	faults []string

	acked                 map[int32]int64 // the greatest offset whose commit was acknowledged
	commitsOf, commitsNot int             // acknowledged, failed
}

type genPart struct {
	generation int32
	part       topic.Partition
}

// inGroup runs a test on brokers 1..n with the topic t of 12 partitions.
func inGroup(t *testing.T, n int, run func(*crew)) {
	synctest.Test(t, func(t *testing.T) {
		cluster := clustertest.StartOn(t, clustertest.Bubble(t), n, map[string]string{
			"offsets.topic.num.partitions": "4", "offsets.topic.replication.factor": fmt.Sprint(n), "group.initial.rebalance.delay.ms": "100",
		})
		w := &crew{t: t, cluster: cluster, seeds: cluster.Seeds(), network: cluster.Ground.Network, outside: cluster.Client, name: "t"}
		w.run(int16(n), run)
	})
}

// onServer runs a story, in real time, on a server of any kind.
func onServer(t *testing.T, s clustertest.Server, run func(*crew)) {
	w := &crew{t: t, seeds: s.Seeds, network: link.TCP{}, name: fmt.Sprintf("kz-%s-%d", notInNames.ReplaceAllString(t.Name(), "-"), time.Now().UnixNano())}
	w.outside = func(opts ...kgo.Opt) *kgo.Client {
		cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.seeds...)}, opts...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.CloseAllowingRebalance)
		return cl
	}
	w.run(1, run)
}

var notInNames = regexp.MustCompile("[^a-zA-Z0-9]+")

func (w *crew) run(replicas int16, run func(*crew)) {
	w.owner, w.ofGen, w.read, w.sent = map[topic.Partition]string{}, map[genPart]string{}, map[string]map[string]int{}, map[int32]int64{}
	w.kgo = w.outside(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	clustertest.CreateTopic(w.t, w.kgo, w.name, 12, replicas)
	run(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		w.t.Error(f)
	}
}

// produce writes n records to each of the 12 partitions.
func (w *crew) produce(n int) {
	w.t.Helper()
	var recs []*kgo.Record
	for p := range int32(12) {
		for range n {
			recs = append(recs, &kgo.Record{Topic: w.name, Partition: p, Value: []byte("v")})
		}
	}
	if err := w.kgo.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range int32(12) {
		w.sent[p] += int64(n)
	}
}

func (w *crew) config(name string) Config {
	cc := client.DefaultConfig(w.seeds...)
	cc.Network, cc.ClientID = w.network, name
	cfg := DefaultConfig(cc)
	cfg.Group = "g"
	if w.cluster == nil {
		cfg.Group = w.name
		cfg.SessionTimeout, cfg.HeartbeatInterval = 6*time.Second, 500*time.Millisecond // real time
	}
	return cfg
}

// member is one consumer with the goroutine that polls it.
type member struct {
	w    *crew
	name string
	c    *Consumer
	done chan struct{}
	err  error // why polling ended, unless it was closed
}

func (w *crew) join(name string, configure func(*Config)) *member {
	w.t.Helper()
	cfg := w.config(name)
	if configure != nil {
		configure(&cfg)
	}
	m := &member{w: w, name: name, c: New(cfg), done: make(chan struct{})}
	w.t.Cleanup(func() { m.c.Close() })
	if err := m.c.Subscribe([]string{w.name}, m.listener()); err != nil {
		w.t.Fatal(err)
	}
	go m.poll()
	return m
}

func (m *member) poll() {
	defer close(m.done)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		fetched, err := m.c.Poll(ctx)
		cancel()
		if err != nil {
			if !errors.Is(err, ErrClosed) && m.c.ctx.Err() == nil {
				m.err = err
				m.w.fault("%s: Poll: %v", m.name, err)
			}
			return
		}
		m.note(fetched)
	}
}

func (m *member) note(fetched []Fetched) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for i := range fetched {
		for r, err := range fetched[i].Records() {
			if err != nil {
				m.w.faults = append(m.w.faults, err.Error())
				break
			}
			at := fmt.Sprintf("%d@%d", fetched[i].Partition.Partition, r.Offset)
			if m.w.read[at] == nil {
				m.w.read[at] = map[string]int{}
			}
			m.w.read[at][m.name]++
		}
		fetched[i].Release()
	}
}

func (w *crew) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// listener notes who owns what, and whose faults: a partition owned by two at once, or
// by two in one generation.
func (m *member) listener() Listener {
	gone := func(word string) func([]topic.Partition) {
		return func(parts []topic.Partition) {
			m.w.mu.Lock()
			defer m.w.mu.Unlock()
			m.w.log = append(m.w.log, fmt.Sprintf("%s %s %s", m.name, word, numbers(parts)))
			for _, p := range parts {
				if m.w.owner[p] == m.name {
					delete(m.w.owner, p)
				}
			}
		}
	}
	return Listener{Revoked: gone("revoked"), Lost: gone("lost"), Assigned: func(parts []topic.Partition) {
		generation, _ := m.c.GroupMember()
		owned := m.c.Assignment()
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		m.w.log = append(m.w.log, fmt.Sprintf("%s assigned %s", m.name, numbers(parts)))
		for _, p := range parts {
			if other := m.w.owner[p]; other != "" {
				m.w.faults = append(m.w.faults, fmt.Sprintf("%v belongs to %s and %s at once", p, other, m.name))
			}
			m.w.owner[p] = m.name
		}
		for _, p := range owned {
			k := genPart{generation, p}
			if other := m.w.ofGen[k]; other != "" && other != m.name {
				m.w.faults = append(m.w.faults, fmt.Sprintf("%v belongs to %s and %s in generation %d", p, other, m.name, generation))
			}
			m.w.ofGen[k] = m.name
		}
	}}
}

func numbers(parts []topic.Partition) string {
	var out []string
	for _, p := range parts {
		out = append(out, fmt.Sprint(p.Partition))
	}
	return strings.Join(out, ",")
}

func (m *member) close() {
	m.w.t.Helper()
	if err := m.c.Close(); err != nil {
		m.w.t.Errorf("%s: Close: %v", m.name, err)
	}
	<-m.done
}

// kill ends the consumer as the death of its process would: no commit, no farewell.
func (m *member) kill() {
	m.c.mu.Lock()
	m.c.cancel()
	m.c.mu.Unlock()
	m.c.client.Close()
	m.c.group.closeClients()
	m.c.closed.Store(true)
	close(m.c.closing)
	<-m.done
	m.c.wg.Wait()
	close(m.c.ended)
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for p, who := range m.w.owner {
		if who == m.name {
			delete(m.w.owner, p)
		}
	}
}

// shares waits until the members own the given numbers of partitions.
func (w *crew) shares(want map[string]int) {
	w.t.Helper()
	clustertest.Eventually(w.t, time.Minute, fmt.Sprint("shares of ", want), func() (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		have := map[string]int{}
		for _, who := range w.owner {
			have[who]++
		}
		return fmt.Sprint(have) == fmt.Sprint(want), fmt.Sprint(have, "\n", strings.Join(w.log, "\n"))
	})
}

// allRead waits until every record was read by somebody.
func (w *crew) allRead() {
	w.t.Helper()
	clustertest.Eventually(w.t, time.Minute, "every record to be read", func() (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for p, n := range w.sent {
			for o := range n {
				if at := fmt.Sprintf("%d@%d", p, o); len(w.read[at]) == 0 {
					return false, at + " was not"
				}
			}
		}
		return true, ""
	})
}

// twice lists who read a record that was read more than once, except by those who may have.
func (w *crew) twice(except ...string) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, by := range w.read {
		n := 0
		for who, k := range by {
			if !slices.Contains(except, who) {
				n += k
			}
		}
		if n > 1 {
			out = append(out, fmt.Sprint(at, by))
		}
	}
	return out
}

// heard gives what the listeners heard since the last call.
func (w *crew) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.log
	w.log = nil
	return out
}

func by(rules ...assignor.Assignor) func(*Config) {
	return func(c *Config) { c.Assignors = rules }
}
