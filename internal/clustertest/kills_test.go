package clustertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zktest"
)

// Leader, controller and follower are killed in turn at random moments under load. What was
// acknowledged by every in-sync replica must be there, in order, on all replicas alike; and
// ZooKeeper's log must show one controller at a time.
func TestKillsLoseNothingAcknowledged(t *testing.T) {
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	cl, znodes := c.Client(), clustertest.Znodes(t, zk.Addr)
	const topic, partitions = "orders", 4
	clustertest.CreateTopic(t, cl, topic, partitions, 3, "min.insync.replicas", "2")
	w := clustertest.StartWorkload(t, c.Seeds(), topic, partitions, 50, 100, kgo.AllISRAcks())
	random := clustertest.Seeded(t)

	for round := range clustertest.Rounds(t, 6) {
		w.AwaitAcks(t, 1+random.Int64N(3000), 60*time.Second)
		victim, role := choose(t, c, cl, topic, round)
		t.Logf("round %d: kill -9 of broker %d, %s", round, victim.ID, role)
		victim.Kill()
		w.AwaitEveryPartition(t, 90*time.Second)
		victim.StartServing()
		clustertest.AwaitISRStored(t, znodes, topic, partitions, 3, 90*time.Second)
	}
	w.Stop()
	c.ReplicasEqual(cl, topic, 60*time.Second)
	w.Check(t, c.Seeds()).MustBeWhole(t)
	mustReignAlone(t, c, zk)
}

// choose picks whom to kill: the leader of partition 0, the controller, or a broker that is neither.
func choose(t *testing.T, c *clustertest.Processes, cl *kgo.Client, topic string, round int) (*clustertest.Node, string) {
	t.Helper()
	leader := clustertest.Leader(t, cl, topic, 0)
	controller := c.Controller(60 * time.Second)
	switch round % 3 {
	case 0:
		return c.Nodes[leader], fmt.Sprintf("leader of %s-0", topic)
	case 1:
		return c.Nodes[controller], "the controller"
	}
	for _, id := range c.IDs() {
		if id != leader && id != controller {
			return c.Nodes[id], fmt.Sprintf("a follower of %s-0", topic)
		}
	}
	return c.Nodes[c.IDs()[0]], "any broker"
}

// mustReignAlone holds journals and ZooKeeper's transaction log against the rules of leadership: one
// leader per epoch, controller epochs up by one per election, nothing written by a deposed controller,
// no epoch backwards.
func mustReignAlone(t *testing.T, c *clustertest.Processes, zk *zktest.Server) {
	t.Helper()
	for _, w := range clustertest.TwoLeadersInOneEpoch(c.Events(t)) {
		t.Errorf("two leaders in one epoch: %s", w)
	}
	txns, err := clustertest.ReadTxnLog(zk.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	reigns, wrong := clustertest.Reigns(txns)
	if len(reigns) == 0 {
		t.Error("ZooKeeper's log shows no election: the check shows nothing")
	}
	t.Logf("%d controller elections", len(reigns))
	wrong = append(wrong, clustertest.WrittenByLosers(txns)...)
	wrong = append(wrong, clustertest.EpochsBackwards(txns)...)
	for _, w := range wrong {
		t.Error(w)
	}
}
