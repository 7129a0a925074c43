package clustertest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// ZooKeeper is stopped for 30 s under load. Partitions that have a leader go on; when ZooKeeper is
// back, every broker is registered once and no epoch went backwards.
func TestZookeeperAwayForHalfAMinute(t *testing.T) {
	t.Parallel()
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	cl := c.Client()
	const topic, partitions = "orders", 3
	clustertest.CreateTopic(t, cl, topic, partitions, 3, "min.insync.replicas", "2")
	w := clustertest.StartWorkload(t, c.Seeds(), topic, partitions, 20, 100, kgo.AllISRAcks())
	w.AwaitAcks(t, 300, 60*time.Second)
	before, err := clustertest.Partitions(cl, topic)
	if err != nil {
		t.Fatal(err)
	}

	zk.Stop()
	away := time.Now()
	for time.Since(away) < 30*time.Second {
		w.AwaitEveryPartition(t, 60*time.Second)
	}
	during, err := clustertest.Partitions(cl, topic)
	if err != nil {
		t.Fatal(err)
	}
	for i := range before {
		if before[i].Leader != during[i].Leader || before[i].Epoch != during[i].Epoch {
			t.Errorf("without ZooKeeper partition %d went from leader %d epoch %d to leader %d epoch %d",
				i, before[i].Leader, before[i].Epoch, during[i].Leader, during[i].Epoch)
		}
	}

	zk.StartAgain(t)
	c.AwaitBrokers(60*time.Second, 1, 2, 3)
	clustertest.CreateTopic(t, cl, "after", 3, 3) // the controller works again
	clustertest.AwaitISRStored(t, clustertest.Znodes(t, zk.Addr), topic, partitions, 3, 60*time.Second)
	w.AwaitEveryPartition(t, 60*time.Second)
	w.Stop()
	w.Check(t, c.Seeds()).MustBeWhole(t)
	c.ReplicasEqual(cl, topic, 60*time.Second)
	mustReignAlone(t, c, zk)
	mustBeRegisteredOnce(t, zk, 1, 2, 3)
}

// mustBeRegisteredOnce replays ZooKeeper's log: at no time may an id be created while it exists, and
// in the end each id is there.
func mustBeRegisteredOnce(t *testing.T, zk *zktest.Server, ids ...int32) {
	t.Helper()
	txns, err := clustertest.ReadTxnLog(zk.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]int64{} // registered path -> session
	for _, x := range txns {
		switch {
		case x.Type == "create" && strings.HasPrefix(x.Path, zkpaths.BrokerIDs+"/"):
			if _, there := owner[x.Path]; there {
				t.Errorf("zxid %#x: %s created while registered", x.Zxid, x.Path)
			}
			owner[x.Path] = x.Session
		case x.Type == "delete":
			delete(owner, x.Path)
		case x.Type == "close-session":
			for path, s := range owner {
				if s == x.Session {
					delete(owner, path)
				}
			}
		}
	}
	if len(owner) != len(ids) {
		t.Errorf("registered in the end: %v", owner)
	}
	for _, id := range ids {
		if _, ok := owner[fmt.Sprintf("%s/%d", zkpaths.BrokerIDs, id)]; !ok {
			t.Errorf("broker %d is not registered in the end", id)
		}
	}
}
