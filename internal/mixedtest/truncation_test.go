package mixedtest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// A pair is a leader and a follower of two kinds, and a controller that takes no part (broker 3).
type pair struct {
	*testing.T
	znodes *zk.Client
	zk     *zktest.Server
	c      *clustertest.Processes
	cl     *kgo.Client
}

// underEither runs a test under a controller of each kind; the short form of it has one only.
func underEither(t *testing.T, short clustertest.Kind, test func(*testing.T, *pair)) {
	t.Helper()
	needsKafka(t)
	for _, k := range []clustertest.Kind{clustertest.KZ, clustertest.Kafka} {
		if k == short || clustertest.Rounds(t, 1) > 1 {
			t.Run(string(k)+" controls", func(t *testing.T) { test(t, newPair(t, k)) })
		}
	}
}

func newPair(t *testing.T, controller clustertest.Kind) *pair {
	t.Helper()
	x := &pair{T: t, zk: zktest.Start(t)}
	x.c = clustertest.NewProcesses(t, x.zk.Addr)
	props := quick("zookeeper.session.timeout.ms", "6000", "replica.lag.time.max.ms", "60000", "log.segment.bytes", "16384") // nobody leaves the ISR by being slow
	for _, id := range []int32{3, 1, 2} {
		n := x.c.Add(id, props)
		if id == 2 || id == 3 && controller == clustertest.Kafka || os.Getenv("KZ_MIXED") == "kafka" {
			n.Become(clustertest.Kafka)
		}
		n.Start()
		x.c.AwaitBrokers(60*time.Second, id)
	}
	x.c.AwaitBrokers(60*time.Second, 1, 2, 3)
	x.cl, x.znodes = x.c.Client(), clustertest.Znodes(t, x.zk.Addr)
	return x
}

// A leader dies with records that its follower never fetched; the follower leads on in a new epoch, in
// segments of its own; the old leader comes back far behind and far ahead at once. It must cut exactly
// what nobody else has, by asking for the end of its epoch, and fetch the rest.
func TestDivergedLeaderComesBackToTheOtherKind(t *testing.T) {
	underEither(t, clustertest.KZ, divergence)
}

func divergence(t *testing.T, x *pair) {
	for i, way := range x.bothWays() {
		t.Logf("broker %d (%s) leads, %d (%s) takes over", way[0].ID, way[0].Kind, way[1].ID, way[1].Kind)
		topic := fmt.Sprintf("diverged-%d", i)
		x.assign(topic, way[0], way[1])
		x.epochs(topic, way[0], way[1])
		x.diverge(topic, way[0], way[1])
	}
	x.verdict()
}

// The last in-sync replica dies; the other, which had left the ISR before, may lead because the topic
// allows unclean elections. The dead one comes back and cuts what the new leader never had.
func TestUncleanElectionAcrossKinds(t *testing.T) {
	underEither(t, clustertest.Kafka, uncleanElection)
}

func uncleanElection(t *testing.T, x *pair) {
	for i, way := range x.bothWays() {
		leader, late := way[0], way[1]
		t.Logf("broker %d (%s) is the last in sync, %d (%s) is elected uncleanly", leader.ID, leader.Kind, late.ID, late.Kind)
		topic := fmt.Sprintf("unclean-%d", i)
		x.assign(topic, leader, late, "unclean.leader.election.enable", "true")
		x.produce(leader, topic, "both", 300)
		late.Kill()
		clustertest.AwaitISRStored(t, x.znodes, topic, 1, 1, 60*time.Second, leader.ID)
		alone := x.produce(leader, topic, "alone", 500)
		leader.Kill()
		x.led(topic, -1)
		late.StartServing()
		x.led(topic, late.ID)
		then := x.produce(late, topic, "then", 300)
		leader.StartServing()
		clustertest.AwaitISRStored(t, x.znodes, topic, 1, 2, 60*time.Second)
		x.equal(topic)
		x.mustHaveCut(leader, topic)
		x.holds(topic, then)
		if stored := clustertest.ReadAll(t, x.c.Seeds(), topic, 0); stored[alone[0].Offset] == alone[0].Value {
			t.Errorf("%s, which only the dead leader had, survived an unclean election", alone[0].Value)
		}
	}
	x.verdict()
}

// bothWays is leader and successor: kz before Kafka, Kafka before kz.
func (x *pair) bothWays() [][2]*clustertest.Node {
	kz, kafka := x.c.Nodes[1], x.c.Nodes[2]
	return [][2]*clustertest.Node{{kz, kafka}, {kafka, kz}}
}

func (x *pair) assign(topic string, leader, follower *clustertest.Node, configs ...string) {
	x.Helper()
	must(x.T, clustertest.CreateAssigned(x.cl, topic, [][]int32{{leader.ID, follower.ID}}, configs...))
	clustertest.AwaitISRStored(x.T, x.znodes, topic, 1, 2, 60*time.Second)
}

