package clustertest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/zktest"
)

// A leader is frozen past its session and thawed. It may still take what lay in its socket, with
// acks=1, before it learns that it was deposed; then it is fenced, cuts that off and rejoins.
func TestZombieLeaderIsFenced(t *testing.T) {
	t.Parallel()
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	cl := c.Client()
	const topic = "orders"
	clustertest.CreateTopic(t, cl, topic, 1, 3, "min.insync.replicas", "2")
	controller := c.Controller(60 * time.Second)
	zombie := c.Nodes[clustertest.Leader(t, cl, topic, 0)]
	if zombie.ID == controller { // this test is about the leader alone
		zombie = c.MoveLeader(cl, topic, 0)
	}
	w := clustertest.StartWorkload(t, c.Seeds(), topic, 1, 20, 100, kgo.AllISRAcks())
	w.AwaitAcks(t, 500, 60*time.Second)

	zombie.Pause()
	stale := c.Unacknowledged(zombie, topic, 0, 5) // acks=1 requests that wait in the frozen broker's socket
	clustertest.Eventually(t, 60*time.Second, "another leader", func() (bool, string) {
		parts, err := clustertest.Partitions(cl, topic)
		if err != nil {
			return false, err.Error()
		}
		return parts[0].Leader >= 0 && parts[0].Leader != zombie.ID, fmt.Sprintf("leader %d", parts[0].Leader)
	})
	w.AwaitAcks(t, 500, 60*time.Second)
	zombie.Resume()
	accepted := stale()
	t.Logf("the thawed leader accepted %d of 5 records with acks=1", accepted)

	clustertest.AwaitISRStored(t, clustertest.Znodes(t, zk.Addr), topic, 1, 3, 60*time.Second)
	w.AwaitAcks(t, 100, 60*time.Second)
	w.Stop()
	c.ReplicasEqual(cl, topic, 60*time.Second)
	w.Check(t, c.Seeds()).MustBeWhole(t)
	mustReignAlone(t, c, zk)
	if accepted > 0 {
		cut := 0
		for _, ev := range c.Events(t) {
			if ev.Kind == journal.Truncation && ev.Node == zombie.ID && ev.Topic == topic {
				cut++
			}
		}
		if cut == 0 {
			t.Error("the thawed leader kept records of its own, yet its journal shows no truncation")
		}
	}
}

// The controller is frozen while it creates a topic. Its successor finishes the topic; thawed, it
// writes nothing.
func TestZombieControllerWritesNothing(t *testing.T) {
	t.Parallel()
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	cl := c.Client()
	old := c.Nodes[c.Controller(60*time.Second)]
	const topic, partitions = "half", 300
	var others []string
	for _, n := range c.Sorted() {
		if n.ID != old.ID {
			others = append(others, n.Addr)
		}
	}

	created := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, 3, nil, topic)
		created <- err
	}()
	clustertest.Eventually(t, 60*time.Second, "the first state node of the topic", func() (bool, string) {
		txns, err := clustertest.ReadTxnLog(zk.DataDir())
		if err != nil {
			return false, err.Error()
		}
		for p := range int32(partitions) {
			if len(clustertest.StateVersions(txns, topic, p)) > 0 {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%d transactions", len(txns))
	})
	old.Pause()
	<-created // an error, or success when the creation was quicker than the freeze

	survivor := c.ClientOf(others)
	clustertest.Eventually(t, 60*time.Second, "a leader for each partition", func() (bool, string) {
		parts, err := clustertest.Partitions(survivor, topic)
		if err != nil {
			return false, err.Error()
		}
		for _, p := range parts {
			if p.Leader < 0 || p.Leader == old.ID {
				return false, fmt.Sprintf("partition %d has leader %d", p.Partition, p.Leader)
			}
		}
		return len(parts) == partitions, fmt.Sprintf("%d partitions", len(parts))
	})
	old.Resume()
	clustertest.AwaitISRStored(t, clustertest.Znodes(t, zk.Addr), topic, partitions, 3, 90*time.Second)
	mustReignAlone(t, c, zk)
}
