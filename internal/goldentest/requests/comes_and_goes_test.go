package requests

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/kafkaerr"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// stand is the cluster as it was before phase 14: after a reassignment, which kz refuses. What a
// state znode says, and how often it had been written.
var stand = []struct {
	topic      string
	replicas   []int32
	leader     int32
	epoch      int32
	isr        []int32
	zkVersion  int32
	partitions int32 // this one's number
}{
	{"pre", []int32{1, 2}, 1, 1, []int32{1, 2}, 2, 0},
	{"pre", []int32{2, 1}, 2, 2, []int32{1, 2}, 3, 1},
	{"m", []int32{1, 2}, 1, 3, []int32{1, 2}, 6, 0},
	{"m", []int32{9, 1}, 9, 0, []int32{9, 1}, 0, 1},
	{"m", []int32{1, 9}, 1, 4, []int32{1, 9}, 6, 2},
	{"m", []int32{2, 9}, 2, 2, []int32{2, 9}, 5, 3},
	{"m", []int32{9, 2}, 9, 1, []int32{9, 2}, 2, 4},
}

// Phases 14 to 24, 31 and 32, without 25 to 30, in which no controller speaks. kz is broker 1, the
// controller; brokers 2 and 9 are foreign. What leaders write in these phases the test writes:
// followers that kz would count do not exist here.
func TestBrokerComesAndGoes(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: the controller's stories play these phases in memory")
	}
	t.Parallel()
	server := zktest.Start(t)
	znodes := clustertest.Znodes(t, server.Addr)
	g := &goer{t: t, znodes: znodes, phases: &phases{t: t, b: listen(t), golden: readGolden(t), sheet: fidelity.Open(t, "requests/comes-and-goes")}}
	arrange(t, znodes)
	register(t, znodes, 2, listen(t).addr)
	g.epoch = register(t, znodes, 9, g.b.addr)
	c := clustertest.NewProcesses(t, server.Addr)
	c.Add(1, map[string]string{"auto.leader.rebalance.enable": "false", "zookeeper.connection.timeout.ms": "60000",
		"replica.lag.time.max.ms": "3600000", // nobody fetches from this leader, and it is not to mind
		"request.timeout.ms":      "10000",   // of a silent broker
	}).StartServing()
	g.client = c.Client()
	g.await(3) // what a new controller tells everybody
	g.quiet()

	g.logDirFailsAndListenerCloses()
	g.silence()
	g.shutsDownAndReturns()
	g.losesItsSession()
	g.errors()
}

// arrange writes the topics and the states of stand, each with its number of writes.
func arrange(t *testing.T, znodes *zk.Client) {
	t.Helper()
	ctx := context.Background()
	for _, path := range zkpaths.PersistentPaths() {
		must(t, znodes.CreateRecursive(ctx, path, nil))
	}
	topics := map[string]zkpaths.TopicAssignment{}
	for _, s := range stand {
		if topics[s.topic].Partitions == nil {
			topics[s.topic] = zkpaths.TopicAssignment{Partitions: map[int32][]int32{}}
		}
		topics[s.topic].Partitions[s.partitions] = s.replicas
	}
	for name, a := range topics {
		must(t, znodes.CreateRecursive(ctx, zkpaths.Topics+"/"+name, a.Encode()))
	}
	for _, s := range stand {
		path := zkpaths.PartitionStatePath(s.topic, s.partitions)
		data := zkpaths.PartitionState{ControllerEpoch: 1, Leader: s.leader, LeaderEpoch: s.epoch, ISR: s.isr}.Encode()
		must(t, znodes.CreateRecursive(ctx, path, data))
		for v := range s.zkVersion {
			_, err := znodes.Set(ctx, path, data, v)
			must(t, err)
		}
	}
}

// goer is broker 9 in these phases.
type goer struct {
	t      *testing.T
	znodes *zk.Client
	client *kgo.Client
	*phases
}

func (g *goer) create(topic string, assignment ...[]int32) {
	g.t.Helper()
	must(g.t, clustertest.CreateAssigned(g.client, topic, assignment))
}

// notify is the announcement of ISR changes by their leaders.
func (g *goer) notify(partitions ...zkpaths.TopicPartition) {
	g.t.Helper()
	_, err := g.znodes.CreateSequential(context.Background(), zkpaths.ISRChangePrefix, zkpaths.EncodeISRChange(partitions))
	must(g.t, err)
}

func (g *goer) preferred(partitions ...zkpaths.TopicPartition) {
	g.t.Helper()
	must(g.t, g.znodes.CreateRecursive(context.Background(), zkpaths.PreferredReplicaElection, zkpaths.EncodePreferredElection(partitions)))
}

func (g *goer) leave() {
	g.t.Helper()
	must(g.t, g.znodes.Delete(context.Background(), zkpaths.Broker(9), zk.AnyVersion))
}

func (g *goer) enter() {
	g.t.Helper()
	g.epoch = register(g.t, g.znodes, 9, g.b.addr)
}

