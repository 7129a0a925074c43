package clustertest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zktest"
)

// A cell of the table acks x min.insync.replicas, under one of three fates. 20 records are sent while
// both followers hear nothing from the leader; then the leader dies.
type cell struct {
	acks    int16 // 0, 1, -1 = all
	min     string
	fate    string
	acked   int           // of 20
	refused kafkaerr.Code // the others
	lost    int           // of the acknowledged; with acks=0 of the sent
}

const (
	inSync   = "followers in sync on paper" // silent for less than the lag limit: both are electable
	alone    = "leader alone in the ISR"    // the followers have left; no clean successor
	uncleanl = "leader alone and unclean election allowed"
)

var cells = []cell{
	{0, "1", inSync, 0, kafkaerr.None, 20},            // nobody was promised anything
	{1, "1", inSync, 20, kafkaerr.None, 20},           // the leader's word dies with it
	{1, "2", inSync, 20, kafkaerr.None, 20},           // min.insync.replicas says nothing to acks=1
	{-1, "1", inSync, 0, kafkaerr.RequestTimedOut, 0}, // all means all of the ISR, whatever min says
	{-1, "2", inSync, 0, kafkaerr.RequestTimedOut, 0},
	{1, "1", alone, 20, kafkaerr.None, 0}, // the partition waits for its only in-sync replica
	{-1, "1", alone, 20, kafkaerr.None, 0},
	{-1, "2", alone, 0, kafkaerr.NotEnoughReplicas, 0}, // refused before the append
	{1, "1", uncleanl, 20, kafkaerr.None, 20},
	{-1, "1", uncleanl, 20, kafkaerr.None, 20}, // acks=all of an ISR of one
	{-1, "2", uncleanl, 0, kafkaerr.NotEnoughReplicas, 0},
}

// Which cell loses what, with counts. acks=1 does lose.
func TestAcksTable(t *testing.T) {
	for _, fate := range []string{inSync, alone, uncleanl} {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			lag := "2000"
			if fate == inSync {
				lag = "60000"
			}
			server := zktest.Start(t)
			c := clustertest.StartInProcess(t, server.Addr, 3, quick("replica.lag.time.max.ms", lag, "replica.socket.timeout.ms", "60000"))
			znodes := clustertest.Znodes(t, server.Addr)
			for i, cell := range cells {
				if cell.fate == fate {
					runCell(t, c, znodes, fmt.Sprintf("cell-%d", i), cell)
				}
			}
		})
	}
}

func runCell(t *testing.T, c *clustertest.InProcess, znodes *zk.Client, topic string, x cell) {
	t.Helper()
	cl := c.Client(kgo.MetadataMaxAge(time.Second))
	must(t, clustertest.CreateAssigned(cl, topic, [][]int32{{1, 2, 3}}, "min.insync.replicas", x.min,
		"unclean.leader.election.enable", fmt.Sprint(x.fate == uncleanl)))
	clustertest.AwaitISR(t, cl, topic, 3, 60*time.Second)
	clustertest.Eventually(t, 60*time.Second, "broker 1 to know that it leads", func() (bool, string) {
		if logEnd(c, 1, topic) != 0 {
			return false, "it has no such replica"
		}
		return c.Brokers[1].Knows(topic, 1)
	})
	base, refused, err := clustertest.Produce(c.Brokers[1].Addr, topic, 0, -1, 60*time.Second, names("before", 10))
	must(t, err)
	if len(base) != 10 {
		t.Fatalf("%d of 10 records acknowledged by a healthy cluster, the others refused with %v", len(base), refused)
	}

	for _, f := range []int32{2, 3} {
		c.Faults.Drop(clustertest.NodeName(1), clustertest.NodeName(f), link.Drop{Key: fetchKey, Answer: true, Count: 1 << 20})
	}
	if x.fate != inSync { // a follower that has all there is never lags: give it something to miss
		_, _, err := clustertest.Produce(c.Brokers[1].Addr, topic, 0, 1, time.Second, names("missed", 1))
		must(t, err)
		clustertest.AwaitISRStored(t, znodes, topic, 1, 1, 60*time.Second)
		// ZooKeeper has it before the leader hears that ZooKeeper has it.
		clustertest.Eventually(t, 60*time.Second, "the leader to know that it is alone", func() (bool, string) {
			_, isr := leads(c, 1, topic)
			return len(isr) == 1, fmt.Sprintf("its ISR is %v", isr)
		})
	}
	sent := names("then", 20)
	acked, codes, err := clustertest.Produce(c.Brokers[1].Addr, topic, 0, x.acks, 200*time.Millisecond, sent)
	must(t, err)
	if x.acks == 0 { // the leader has them once its log end says so
		clustertest.Eventually(t, 60*time.Second, "the leader to append", func() (bool, string) {
			return logEnd(c, 1, topic) >= 30, fmt.Sprint(logEnd(c, 1, topic))
		})
	}
	c.Brokers[1].Kill()
	if x.fate != alone {
		clustertest.Eventually(t, 60*time.Second, "a successor", func() (bool, string) {
			l := clustertest.Leader(t, cl, topic, 0)
			return l == 2 || l == 3, fmt.Sprintf("leader %d", l)
		})
	}
	c.Faults.HealAll()
	c.Brokers[1].Start()
	clustertest.AwaitISRStored(t, znodes, topic, 1, 3, 120*time.Second)

	stored := clustertest.ReadAll(t, c.Seeds(), topic, 0)
	lost := 0
	for _, a := range acked {
		if stored[a.Offset] != a.Value {
			lost++
		}
	}
	if x.acks == 0 {
		for _, v := range sent {
			if !slices.Contains(values(stored), v) {
				lost++
			}
		}
	}
	t.Logf("acks=%2d min.insync.replicas=%s: acknowledged %2d, refused %v, lost %2d", x.acks, x.min, len(acked), codes, lost)
	if len(acked) != x.acked || lost != x.lost || x.refused != kafkaerr.None && codes[x.refused] != 20-x.acked {
		t.Errorf("acks=%d min=%s, %s: acknowledged %d refused %v lost %d; want acknowledged %d refused by %v lost %d",
			x.acks, x.min, x.fate, len(acked), codes, lost, x.acked, x.refused, x.lost)
	}
	for _, a := range base {
		if stored[a.Offset] != a.Value {
			t.Errorf("%s, acknowledged by three replicas, is lost", a.Value)
		}
	}
}

func names(prefix string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}

func values(m map[int64]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// logEnd is where a broker's log of a topic ends; -1 where it does not lead.
func logEnd(c *clustertest.InProcess, id int32, topic string) int64 {
	end, _ := leads(c, id, topic)
	return end
}

// leads is the log end and the ISR of a topic that a broker leads; -1 where it does not lead, and no ISR
// while that is being changed.
func leads(c *clustertest.InProcess, id int32, topic string) (end int64, isr []int32) {
	for _, st := range c.Brokers[id].Broker().Replicas().Status() {
		if st.Partition.Topic == topic && st.IsLeader {
			if st.ISRPending {
				return st.LogEnd, nil
			}
			return st.LogEnd, st.ISR
		}
	}
	return -1, nil
}