// epochs lets the two lead in turn, so that both logs hold several epochs: by a controlled stop of the
// leader, its return, and a preferred election.
func (x *pair) epochs(topic string, a, b *clustertest.Node) {
	x.Helper()
	x.produce(a, topic, "first-reign", 300)
	a.Stop()
	x.led(topic, b.ID)
	x.produce(b, topic, "second-reign", 300)
	a.StartServing()
	clustertest.AwaitISRStored(x.T, x.znodes, topic, 1, 2, 60*time.Second)
	ctx, cancel := context.WithTimeout(x.Context(), 10*time.Second)
	defer cancel()
	asked := zkpaths.EncodePreferredElection([]zkpaths.TopicPartition{{Topic: topic, Partition: 0}})
	must(x.T, x.znodes.Do(ctx, zk.CreateOp(zkpaths.PreferredReplicaElection, asked))[0].Err)
	x.led(topic, a.ID)
}

// diverge is the act itself.
func (x *pair) diverge(topic string, leader, successor *clustertest.Node) {
	x.Helper()
	common := x.produce(leader, topic, "common", 300)
	x.equal(topic)
	successor.Pause() // shorter than its session
	alone := x.produce(leader, topic, "alone", 400)
	leader.Kill()
	successor.Resume()
	x.led(topic, successor.ID)
	then := x.produce(successor, topic, "then", 700)
	if then[0].Offset > alone[len(alone)/2].Offset {
		x.Fatalf("the successor had the records up to %d: the logs hardly diverge", then[0].Offset)
	}
	leader.StartServing()
	clustertest.AwaitISRStored(x.T, x.znodes, topic, 1, 2, 60*time.Second)
	x.equal(topic)
	x.mustHaveCut(leader, topic)
	x.holds(topic, common)
	x.holds(topic, then)
}

// produce sends n records to one broker with acks=1, each in a request of its own.
func (x *pair) produce(n *clustertest.Node, topic, prefix string, count int) []clustertest.Ack {
	x.Helper()
	var values []string
	for i := range count {
		values = append(values, fmt.Sprintf("%s-%d-%s", prefix, i, strings.Repeat(".", 100)))
	}
	var acks []clustertest.Ack
	eventually(x.T, 60*time.Second, fmt.Sprintf("broker %d to take records", n.ID), func() (bool, string) {
		got, codes, err := clustertest.Produce(n.Addr, topic, 0, 1, 5*time.Second, values[:1])
		acks = got
		return err == nil && len(got) == 1 && codes[kafkaerr.None] == 0, fmt.Sprint(codes, err)
	})
	got, codes, err := clustertest.Produce(n.Addr, topic, 0, 1, 5*time.Second, values[1:])
	must(x.T, err)
	if len(got) != count-1 {
		x.Fatalf("broker %d (%s) took %d of %d records: %v", n.ID, n.Kind, len(got), count-1, codes)
	}
	return append(acks, got...)
}

// led waits until the state znode names this leader.
func (x *pair) led(topic string, id int32) {
	x.Helper()
	eventually(x.T, 60*time.Second, fmt.Sprintf("leader %d of %s", id, topic), func() (bool, string) {
		states, err := clustertest.States(x.znodes, topic, 1)
		if err != nil {
			return false, err.Error()
		}
		return states[0].Leader == id, string(states[0].Encode())
	})
}

// equal waits until both replicas hold the same bytes and the same epochs.
func (x *pair) equal(topic string) {
	x.Helper()
	x.c.ReplicasEqual(x.cl, topic, 60*time.Second)
	eventually(x.T, 30*time.Second, "the same leader epochs in both checkpoints", func() (bool, string) {
		a, b := x.epochFile(1, topic), x.epochFile(2, topic)
		return len(a) > 0 && bytes.Equal(a, b), fmt.Sprintf("kz has %q, Kafka %q", a, b)
	})
}

func (x *pair) epochFile(id int32, topic string) []byte {
	b, err := os.ReadFile(filepath.Join(x.c.Nodes[id].LogDir, topic+"-0", "leader-epoch-checkpoint"))
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// mustHaveCut reads from the node's own records that it truncated the partition.
func (x *pair) mustHaveCut(n *clustertest.Node, topic string) {
	x.Helper()
	cut := 0
	if n.Kind == clustertest.KZ {
		for _, ev := range x.c.Events(x.T) {
			if ev.Kind == journal.Truncation && ev.Node == n.ID && ev.Topic == topic {
				cut++
			}
		}
	} else {
		b, err := os.ReadFile(n.Log)
		must(x.T, err)
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "[Log partition="+topic+"-0,") && strings.Contains(line, "Truncating to offset ") {
				cut++
			}
		}
	}
	if cut == 0 {
		x.Errorf("broker %d (%s) kept no word of a truncation of %s: nothing diverged", n.ID, n.Kind, topic)
	}
}

// holds says that these records stand at their offsets.
func (x *pair) holds(topic string, acks []clustertest.Ack) {
	x.Helper()
	stored := clustertest.ReadAll(x.T, x.c.Seeds(), topic, 0)
	for _, a := range acks {
		if stored[a.Offset] != a.Value {
			x.Fatalf("%.20s at %d is lost (there: %.20s)", a.Value, a.Offset, stored[a.Offset])
		}
	}
}

func (x *pair) verdict() {
	x.Helper()
	sameMetadata(x.T, x.c)
	znodesAlike(x.T, x.zk.DataDir(), x.c)
	uncomplaining(x.T, x.c)
	kzErrors(x.T, x.c)
}