// isr is a leader's write of its ISR.
func (g *goer) isr(topic string, p int32, isr ...int32) {
	g.t.Helper()
	setISR(g.t, g.znodes, topic, p, isr...)
}

func tp(topic string, p int32) zkpaths.TopicPartition {
	return zkpaths.TopicPartition{Topic: topic, Partition: p}
}

// all is what is elected in the captured preferred elections.
var all = []zkpaths.TopicPartition{tp("pre", 0), tp("pre", 1), tp("x1", 0), tp("x2", 0), tp("m", 0), tp("m", 1), tp("m", 2), tp("m", 3), tp("m", 4)}

func (g *goer) logDirFailsAndListenerCloses() {
	g.phase("14", func() {
		_, err := g.znodes.CreateSequential(context.Background(), zkpaths.LogDirEventPrefix, zkpaths.EncodeLogDirEvent(9))
		must(g.t, err)
		g.await(2)
		g.notify(tp("m", 0))
	})
	g.phase("15", func() { g.b.close(); g.create("x1", []int32{1, 9}) })
	g.phase("16", g.b.listen)
}

func (g *goer) silence() {
	g.phase("17", func() { g.b.setMute(true); g.create("x2", []int32{9, 1}) })
	g.phase("18", func() { g.b.setMute(false) })
}

func (g *goer) shutsDownAndReturns() {
	g.phase("19", func() {
		req := kmsg.NewPtrControlledShutdownRequest()
		req.BrokerID, req.BrokerEpoch = 9, g.epoch
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		resp, err := g.client.Broker(1).Request(ctx, req)
		must(g.t, err)
		if r := resp.(*kmsg.ControlledShutdownResponse); r.ErrorCode != 0 || len(r.PartitionsRemaining) != 0 {
			g.t.Errorf("the answer to ControlledShutdown: %+v", r)
		}
		g.await(5)
		g.isr("m", 4, 2, 9)
		g.notify(tp("m", 4))
	})
	g.phase("20", func() {
		g.isr("x2", 0, 1, 9)
		g.isr("m", 1, 1, 9)
		g.leave()
	})
	g.phase("21", func() {
		g.enter()
		g.await(3)
		g.isr("x2", 0, 1, 9)
		g.notify(tp("x2", 0), tp("m", 1))
	})
	g.phase("22", func() {
		g.isr("m", 4, 2, 9)
		g.isr("m", 1, 1, 9)
		g.preferred(all...)
		g.await(2)
		g.isr("m", 3, 2, 9)
		g.notify(tp("m", 4), tp("m", 3))
		g.await(3)
		g.isr("x1", 0, 1, 9)
		g.isr("m", 2, 1, 9)
		g.notify(tp("x1", 0), tp("x2", 0), tp("m", 2), tp("m", 1))
	})
}

func (g *goer) losesItsSession() {
	g.phase("23", func() {
		g.leave()
		g.quiet()
		g.enter()
		g.await(3)
		g.isr("x1", 0, 1, 9)
		g.isr("x2", 0, 1, 9)
		g.isr("m", 1, 1, 9)
		g.isr("m", 2, 1, 9)
		g.notify(tp("x1", 0), tp("x2", 0), tp("m", 2), tp("m", 1))
		g.await(4)
		g.isr("m", 4, 2, 9)
		g.preferred(all...)
		g.await(6)
		g.isr("m", 3, 2, 9)
		g.notify(tp("m", 4), tp("m", 3))
	})
	g.phase("24", func() {
		g.leave()
		g.enter()
		g.await(3)
		g.isr("x2", 0, 1, 9)
		g.isr("m", 4, 2, 9)
		g.isr("m", 1, 1, 9)
		g.preferred(all...)
		g.await(5)
		g.isr("x1", 0, 1, 9)
		g.isr("m", 2, 1, 9)
		g.notify(tp("x1", 0), tp("x2", 0), tp("m", 2), tp("m", 1))
		g.await(6)
		g.isr("m", 3, 2, 9)
		g.notify(tp("m", 4), tp("m", 3))
	})
}

// errors: broker 9 answers LeaderAndIsr with an error for each partition, and with one for all.
func (g *goer) errors() {
	g.b.setReply(func(req kmsg.Request, resp kmsg.Response) {
		r, ok := resp.(*kmsg.LeaderAndISRResponse)
		if !ok {
			return
		}
		for _, ts := range req.(*kmsg.LeaderAndISRRequest).TopicStates {
			for _, p := range ts.PartitionStates {
				r.Partitions = append(r.Partitions, kmsg.LeaderAndISRResponseTopicPartition{Topic: ts.Topic, Partition: p.Partition, ErrorCode: int16(kafkaerr.KafkaStorageError)})
			}
		}
	})
	g.phase("31", func() { g.create("x3", []int32{9, 1}, []int32{1, 9}) })
	g.b.setReply(func(_ kmsg.Request, resp kmsg.Response) {
		if r, ok := resp.(*kmsg.LeaderAndISRResponse); ok {
			r.ErrorCode = int16(kafkaerr.StaleBrokerEpoch)
		}
	})
	g.phase("32", func() { g.create("x4", []int32{1, 9}) })
}
