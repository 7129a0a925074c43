package clustertest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/zkpaths"
)

// A follower is cut from its leader and healed. The leader itself takes it out of the ISR with one
// conditional write, within one and a half lag limits, and back in with another once it caught up:
// versions 0, 1, 2 of the state node, leader epoch unchanged.
func TestFollowerCutAndHealed(t *testing.T) {
	clustertest.OnEachGround(t, followerCutAndHealed)
}

func followerCutAndHealed(t *testing.T, g *clustertest.Ground) {
	lag := 2 * time.Second
	if !g.Virtual {
		lag = 4 * time.Second // the other follower must not lag, however busy the machine
	}
	c := clustertest.StartOn(t, g, 3, quick("replica.lag.time.max.ms", fmt.Sprint(lag.Milliseconds()), "zookeeper.session.timeout.ms", "20000"))
	cl := c.Client()
	const topic = "orders"
	clustertest.CreateTopic(t, cl, topic, 1, 3)
	w := c.StartWorkload(topic, 1, 10, 100, kgo.AllISRAcks())
	w.AwaitAcks(t, 100, 60*time.Second)
	leader := clustertest.Leader(t, cl, topic, 0)
	follower := 1 + leader%3

	// Both ends dial through the same table, so the follower's fetches to the leader fall silent.
	c.CutBrokers(leader, follower)
	cut := time.Now()
	clustertest.Eventually(t, 60*time.Second, "the ISR to shrink", func() (bool, string) {
		return clustertest.Count(c.Brokers[leader].Events(), journal.ISRShrink) > 0, "no shrink in the leader's journal"
	})
	took := time.Since(cut)
	t.Logf("the ISR shrank %v after the cut; the limit is 1.5 x %v", took.Round(time.Millisecond), lag)
	if g.Virtual && took > lag*3/2+lag/2 { // that, and the time that the write takes
		t.Errorf("the ISR shrank only after %v", took)
	}
	w.AwaitAcks(t, 100, 60*time.Second) // acks=all goes on without the follower
	c.HealBrokers(leader, follower)
	// Metadata hears of it only after the controller did, seconds later: ask the leader's journal.
	clustertest.Eventually(t, 60*time.Second, "the ISR to expand", func() (bool, string) {
		return clustertest.Count(c.Brokers[leader].Events(), journal.ISRExpand) > 0, "no expansion in the leader's journal"
	})
	clustertest.AwaitISR(t, cl, topic, 3, 60*time.Second)
	w.Stop()

	states := clustertest.StateVersions(c.Txns(), topic, 0)
	if len(states) != 3 {
		t.Fatalf("the state node was written %d times, want create, shrink, expand: %+v", len(states), states)
	}
	for i, s := range states {
		t.Logf("version %d: %s", i, s.Encode())
		if s.Leader != leader || s.LeaderEpoch != states[0].LeaderEpoch || s.ControllerEpoch != states[0].ControllerEpoch {
			t.Errorf("version %d changed more than the ISR: %+v", i, s)
		}
	}
	if slices.Contains(states[1].ISR, follower) || !slices.Contains(states[2].ISR, follower) {
		t.Errorf("ISR went %v, %v, %v", states[0].ISR, states[1].ISR, states[2].ISR)
	}
	if w := writers(c, zkpaths.PartitionStatePath(topic, 0)); !slices.Equal(w[1:], []int32{leader, leader}) {
		t.Errorf("brokers %v wrote the state node; shrink and expand are the leader's (%d)", w, leader)
	}
	c.Check(w).MustBeWhole(t)
}

// writers is which brokers wrote a znode, in the order of its versions.
func writers(c *clustertest.InProcess, path string) []int32 {
	byVersion := map[int32]int32{}
	for _, ev := range c.Events() {
		if ev.Kind == journal.ZnodeWrite && ev.Path == path && ev.Result == "ok" {
			byVersion[ev.VersionAfter] = ev.Node
		}
	}
	var out []int32
	for v := int32(0); int(v) < len(byVersion); v++ {
		out = append(out, byVersion[v])
	}
	return out
}
