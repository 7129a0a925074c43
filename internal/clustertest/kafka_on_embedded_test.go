package clustertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/zk"
	"kz/internal/zktest"
)

// Three brokers of Apache Kafka on `kz zookeeper`: what they leave there is what they left on Apache
// ZooKeeper when they were captured, to the version of each node. One cluster goes through captures that
// began with fresh ones, so each comparison leaves out the topics of the others.
func TestKafkaOnEmbeddedZookeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("three JVMs: not with -short")
	}
	clustertest.ReferenceKafka(t)
	server := zktest.Start(t, zktest.Command(clustertest.Binary(t), "zookeeper"))
	k := &kafkas{T: t, server: server, procs: clustertest.NewProcesses(t, server.Addr), znodes: clustertest.Znodes(t, server.Addr)}
	for id := int32(1); id <= 3; id++ {
		session := "40000" // nobody's may end because the machine is busy
		if id == 2 {
			session = "8000" // it is the one that is killed
		}
		k.procs.Add(id, map[string]string{
			"zookeeper.session.timeout.ms": session, "zookeeper.connection.timeout.ms": "60000", "auto.leader.rebalance.enable": "false",
			"offsets.topic.num.partitions": "1", "controlled.shutdown.retry.backoff.ms": "500",
		}).Become(clustertest.Kafka)
	}
	k.startAndTopics()
	k.reassignment()
	k.deletion()
	k.failures()
	k.restartOfTheServer()
}

// kafkas is the cluster.
type kafkas struct {
	*testing.T
	server *zktest.Server
	procs  *clustertest.Processes
	znodes *zk.Client
	client *kgo.Client
}

func (k *kafkas) start(ids ...int32) {
	k.Helper()
	for _, id := range ids {
		k.procs.Nodes[id].StartServing()
	}
}

// create makes a topic through the API, with these replicas.
func (k *kafkas) create(topic string, assignment ...[]int32) {
	k.Helper()
	must(k.T, clustertest.CreateAssigned(k.client, topic, assignment))
}

// byTool makes a topic as kafka-topics --zookeeper does, in ZooKeeper itself.
func (k *kafkas) byTool(topic string, args ...string) {
	k.Helper()
	args = append([]string{"kafka-topics", "--zookeeper", k.server.Addr, "--create", "--topic", topic}, args...)
	output(k.T, nil, clustertest.ReferenceKafka(k.T), args...)
}

