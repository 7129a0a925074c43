package znodes

import (
	"context"
	"path"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/wire"
	"kz/internal/zk"
	"kz/zkpaths"
)

// The first broker, two more, topics made in five ways, and partitions added in two.
func TestStartAndTopics(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.step("01-first-broker", func() { c.mustStart("broker-1") })
	c.step("02-brokers-2-and-3", func() { c.mustStart("broker-2", "broker-3") })
	random := randomReplicas("t-api", "t-zk", "t-auto")
	c.step("03-topic-create-api", func() {
		_, err := kadm.NewClient(c.procs.Client()).CreateTopic(context.Background(), 3, 3, nil, "t-api")
		must(c.t, err)
	}, random)
	c.step("04-topic-create-zookeeper", func() {
		c.tool("kafka-topics", "--create", "--topic", "t-zk", "--partitions", "3", "--replication-factor", "3")
	}, random)
	c.step("05-topic-create-assignment", func() {
		c.create("t-manual-api", [][]int32{{1, 2}, {2, 3}, {3, 1}})
		c.tool("kafka-topics", "--create", "--topic", "t-manual-zk", "--replica-assignment", "3:2:1,2:1:3")
		if err := clustertest.CreateAssigned(c.procs.Client(), "t-manual-api", [][]int32{{1, 2}}); err == nil {
			c.t.Error("a topic was created twice")
		}
		c.tool("kafka-topics", "--create", "--topic", "t-manual-zk", "--replica-assignment", "3:2")
	}, random)
	c.step("06-topic-create-configs", func() {
		c.create("t-conf-api", [][]int32{{1}}, "retention.ms", "86400000", "cleanup.policy", "compact")
		c.tool("kafka-topics", "--create", "--topic", "t-conf-zk", "--replica-assignment", "2", "--config", "retention.ms=86400000", "--config", "cleanup.policy=compact")
	}, random)
	c.step("07-topic-auto-created", func() { c.askFor("broker-2", "t-auto") }, random)
	c.step("08-partitions-increase-api", func() {
		_, err := kadm.NewClient(c.procs.Client()).UpdatePartitions(context.Background(), 5, "t-api")
		must(c.t, err)
	}, random, guarded)
	c.step("09-partitions-increase-zookeeper", func() {
		c.tool("kafka-topics", "--alter", "--topic", "t-zk", "--partitions", "5")
	}, random, guarded)
	c.step("10-topic-12-partitions", func() {
		var assignment [][]int32
		for p := range int32(12) {
			assignment = append(assignment, []int32{p%3 + 1})
		}
		c.create("t-twelve", assignment)
	}, random)
	c.write(zk.SetOp(zkpaths.ProducerIDBlock, []byte(`{"version":1,"broker":1,"block_start":"3000","block_end":"3999"}`), zk.AnyVersion)) // as step 11 left it
	c.step("12-offset-commit-v0", func() {
		c.commit("broker-2", "t-api", 0, 42, "some metadata")
		c.commit("broker-2", "t-api", 0, 43, "")
		c.commit("broker-2", "t-api", 1, 7, "")
		if got := c.commit("broker-2", "no-such-topic", 0, 1, ""); got != kafkaerr.UnknownTopicOrPartition {
			c.t.Errorf("of an unknown topic: %v", got)
		}
	}, random)
}

// commit asks one broker, as a consumer of 0.8 does, to keep an offset in ZooKeeper.
func (c *cluster) commit(broker, topic string, partition int32, offset int64, metadata string) kafkaerr.Code {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	conn, err := wire.Dial(ctx, link.TCP{}, c.nodes[broker].Addr, "capture")
	must(c.t, err)
	defer conn.Close()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.SetVersion(0)
	req.Group = "g0"
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Partition, rp.Offset, rp.Metadata = partition, offset, &metadata
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic, rt.Partitions = topic, append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := conn.Do(ctx, req)
	must(c.t, err)
	return kafkaerr.Code(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// write is somebody else's, between two steps.
func (c *cluster) write(op zk.Op) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	must(c.t, c.znodes.Do(ctx, op)[0].Err)
}

// guarded is the one departure here, listed in docs/divergence.md.
var guarded = rule{
	name: "guarded increase",
	why:  "kz adds partitions over the version of the topic that it read, Kafka over any",
	writes: each(func(w *write) {
		if w.Op == "setData" && path.Dir(w.Path) == zkpaths.Topics {
			w.Expected = nil
		}
	}),
	about:   func(_ write, o *op) bool { return o.Op == "setData" && path.Dir(o.Path) == zkpaths.Topics },
	verdict: fidelity.Differs,
	row:     "of two clients that add partitions to one topic at once the last one wins",
}

// askFor asks one broker for a topic's metadata as a producer does, which creates it.
func (c *cluster) askFor(broker, topic string) {
	c.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.nodes[broker].Addr))
	must(c.t, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics, req.AllowAutoTopicCreation = append(req.Topics, rt), true
	_, err = cl.SeedBrokers()[0].Request(ctx, req)
	must(c.t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
