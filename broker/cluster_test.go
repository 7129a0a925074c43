package broker

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/zkpaths"
)

func (r *rig) client(nodes []*node, opts ...kgo.Opt) *kgo.Client {
	r.t.Helper()
	var seeds []string
	for _, n := range nodes {
		seeds = append(seeds, addrOf(n))
	}
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
	}, opts...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// Three brokers, a client that knows nothing of kz: create, produce, consume; then one
// broker stops in order and one is killed, and everything acknowledged is still there.
func TestThreeBrokersServeAndLoseNothing(t *testing.T) {
	r := newRig(t)
	var nodes []*node
	for i := 1; i <= 3; i++ {
		nodes = append(nodes, r.start(fmt.Sprint(i), map[string]string{"broker.id": fmt.Sprint(i), "replica.lag.time.max.ms": "2000"}))
	}
	eventually(t, "every broker knows of three", func() bool {
		for _, n := range nodes {
			if len(n.metadata.Current().AliveBrokers()) != 3 {
				return false
			}
		}
		return true
	})
	c := r.client(nodes)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	admin := kadm.NewClient(c)
	if created, err := admin.CreateTopic(ctx, 6, 3, map[string]*string{"min.insync.replicas": kadm.StringPtr("1")}, "orders"); err != nil || created.Err != nil {
		t.Fatalf("create: %v %v", err, created.Err)
	}

	produced := 0
	produce := func(n int) {
		t.Helper()
		var wg sync.WaitGroup
		for range n {
			wg.Add(1)
			value := fmt.Append(nil, produced)
			produced++
			c.Produce(ctx, &kgo.Record{Topic: "orders", Value: value}, func(_ *kgo.Record, err error) {
				defer wg.Done()
				if err != nil {
					t.Errorf("produce %s: %v", value, err)
				}
			})
		}
		wg.Wait()
	}
	consume := func() {
		t.Helper()
		cc := r.client(nodes, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer cc.Close()
		seen := map[string]int{}
		for len(seen) < produced && ctx.Err() == nil {
			fetches := cc.PollFetches(ctx)
			fetches.EachRecord(func(rec *kgo.Record) { seen[string(rec.Value)]++ })
		}
		for i := range produced {
			if n := seen[fmt.Sprint(i)]; n < 1 {
				t.Fatalf("record %d is lost", i)
			}
		}
	}
	leads := func(n *node) (led int) {
		for _, s := range n.Replicas().Status() {
			if s.IsLeader {
				led++
			}
		}
		return led
	}

	produce(1000)
	consume()

	nodes[2].Stop() // controlled: leadership moves before the session ends
	for p := range int32(6) {
		s, err := zkpaths.DecodePartitionState([]byte(r.get(zkpaths.PartitionStatePath("orders", p))))
		if err != nil || s.Leader == 3 || s.Leader < 0 {
			t.Errorf("partition %d after a controlled shutdown: %+v %v", p, s, err)
		}
	}
	produce(1000)
	nodes[2] = r.start("3", map[string]string{"broker.id": "3", "replica.lag.time.max.ms": "2000"})
	full := func() bool {
		for p := range int32(6) {
			s, err := zkpaths.DecodePartitionState([]byte(r.get(zkpaths.PartitionStatePath("orders", p))))
			if err != nil || len(s.ISR) != 3 {
				return false
			}
		}
		return true
	}
	eventually(t, "broker 3 is in sync again", full)

	nodes[0].Kill()
	produce(1000)
	eventually(t, "the others lead everything", func() bool { return leads(nodes[1])+leads(nodes[2]) == 6 })
	consume()
}