// Brokers come one after the other; topics are made in five ways.
func (k *kafkas) startAndTopics() {
	k.start(1)
	treeBecomes(k.T, k.procs, "01-first-broker")
	k.start(2)
	k.start(3)
	treeBecomes(k.T, k.procs, "02-brokers-2-and-3")

	k.client = k.procs.Client()
	admin := kadm.NewClient(k.client)
	_, err := admin.CreateTopic(k.Context(), 3, 3, nil, "t-api")
	must(k.T, err)
	k.byTool("t-zk", "--partitions", "3", "--replication-factor", "3")
	k.create("t-manual-api", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	k.byTool("t-manual-zk", "--replica-assignment", "3:2:1,2:1:3")
	configs := []string{"retention.ms", "86400000", "cleanup.policy", "compact"}
	must(k.T, clustertest.CreateAssigned(k.client, "t-conf-api", [][]int32{{1}}, configs...))
	k.byTool("t-conf-zk", "--replica-assignment", "2", "--config", "retention.ms=86400000", "--config", "cleanup.policy=compact")
	k.askFor(2, "t-auto")
	treeBecomes(k.T, k.procs, "07-topic-auto-created", anyReplicas("t-api", "t-zk", "t-auto"))
}

// askFor asks one broker for a topic that is not there, as a producer does.
func (k *kafkas) askFor(broker int32, topic string) {
	k.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.AllowAutoTopicCreation = append(req.Topics, rt), true
	ctx, cancel := context.WithTimeout(k.Context(), 60*time.Second)
	defer cancel()
	_, err := k.client.Broker(int(broker)).Request(ctx, req)
	must(k.T, err)
}

// fromTopics are the topics that startAndTopics has left.
var fromTopics = withoutTopics("t-api", "t-zk", "t-manual-api", "t-manual-zk", "t-conf-api", "t-conf-zk", "t-auto")

// Reassignment, by znode and through the API. The captured ones were throttled, which these are not: the
// configs that a throttle leaves are not compared.
func (k *kafkas) reassignment() {
	k.create("r", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	clustertest.AwaitISR(k.T, k.client, "r", 2, 60*time.Second)
	unthrottled := without("/config/brokers", "/config/changes", "/config/topics/r")
	k.write("/admin/reassign_partitions", `{"version":1,"partitions":[{"topic":"r","partition":0,"replicas":[2,3]}]}`)
	treeBecomes(k.T, k.procs, "50-reassign-zookeeper", fromTopics, unthrottled)

	var plan kadm.AlterPartitionAssignmentsReq
	plan.Assign("r", 1, []int32{3, 1})
	plan.Assign("r", 2, []int32{2, 1})
	answers, err := kadm.NewClient(k.client).AlterPartitionAssignments(k.Context(), plan)
	must(k.T, err)
	must(k.T, answers.Error())
	treeBecomes(k.T, k.procs, "52-reassign-api", fromTopics, unthrottled)
}

// write makes a znode, as the tools do.
func (k *kafkas) write(path, data string) {
	k.Helper()
	err := k.znodes.CreateRecursive(k.Context(), path, []byte(data))
	must(k.T, err)
}

// Deletion, through the API and by znode.
func (k *kafkas) deletion() {
	for _, topic := range []string{"d-api", "d-zk", "d-down"} {
		k.create(topic, []int32{1, 2, 3}, []int32{2, 3, 1})
		clustertest.AwaitISR(k.T, k.client, topic, 3, 60*time.Second)
	}
	_, err := kadm.NewClient(k.client).DeleteTopics(k.Context(), "d-api")
	must(k.T, err)
	treeBecomes(k.T, k.procs, "60-delete-api", fromTopics, withoutTopics("r"))
	k.write("/admin/delete_topics/d-zk", "")
	treeBecomes(k.T, k.procs, "61-delete-zookeeper", fromTopics, withoutTopics("r"))
}

// A leader is killed and comes back, a leader and the controller are stopped and come back, and the new
// controller is killed.
func (k *kafkas) failures() {
	k.create("t", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
	clustertest.AwaitISR(k.T, k.client, "t", 3, 60*time.Second)
	others := withoutTopics("r", "d-down")
	kill := func(id int32) { k.procs.Nodes[id].Kill() }
	stop := func(id int32) { k.procs.Nodes[id].Stop() }
	for _, step := range []struct {
		name string
		act  func()
	}{
		{"20-leader-killed", func() { kill(2) }},
		{"21-leader-restarted", func() { k.start(2) }},
		{"22-controlled-shutdown-leader", func() { stop(3) }},
		{"23-restart-after-controlled-shutdown", func() { k.start(3) }},
		{"24-controlled-shutdown-controller", func() { k.secondWins(func() { stop(1) }) }},
		{"25-restart-old-controller", func() { k.start(1) }},
		{"26-controller-killed", func() { kill(2) }},
		{"27-killed-controller-restarted", func() { k.start(2) }},
	} {
		step.act()
		treeBecomes(k.T, k.procs, step.name, fromTopics, others, anyController)
	}
}

// secondWins lets broker 2 win the race for /controller, as in the capture: broker 3 sleeps meanwhile.
func (k *kafkas) secondWins(act func()) {
	third := k.procs.Nodes[3]
	third.Pause()
	defer third.Resume()
	act()
	clustertest.Eventually(k.T, 60*time.Second, "broker 2 to be the controller", func() (bool, string) {
		data, _, err := k.znodes.Get(k.Context(), "/controller")
		return err == nil && strings.Contains(string(data), `"brokerid":2,`), fmt.Sprintf("%s %v", data, err)
	})
}

// The server is stopped and started: every session goes on, nothing is written, and the controller works.
func (k *kafkas) restartOfTheServer() {
	before := k.registered()
	k.server.Stop()
	k.server.StartAgain(k.T)
	treeBecomes(k.T, k.procs, "27-killed-controller-restarted", fromTopics, withoutTopics("r", "d-down"), anyController)
	clustertest.CreateTopic(k.T, k.client, "after", 1, 3)
	if after := k.registered(); after != before {
		k.Errorf("sessions before the restart\n%s\nand after it\n%s", before, after)
	}
	for _, n := range k.procs.Sorted() {
		for _, c := range clustertest.Complaints(k.T, n) {
			if c.Level == "FATAL" {
				k.Errorf("broker %d complains: %s\n%s", n.ID, c.Text, c.Trace)
			}
		}
	}
}

// registered is each session that has ephemerals, with their paths, as the server tells.
func (k *kafkas) registered() string {
	k.Helper()
	dump, err := k.server.Ask("dump")
	must(k.T, err)
	_, ephemerals, _ := strings.Cut(dump, "Sessions with Ephemerals")
	return ephemerals
}
