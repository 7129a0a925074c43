package mixedtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// A cell is one mixed cluster of three brokers, one load on it, and what looks at it.
type cell struct {
	*testing.T
	zk     *zktest.Server
	znodes *zk.Client
	c      *clustertest.Processes
	cl     *kgo.Client
	load   *clustertest.Workload
	seats  map[int32]clustertest.Kind // the kind each broker has in this cell, also under KZ_MIXED=kafka
	topics []string                   // all that were created
	random *rand.Rand                 // moments and victims
	kills  int
}

// newCell starts brokers 1, 2, 3 of these kinds; the first is the controller.
func newCell(t *testing.T, kinds ...clustertest.Kind) *cell {
	t.Helper()
	needsKafka(t)
	x := &cell{T: t, zk: zktest.Start(t), seats: map[int32]clustertest.Kind{}}
	x.c = clustertest.NewProcesses(t, x.zk.Addr)
	for i, k := range kinds {
		x.seats[int32(i+1)] = k
		if os.Getenv("KZ_MIXED") == "kafka" {
			k = clustertest.Kafka
		}
		n := x.c.Add(int32(i+1), quick())
		n.Become(k)
		n.Start()
		if i == 0 {
			x.c.AwaitBrokers(60*time.Second, 1)
		}
	}
	x.c.AwaitBrokers(60*time.Second, x.c.IDs()...)
	x.cl = x.c.Client()
	x.znodes = clustertest.Znodes(t, x.zk.Addr)
	if got := x.c.Controller(30 * time.Second); got != 1 {
		t.Fatalf("broker %d is the controller, although 1 was there first", got)
	}
	return x
}

// A kz controller over followers and leaders that run Apache Kafka.
func TestKzControlsKafka(t *testing.T) {
	x := newCell(t, clustertest.KZ, clustertest.Kafka, clustertest.Kafka)
	x.topicsByEveryWay()
	x.everyCodec()
	x.preferredElection(x.byZnode)
	x.startLoad()
	x.underLoad(func() { x.makeController(1) })
	x.verdict()
}

// A controller that runs Apache Kafka over kz followers and leaders.
func TestKafkaControlsKz(t *testing.T) {
	x := newCell(t, clustertest.Kafka, clustertest.KZ, clustertest.KZ)
	x.topicsByEveryWay()
	x.everyCodec()
	x.preferredElection(x.byKafkasTool)
	x.reassignAndDelete()
	x.startLoad()
	x.underLoad(func() { x.makeController(1) })
	x.verdict()
}

// The controller moves from one kind to the other and back, under load; each reigns over acts of its own.
func TestControllerMovesBetweenKinds(t *testing.T) {
	x := newCell(t, clustertest.KZ, clustertest.Kafka, clustertest.KZ)
	x.topicsByEveryWay()
	x.startLoad()
	for _, to := range []int32{2, 1} { // deposed in peace
		x.makeController(to)
		x.create(fmt.Sprintf("reign-of-%d", to), 3, 3)
		x.preferredElection(x.byZnode)
		x.controlledShutdown(x.aNodeOf(other(x.seats[to])))
		x.makeController(to)
	}
	for round := range clustertest.Rounds(t, 4) {
		role := []role{aLeader, aFollower}[round/4%2]
		switch round % 4 {
		case 0: // dies in office, and the other kind takes over what it left
			x.killController(2)
		case 1: // Kafka reigns
			x.kill(x.victim(role, clustertest.KZ))
			x.makeController(2)
		case 2:
			x.killController(1)
		case 3: // kz reigns
			x.kill(x.victim(role, clustertest.Kafka))
			x.makeController(1)
		}
	}
	x.eachKind(x.frozenBeyondItsSession)
	x.everyCodec()
	x.verdict()
}

// makeController lets broker id win the next election: the others are frozen while the office is vacant.
// The old controller wakes up as a zombie.
func (x *cell) makeController(id int32) {
	x.Helper()
	if x.c.Controller(30*time.Second) == id {
		return
	}
	x.electWhile(id, x.vacate)
	x.settled()
}

// vacate deletes /controller, as operators do.
func (x *cell) vacate() {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), 10*time.Second)
	defer cancel()
	must(x.T, x.znodes.Delete(ctx, zkpaths.Controller, zk.AnyVersion))
}

// electWhile freezes all brokers but id, makes the office vacant, and thaws them when id holds it.
func (x *cell) electWhile(id int32, vacate func()) {
	x.Helper()
	var frozen []*clustertest.Node
	for _, n := range x.c.Sorted() {
		if n.ID != id && n.Running() {
			n.Pause()
			frozen = append(frozen, n)
		}
	}
	vacate()
	eventually(x.T, 20*time.Second, fmt.Sprintf("broker %d to become controller", id), func() (bool, string) {
		ctx, cancel := context.WithTimeout(x.Context(), 5*time.Second)
		defer cancel()
		data, _, err := x.znodes.Get(ctx, zkpaths.Controller)
		if err != nil {
			return false, err.Error()
		}
		info, err := zkpaths.DecodeControllerInfo(data)
		return err == nil && info.BrokerID == id, string(data)
	})
	for _, n := range frozen {
		if n.Running() {
			n.Resume()
		}
	}
	eventually(x.T, 60*time.Second, "every broker to know the controller", func() (bool, string) {
		got := x.c.Controller(60 * time.Second)
		return got == id, fmt.Sprintf("%d", got)
	})
}

// create makes a topic through a broker and remembers it.
func (x *cell) create(name string, partitions int32, rf int16, configs ...string) {
	x.Helper()
	clustertest.CreateTopic(x.T, x.cl, name, partitions, rf, configs...)
	x.topics = append(x.topics, name)
}

// settled waits until every partition of every topic has all its replicas in sync, in ZooKeeper and in
// what the brokers say.
func (x *cell) settled() {
	x.Helper()
	for _, topic := range x.topics {
		eventually(x.T, 90*time.Second, topic+" to be in sync everywhere", func() (bool, string) {
			parts, err := clustertest.Partitions(x.cl, topic)
			if err != nil {
				return false, err.Error()
			}
			states, err := clustertest.States(x.znodes, topic, int32(len(parts)))
			if err != nil {
				return false, err.Error()
			}
			for i, p := range parts {
				if s := states[i]; s.Leader < 0 || len(s.ISR) != len(p.Replicas) {
					return false, fmt.Sprintf("partition %d of %v: %s", i, p.Replicas, s.Encode())
				}
			}
			return len(parts) > 0, "no partitions"
		})
	}
}
