package clustertest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/link"
)

const fetchKey = 1

// Replicas 1, 2 and 3 hold m2, which was acknowledged by all; 2 and 3 have not heard of the high
// watermark that covers it. 1 dies, 2 leads, 3 follows and looks where to cut. 2 dies before 3 has
// fetched anything, 3 leads. A log cut at the high watermark has lost m2 by now; a log that asks for
// the end of its leader epoch has not.
//
// Ref: KIP-101, scenario 1 as a double failover.
func TestDoubleFailoverLosesNothing(t *testing.T) {
	clustertest.OnEachGround(t, doubleFailover)
}

func doubleFailover(t *testing.T, g *clustertest.Ground) {
	session := "2000"
	if !g.Virtual {
		session = "4000" // nobody's session may end because the machine is busy
	}
	c := clustertest.StartOn(t, g, 4, quick(
		"zookeeper.session.timeout.ms", session,
		"replica.lag.time.max.ms", "60000", // nobody leaves the ISR by being slow
		"replica.fetch.wait.max.ms", "300",
	))
	cl := c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	const topic = "orders"
	makeController(t, c, 4)
	assign(t, cl, topic, 1, 2, 3)

	produce := func(value string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		must(t, cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr())
	}
	produce("m1")
	clustertest.Eventually(t, 60*time.Second, "every replica to know m1 as committed", func() (bool, string) {
		return marks(c, topic, 1, 2, 3) == "1:1/1 2:1/1 3:1/1", marks(c, topic, 1, 2, 3)
	})

	// From the moment a follower has m2, no answer to its fetches arrives: it does not hear of the new
	// high watermark. Its fetches do reach the leader, which thereby learns that the follower has m2.
	for _, f := range []int32{2, 3} {
		disarm := c.Brokers[f].Journal.Arm(journal.MomentFollowerAppend, func(string) {
			c.Faults.Drop(clustertest.NodeName(1), clustertest.NodeName(f), link.Drop{Key: fetchKey, Answer: true, Count: 1 << 20})
		})
		defer disarm()
	}
	produce("m2")
	if got := marks(c, topic, 1, 2, 3); got != "1:2/2 2:1/2 3:1/2" {
		t.Fatalf("high watermark/log end of the replicas: %s; want 2/2 on the leader and 1/2 on both followers", got)
	}

	// Freeze 3 between its truncation and its first fetch from 2.
	frozen, thaw := make(chan struct{}, 8), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(thaw) })
	defer goOn() // a frozen broker cannot be stopped
	c.Brokers[3].Journal.Arm(journal.MomentFollowerTruncated, func(string) {
		select {
		case frozen <- struct{}{}:
		default:
		}
		<-thaw
	})
	c.Brokers[1].Kill()
	select {
	case <-frozen:
	case <-time.After(60 * time.Second):
		t.Fatal("broker 3 never reached the truncation under its new leader")
	}
	clustertest.Eventually(t, 60*time.Second, "broker 2 to lead", func() (bool, string) { // brokers hear of it after broker 3 did
		l := clustertest.Leader(t, cl, topic, 0)
		return l == 2, fmt.Sprintf("broker %d leads", l)
	})
	c.Brokers[2].Kill()
	goOn()
	clustertest.Eventually(t, 60*time.Second, "broker 3 to lead", func() (bool, string) {
		l := clustertest.Leader(t, cl, topic, 0)
		return l == 3, fmt.Sprintf("broker %d leads", l)
	})
	c.Faults.HealAll()
	stored := c.ReadAll(topic, 0, 3)
	if stored[0] != "m1" || stored[1] != "m2" {
		t.Fatalf("after both failovers the log holds %v: an acknowledged record is lost", stored)
	}
	c.Brokers[1].Start()
	c.Brokers[2].Start()
	clustertest.AwaitISR(t, cl, topic, 3, 60*time.Second)
	produce("m3")
	clustertest.Eventually(t, 60*time.Second, "equal replicas", func() (bool, string) {
		return marks(c, topic, 1, 2, 3) == "1:3/3 2:3/3 3:3/3", marks(c, topic, 1, 2, 3)
	})
	for _, wrong := range clustertest.TwoLeadersInOneEpoch(c.Events()) {
		t.Error(wrong)
	}
}

// marks prints "id:high watermark/log end" of a partition 0 on the brokers named.
func marks(c *clustertest.InProcess, topic string, ids ...int32) string {
	s := ""
	for _, id := range ids {
		m := c.Brokers[id]
		hw, end := int64(-1), int64(-1)
		if b := m.Broker(); b != nil {
			for _, st := range b.Replicas().Status() {
				if st.Partition.Topic == topic && st.Partition.Partition == 0 {
					hw, end = st.HighWatermark, st.LogEnd
				}
			}
		}
		s += fmt.Sprintf("%d:%d/%d ", id, hw, end)
	}
	return s[:len(s)-1]
}

// makeController stops everybody else until the wanted broker is controller.
func makeController(t *testing.T, c *clustertest.InProcess, want int32) {
	t.Helper()
	for _, m := range c.Sorted() {
		if m.ID != want {
			m.Stop()
		}
	}
	if id := c.Controller(); id != want {
		t.Fatalf("broker %d is controller, not %d", id, want)
	}
	for _, m := range c.Sorted() {
		if m.ID != want {
			m.Start()
		}
	}
}

// assign makes a topic of one partition on these replicas; the first is its leader.
func assign(t *testing.T, cl *kgo.Client, topic string, replicas ...int32) {
	t.Helper()
	must(t, clustertest.CreateAssigned(cl, topic, [][]int32{replicas}))
	clustertest.AwaitISR(t, cl, topic, len(replicas), 60*time.Second)
	if l := clustertest.Leader(t, cl, topic, 0); l != replicas[0] {
		t.Fatalf("broker %d leads %s-0, not %d", l, topic, replicas[0])
	}
}
