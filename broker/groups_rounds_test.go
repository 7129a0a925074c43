package broker_test

import (
	"context"
	"fmt"
	"maps"

	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/journal"
)

// Twenty rounds in virtual time: the coordinator is killed while it decides a generation,
// or when a commit is replicated and not yet answered. No committed offset goes back, no
// group is stuck, no record is skipped.
func TestCoordinatorsDieInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t)
		for round := range 20 {
			moment := []journal.Moment{journal.MomentCoordinatorRebalance, journal.MomentCoordinatorCommit}[round%2]
			w.round(round, moment)
		}
		if len(w.bad) > 0 {
			t.Errorf("%q", w.bad)
		}
	})
}

const (
	worldPartitions = 6
	worldMembers    = 3
)

// groupWorld is a cluster, a load, and a group that reads it.
type groupWorld struct {
	t       *testing.T
	c       *clustertest.InProcess
	client  *kgo.Client
	members []*worldMember

	mu       sync.Mutex // guards the rest
	read     map[string]bool
	acked    map[int32]int64 // committed and acknowledged, by partition
	owner    map[int32]string
	produced int
	bad      []string
}

type worldMember struct {
	name string
	stop func()
}

func newGroupWorld(t *testing.T) *groupWorld {
	w := &groupWorld{t: t, read: map[string]bool{}, acked: map[int32]int64{}, owner: map[int32]string{}}
	w.c = clustertest.StartOn(t, clustertest.Bubble(t), 3, map[string]string{
		"zookeeper.session.timeout.ms": "2000", "replica.lag.time.max.ms": "3000", "offsets.topic.num.partitions": "2",
		"group.initial.rebalance.delay.ms": "500", "min.insync.replicas": "2", "default.replication.factor": "3"})
	w.client = w.c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	clustertest.CreateTopic(t, w.client, "orders", worldPartitions, 3)
	for i := range worldMembers {
		w.members = append(w.members, w.join(fmt.Sprint("m", i, ".0")))
	}
	t.Cleanup(func() {
		for _, m := range w.members {
			m.stop()
		}
	})
	w.settled("at the beginning")
	clustertest.AwaitISR(t, w.client, "__consumer_offsets", 3, time.Minute)
	return w
}

// join starts a member.
func (w *groupWorld) join(name string) *worldMember {
	ctx, cancel := context.WithCancel(context.Background())
	due := map[int32]int64{} // read, and not known to be committed; guarded by w.mu
	owns := func(got bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { w.owns(name, ps["orders"], got, due) }
	}
	c := w.c.Client(kgo.ClientID(name), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(300*time.Millisecond), kgo.RebalanceTimeout(10*time.Second), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.DisableAutoCommit(), // it waits for a mutex while its member joins, which stops a bubble's clock
		kgo.OnPartitionsAssigned(owns(true)), kgo.OnPartitionsRevoked(owns(false)), kgo.OnPartitionsLost(owns(false)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.poll(ctx, c, due)
		}
		c.CloseAllowingRebalance()
	}()
	return &worldMember{name, sync.OnceFunc(func() { cancel(); <-done })}
}

func (w *groupWorld) owns(name string, ps []int32, got bool, due map[int32]int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range ps {
		delete(due, p)
		switch {
		case got && w.owner[p] != "" && w.owner[p] != name:
			w.bad = append(w.bad, fmt.Sprintf("%s gets partition %d, which %s has", name, p, w.owner[p]))
			w.owner[p] = name
		case got:
			w.owner[p] = name
		case w.owner[p] == name:
			delete(w.owner, p)
		}
	}
}

// poll reads for a while, and commits what it has read.
func (w *groupWorld) poll(ctx context.Context, c *kgo.Client, due map[int32]int64) {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	fetches := c.PollFetches(ctx)
	w.mu.Lock()
	fetches.EachRecord(func(r *kgo.Record) {
		w.read[string(r.Value)] = true
		due[r.Partition] = r.Offset + 1
	})
	next := maps.Clone(due)
	w.mu.Unlock()
	if len(next) > 0 {
		w.commit(c, next, due)
	}
}

// commit notes what the coordinator said is committed. The rest is tried with the next poll.
func (w *groupWorld) commit(c *kgo.Client, next, due map[int32]int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = "g"
	req.MemberID, req.Generation = c.GroupMetadata()
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "orders"
	for p, o := range next {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = p, o
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, c)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range resp.Topics[0].Partitions {
		if p.ErrorCode == 0 {
			w.acked[p.Partition] = max(w.acked[p.Partition], next[p.Partition])
			if due[p.Partition] == next[p.Partition] {
				delete(due, p.Partition)
			}
		}
	}
}

// round lets a member leave and another come while there is work, kills the coordinator at
// the moment, and waits until all is well again.
func (w *groupWorld) round(n int, moment journal.Moment) {
	w.t.Helper()
	reached, thaw := make(chan int32, 100), make(chan struct{})
	var disarm []func()
	for id, m := range w.c.Brokers {
		disarm = append(disarm, m.Journal.Arm(moment, func(string) {
			reached <- id
			<-thaw
		}))
	}
	i := n % worldMembers
	w.members[i].stop()
	w.members[i] = w.join(fmt.Sprint("m", i, ".", n+1))
	w.produce(40)
	var victim int32
	select {
	case victim = <-reached:
	case <-time.After(time.Minute):
		w.t.Fatalf("round %d: no coordinator came to %s", n, moment)
	}
	go func() { // the broker is out of reach of its log and its session before its goroutine goes on
		time.Sleep(20 * time.Millisecond)
		for _, f := range disarm {
			f()
		}
		close(thaw)
	}()
	w.c.Brokers[victim].Kill()
	w.produce(40)
	w.settled(fmt.Sprintf("round %d, broker %d killed at %s", n, victim, moment))
	w.c.Brokers[victim].Start()
	clustertest.AwaitISR(w.t, w.client, "__consumer_offsets", 3, time.Minute)
	clustertest.AwaitISR(w.t, w.client, "orders", 3, time.Minute)
}

func (w *groupWorld) produce(n int) {
	w.t.Helper()
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := w.client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: fmt.Append(nil, w.produced)}).FirstErr()
		cancel()
		if err != nil {
			w.t.Fatal(err)
		}
		w.produced++
	}
}

// settled waits until every partition has an owner, all is read, and all is committed; and
// holds what is committed against what was acknowledged.
func (w *groupWorld) settled(when string) {
	w.t.Helper()
	clustertest.Eventually(w.t, 2*time.Minute, when+": the group to go on", func() (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.owner) == worldPartitions && len(w.read) == w.produced, fmt.Sprintf("%d partitions have owners, %d of %d records are read", len(w.owner), len(w.read), w.produced)
	})
	clustertest.Eventually(w.t, time.Minute, when+": all to be committed", func() (bool, string) {
		w.mu.Lock()
		before := maps.Clone(w.acked)
		w.mu.Unlock()
		fresh := w.c.Client() // an older one may believe in the dead coordinator
		defer fresh.Close()
		found, err := kadm.NewClient(fresh).FetchOffsets(context.Background(), "g")
		if err != nil {
			return false, err.Error()
		}
		sum := int64(0)
		for p := range int32(worldPartitions) {
			o, _ := found.Lookup("orders", p)
			sum += o.At
			if o.At < before[p] {
				w.t.Errorf("%s: of partition %d %d was acknowledged, %d is committed", when, p, before[p], o.At)
			}
		}
		return sum == int64(w.produced), fmt.Sprintf("%d of %d", sum, w.produced)
	})
}
