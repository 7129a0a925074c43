package controller

import (
	"fmt"
	"strings"
	"testing"

	"kz/internal/topic"
	"kz/zkpaths"
)

// batchCluster: brokers 1 and 2 live, 3 shutting down; t-0 on 1,2,3 led by 1.
func batchCluster() (*cluster, topic.Partition) {
	c := newCluster()
	c.epoch = 7
	for id := int32(1); id <= 3; id++ {
		c.brokers[id] = liveBroker{id: id, epoch: int64(100 + id), info: zkpaths.BrokerInfo{
			Endpoints:   []zkpaths.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9090 + id}, {Listener: "EXTRA", Host: "x", Port: 9190 + id}},
			SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT", "EXTRA": "SASL_SSL"},
			Rack:        map[int32]string{1: "r1"}[id],
		}}
	}
	c.shuttingDown[3] = true
	p := topic.Partition{Topic: "t", Partition: 0}
	c.setAssignment(p, assignment{replicas: []int32{1, 2, 3}})
	c.leadership[p] = leaderISR{leader: 1, leaderEpoch: 4, isr: []int32{1, 2}, controllerEpoch: 6, version: 9}
	return c, p
}

// Ref: Kafka 2.8 ControllerChannelManager.scala (AbstractControllerBrokerRequestBatch) and its
// ControllerChannelManagerTest.
func TestBatch(t *testing.T) {
	for _, tt := range []struct {
		name string
		fill func(b *batch, p topic.Partition)
		want string
	}{
		{"nothing sends nothing", func(*batch, topic.Partition) {}, ``},
		{"LeaderAndIsr to replicas, UpdateMetadata to all, brokers in shutdown included",
			func(b *batch, p topic.Partition) { b.leaderAndISR([]int32{1, 3}, p, b.cluster.leadership[p], false) }, `
			1 LeaderAndIsr v4 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3]} liveLeaders [1]
			3 LeaderAndIsr v4 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3]} liveLeaders [1]
			1 UpdateMetadata v6 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] offline [3]} live [1,2,3]
			2 UpdateMetadata v6 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] offline [3]} live [1,2,3]
			3 UpdateMetadata v6 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] offline [3]} live [1,2,3]`},
		{"what was new stays new; the later state wins",
			func(b *batch, p topic.Partition) {
				b.leaderAndISR([]int32{2}, p, leaderISR{leader: 9, isr: []int32{9}}, true)
				b.leaderAndISR([]int32{2}, p, b.cluster.leadership[p], false)
				b.metadataTo = nil
			}, `
			2 LeaderAndIsr v4 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] isNew true} liveLeaders [1]`},
		{"a broker that is not registered gets nothing",
			func(b *batch, p topic.Partition) {
				b.leaderAndISR([]int32{8, noLeader}, p, b.cluster.leadership[p], false)
				b.metadataTo = map[int32]bool{8: true}
				b.stopReplica(8, p, false)
				b.stopReplica(noLeader, p, false)
			}, ``},
		{"what was to be deleted stays so; the epoch is the cached one",
			func(b *batch, p topic.Partition) { b.stopReplica(2, p, true); b.stopReplica(2, p, false) }, `
			2 StopReplica v3 controller 5 epoch 7; t-0{leaderEpoch 4 delete true}`},
		{"StopReplica without known leadership has epoch -1",
			func(b *batch, p topic.Partition) { b.stopReplica(2, topic.Partition{Topic: "new"}, false) }, `
			2 StopReplica v3 controller 5 epoch 7; new-0{leaderEpoch -1 delete false}`},
		{"a partition without leadership has no metadata, the live brokers are told",
			func(b *batch, p topic.Partition) { b.updateMetadata([]int32{1}, topic.Partition{Topic: "new"}) }, `
			1 UpdateMetadata v6 controller 5 epoch 7; no partitions; live [1,2,3]`},
		{"order: LeaderAndIsr to all, UpdateMetadata to all, StopReplica to all",
			func(b *batch, p topic.Partition) {
				b.stopReplica(1, p, false)
				b.leaderAndISR([]int32{2}, p, b.cluster.leadership[p], false)
				b.metadataTo = map[int32]bool{1: true}
			}, `
			2 LeaderAndIsr v4 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3]} liveLeaders [1]
			1 UpdateMetadata v6 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] offline [3]} live [1,2,3]
			1 StopReplica v3 controller 5 epoch 7; t-0{leaderEpoch 4 delete false}`},
		{"a failed log directory makes the replica offline",
			func(b *batch, p topic.Partition) {
				b.cluster.offlineDirs[2] = map[topic.Partition]bool{p: true}
				b.updateMetadata([]int32{1}, p)
			}, `
			1 UpdateMetadata v6 controller 5 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3] offline [2,3]} live [1,2,3]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p := batchCluster()
			b := newBatch(c)
			tt.fill(b, p)
			tr := newTranslator(Config{BrokerID: 5, InterBrokerListener: "PLAINTEXT"}, c)
			var got []string
			for _, m := range b.flush() {
				if m.brokerEpoch != int64(100+m.broker) {
					t.Errorf("request to %d has broker epoch %d", m.broker, m.brokerEpoch)
				}
				got = append(got, fmt.Sprintf("%d %s", m.broker, describeRequest(tr.request(m))))
			}
			var want []string
			for line := range strings.Lines(tt.want) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// Every listener goes into UpdateMetadata, with Kafka's number of its protocol.
func TestLiveBrokers(t *testing.T) {
	c, _ := batchCluster()
	live := newTranslator(Config{InterBrokerListener: "PLAINTEXT"}, c).allLive()
	first := live[0]
	if first.Rack == nil || *first.Rack != "r1" || live[1].Rack != nil {
		t.Error("racks: want r1 and null")
	}
	if got := fmt.Sprintf("%+v", first.Endpoints); !strings.Contains(got, "ListenerName:EXTRA SecurityProtocol:3") || !strings.Contains(got, "ListenerName:PLAINTEXT SecurityProtocol:0") {
		t.Errorf("endpoints %s", got)
	}
	if id := securityProtocol(zkpaths.BrokerInfo{}, zkpaths.Endpoint{Listener: "SSL"}); id != 1 {
		t.Errorf("a listener without map entry is named after its protocol: got %d", id)
	}
}
