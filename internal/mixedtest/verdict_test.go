package mixedtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
)

// verdict ends the load and holds everything against everything.
func (x *cell) verdict() {
	x.Helper()
	x.load.Stop()
	x.settled()
	for _, topic := range x.topics {
		x.c.ReplicasEqual(x.cl, topic, 60*time.Second)
	}
	found := x.load.Check(x.T, x.c.Seeds())
	found.MustBeWhole(x.T)
	sameMetadata(x.T, x.c)
	elections := znodesAlike(x.T, x.zk.DataDir(), x.c)
	uncomplaining(x.T, x.c)
	kzErrors(x.T, x.c)
	// scripts/mixed.sh gathers these lines.
	x.Logf("figures: %d kills, %d acknowledged, %d lost, %d elections of a controller, %d client gave up", x.kills, found.Acked, len(found.Lost), elections, x.load.Failed())
}

// znodesAlike reads ZooKeeper's log: one controller at a time whatever its kind, no epoch backwards, and
// the same shapes from both kinds. It returns how many elections of a controller there were.
func znodesAlike(t *testing.T, dataDir string, c *clustertest.Processes) (elections int) {
	t.Helper()
	txns, err := clustertest.ReadTxnLog(dataDir)
	must(t, err)
	reigns, wrong := clustertest.Reigns(txns)
	wrong = append(wrong, clustertest.WrittenByLosers(txns)...)
	wrong = append(wrong, clustertest.EpochsBackwards(txns)...)
	for _, w := range wrong {
		t.Error(w)
	}
	kinds := map[int32]clustertest.Kind{}
	for _, n := range c.Sorted() {
		kinds[n.ID] = n.Kind
	}
	shapes := clustertest.Shapes(txns, kinds)
	alike, unlike := clustertest.UnlikeShapes(shapes)
	for _, u := range unlike {
		t.Errorf("znode writes differ: %s", u)
	}
	t.Logf("%d controller elections; %d kinds of znode writes alike", len(reigns), alike)
	if testing.Verbose() {
		t.Logf("seen of one kind only:\n%s", strings.Join(clustertest.OneSided(shapes), "\n"))
	}
	if alike == 0 && len(c.OfKind(clustertest.KZ)) > 0 {
		t.Error("both kinds wrote nothing in common: the check shows nothing")
	}
	for _, w := range clustertest.TwoLeadersInOneEpoch(c.Events(t)) {
		t.Errorf("two leaders in one epoch: %s", w)
	}
	return len(reigns)
}

// sameMetadata waits until all brokers tell the same about every topic. Nobody may be at work.
func sameMetadata(t *testing.T, c *clustertest.Processes) {
	t.Helper()
	eventually(t, 30*time.Second, "all brokers to tell the same", func() (bool, string) {
		first, firstFrom := "", c.Nodes[1]
		for _, n := range c.Sorted() {
			got, err := tells(t.Context(), n.Addr)
			if err != nil {
				return false, err.Error()
			}
			if n == firstFrom {
				first = got
			} else if got != first {
				return false, fmt.Sprintf("broker %d (%s):\n%sbroker %d (%s):\n%s", firstFrom.ID, firstFrom.Kind, first, n.ID, n.Kind, got)
			}
		}
		return true, ""
	})
}

// tells is a broker's metadata, every field but the time, a line per broker and partition.
func tells(ctx context.Context, addr string) (string, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return "", err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	r, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return "", err
	}
	m := r.(*kmsg.MetadataResponse)
	lines := []string{fmt.Sprintf("cluster %s controller %d", *m.ClusterID, m.ControllerID)}
	for _, b := range m.Brokers {
		lines = append(lines, fmt.Sprintf("broker %d at %s:%d", b.NodeID, b.Host, b.Port))
	}
	for _, topic := range m.Topics {
		for _, p := range topic.Partitions {
			lines = append(lines, fmt.Sprintf("%s-%d error %d leader %d epoch %d replicas %v isr %v offline %v", *topic.Topic, p.Partition, p.ErrorCode, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.OfflineReplicas))
		}
	}
	return sortedLines(strings.Join(lines, "\n")), nil
}

func sortedLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}
