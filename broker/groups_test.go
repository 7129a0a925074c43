package broker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/broker/group"
	"kz/broker/replica"
	"kz/internal/topic"
	"kz/zkpaths"
)

// threeBrokers start with four offsets partitions, and with waits that fit a test.
func (r *rig) threeBrokers(more ...string) (nodes []*node) {
	for i := 1; i <= 3; i++ {
		nodes = append(nodes, r.start(fmt.Sprint(i), r.groupProps(i, more...)))
	}
	eventually(r.t, "every broker knows of three", func() bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool { return len(n.metadata.Current().AliveBrokers()) != 3 })
	})
	return nodes
}

func (r *rig) groupProps(id int, more ...string) map[string]string {
	props := map[string]string{"broker.id": fmt.Sprint(id), "replica.lag.time.max.ms": "2000", "offsets.topic.num.partitions": "4",
		"group.initial.rebalance.delay.ms": "200", "group.min.session.timeout.ms": "1000"}
	for _, kv := range more {
		k, v, _ := strings.Cut(kv, "=")
		props[k] = v
	}
	return props
}

// owners watches who owns which partition. A partition that two own at once is a fault.
type owners struct {
	mu   sync.Mutex // guards the rest
	of   map[string]string
	bad  []string
	seen map[string]int
}

func (o *owners) count() int { o.mu.Lock(); defer o.mu.Unlock(); return len(o.of) }

func (o *owners) of1(member string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.of {
		if m == member {
			n++
		}
	}
	return n
}

func (o *owners) change(member string, ps map[string][]int32, got bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, ns := range ps {
		for _, n := range ns {
			p := fmt.Sprintf("%s-%d", name, n)
			if had := o.of[p]; got && had != "" && had != member {
				o.bad = append(o.bad, fmt.Sprintf("%s gets %s, which %s has", member, p, had))
			}
			if got {
				o.of[p] = member
			} else if o.of[p] == member {
				delete(o.of, p)
			}
		}
	}
}

// member runs a group member until its context ends, and says when it is gone.
func (o *owners) member(ctx context.Context, r *rig, nodes []*node, name string, opts ...kgo.Opt) (gone chan struct{}) {
	on := func(got bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { o.change(name, ps, got) }
	}
	c := r.client(nodes, append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.ClientID(name),
		kgo.SessionTimeout(4 * time.Second), kgo.HeartbeatInterval(200 * time.Millisecond), kgo.RebalanceTimeout(10 * time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(200 * time.Millisecond),
		kgo.OnPartitionsAssigned(on(true)), kgo.OnPartitionsRevoked(on(false)), kgo.OnPartitionsLost(on(false))}, opts...)...)
	gone = make(chan struct{})
	go func() {
		defer close(gone)
		for ctx.Err() == nil {
			fetches := c.PollFetches(ctx)
			o.mu.Lock()
			fetches.EachRecord(func(rec *kgo.Record) { o.seen[string(rec.Value)]++ })
			o.mu.Unlock()
		}
		c.Close() // leaves the group, after a last commit
	}()
	return gone
}

// A group of three over twelve partitions: join, leave; its coordinator is stopped, then
// another one killed. No partition is owned twice, no record is skipped, and no committed
// offset goes back.
func TestGroupOutlivesItsCoordinators(t *testing.T) {
	r := newRig(t)
	nodes := r.threeBrokers()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := r.client(nodes)
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(ctx, 12, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	o := &owners{of: map[string]string{}, seen: map[string]int{}}
	ends := map[string]func(){}
	for _, name := range []string{"a", "b", "c"} {
		mctx, end := context.WithCancel(ctx)
		gone := o.member(mctx, r, nodes, name)
		ends[name] = sync.OnceFunc(func() { end(); <-gone })
		t.Cleanup(ends[name])
	}
	eventually(t, "each has four partitions", func() bool { return o.of1("a") == 4 && o.of1("b") == 4 && o.of1("c") == 4 })

	produced := 0
	pass := func(what string) {
		t.Helper()
		for range 300 {
			if err := c.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: fmt.Append(nil, produced)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			produced++
		}
		eventually(t, what+": all records are read", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return len(o.seen) == produced })
		eventually(t, what+": all is owned", func() bool { return o.count() == 12 })
		eventually(t, what+": all offsets are committed", func() bool { return committed(ctx, admin) == int64(produced) })
	}
	pass("three members")
	ends["a"]()
	eventually(t, "the two others have six each", func() bool { return o.of1("b") == 6 && o.of1("c") == 6 })
	pass("two members")

	first := r.coordinator(nodes, "g")
	nodes[first].Stop()
	pass("coordinator stopped")
	nodes[first] = r.start(fmt.Sprint(first+1), r.groupProps(first+1))
	second := r.coordinator(nodes, "g")
	eventually(t, "all replicas of the group are in sync", func() bool { return r.inSync("g") == 3 })
	nodes[second].Kill()
	pass("coordinator killed")
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.bad) > 0 {
		t.Errorf("owned twice: %q", o.bad)
	}
}

// committed adds up the group's offsets; -1 while they cannot be had.
func committed(ctx context.Context, admin *kadm.Client) (sum int64) {
	offsets, err := admin.FetchOffsets(ctx, "g")
	if err != nil {
		return -1
	}
	offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
	return sum
}

// coordinator finds who leads the group's partition: an index into nodes.
func (r *rig) coordinator(nodes []*node, id string) (i int) {
	r.t.Helper()
	p := topic.Partition{Topic: topic.ConsumerOffsets, Partition: group.PartitionFor(id, 4)}
	eventually(r.t, "the group's partition has a leader", func() bool {
		i = slices.IndexFunc(nodes, func(n *node) bool {
			return n.Err() == nil && slices.ContainsFunc(n.Replicas().Status(), func(s replica.Status) bool { return s.Partition == p && s.IsLeader })
		})
		return i >= 0
	})
	return i
}

// inSync is how many replicas of the group's partition are in sync.
func (r *rig) inSync(id string) int {
	s, err := zkpaths.DecodePartitionState([]byte(r.get(zkpaths.PartitionStatePath(topic.ConsumerOffsets, group.PartitionFor(id, 4)))))
	if err != nil {
		r.t.Fatal(err)
	}
	return len(s.ISR)
}
