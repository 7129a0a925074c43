package mixedtest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zk"
	"kz/zkpaths"
)

// topicsByEveryWay makes and grows topics by both kinds' tools, through brokers of both kinds and past
// them, and lets both tools describe them through every broker.
func (x *cell) topicsByEveryWay() {
	x.Helper()
	seed := func(k clustertest.Kind) string { return x.aNodeOf(k).Addr }
	zookeeper := []string{"--zookeeper", x.zk.Addr}
	broker := func(k clustertest.Kind) []string { return []string{"--bootstrap-server", seed(k)} }
	for _, way := range []struct {
		name string
		tool func(args ...string) string
		at   []string
	}{
		{"kz-tool-by-kafka-broker", x.kzTool, broker(clustertest.Kafka)},
		{"kz-tool-by-kz-broker", x.kzTool, broker(clustertest.KZ)},
		{"kz-tool-by-zookeeper", x.kzTool, zookeeper},
		{"kafka-tool-by-kz-broker", x.kafkaTool, broker(clustertest.KZ)},
		{"kafka-tool-by-zookeeper", x.kafkaTool, zookeeper},
	} {
		out := way.tool(append([]string{"--create", "--topic", way.name, "--partitions", "2", "--replication-factor", "3", "--config", "min.insync.replicas=2", "--config", "segment.bytes=65536"}, way.at...)...)
		if !strings.Contains(out, "Created topic "+way.name+".") {
			x.Errorf("%s says %q", way.name, out)
		}
		x.topics = append(x.topics, way.name)
	}
	x.settled()
	x.kzTool(append([]string{"--alter", "--topic", "kz-tool-by-kafka-broker", "--partitions", "4"}, broker(clustertest.Kafka)...)...)
	x.kzTool(append([]string{"--alter", "--topic", "kafka-tool-by-zookeeper", "--partitions", "4"}, broker(clustertest.KZ)...)...)
	x.kzTool(append([]string{"--alter", "--topic", "kafka-tool-by-kz-broker", "--partitions", "3"}, zookeeper...)...)
	x.kafkaTool(append([]string{"--alter", "--topic", "kz-tool-by-zookeeper", "--partitions", "3"}, zookeeper...)...)
	for topic, n := range map[string]int{"kz-tool-by-kafka-broker": 4, "kafka-tool-by-zookeeper": 4, "kafka-tool-by-kz-broker": 3, "kz-tool-by-zookeeper": 3} {
		eventually(x.T, 30*time.Second, fmt.Sprintf("%d partitions of %s", n, topic), func() (bool, string) {
			parts, err := clustertest.Partitions(x.cl, topic)
			return err == nil && len(parts) == n, fmt.Sprintf("%d, %v", len(parts), err)
		})
	}
	x.settled()
	want := x.kafkaTool(append([]string{"--describe"}, broker(clustertest.KZ)...)...)
	if !strings.Contains(want, "Topic: kafka-tool-by-zookeeper\tPartition: 3\tLeader: ") {
		x.Errorf("kafka-topics --describe through kz prints:\n%s", want)
	}
	for _, n := range x.c.Sorted() {
		if got := x.kzTool("--describe", "--bootstrap-server", n.Addr); sortedLines(got) != sortedLines(want) {
			x.Errorf("kz topics --describe through broker %d (%s) prints\n%s\nkafka-topics --describe through kz\n%s", n.ID, n.Kind, got, want)
		}
	}
}

func (x *cell) kzTool(args ...string) string    { x.Helper(); return kzTopics(x.T, args...) }
func (x *cell) kafkaTool(args ...string) string { x.Helper(); return kafkaTopics(x.T, args...) }

// aNodeOf is the first broker of a kind.
func (x *cell) aNodeOf(k clustertest.Kind) *clustertest.Node {
	for _, n := range x.c.Sorted() {
		if x.seats[n.ID] == k {
			return n
		}
	}
	x.Fatalf("no broker of kind %s", k)
	return nil
}

var codecs = []struct {
	name  string
	codec kgo.CompressionCodec
}{
	{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
	{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
}

// everyCodec produces with acks=all and each codec to partitions that brokers of both kinds lead, and
// reads them back from the leaders.
func (x *cell) everyCodec() {
	x.Helper()
	const partitions, each = 3, 400
	x.create("codecs", partitions, 3, "min.insync.replicas", "2", "segment.bytes", "65536")
	want := map[int32][]string{}
	for _, codec := range codecs {
		cl := x.c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchCompression(codec.codec), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerLinger(5*time.Millisecond))
		var records []*kgo.Record
		for i := range each {
			for p := range int32(partitions) {
				value := fmt.Sprintf("%s-%d-%s", codec.name, i, strings.Repeat("ab", i%50))
				records = append(records, &kgo.Record{Topic: "codecs", Partition: p, Value: []byte(value)})
				want[p] = append(want[p], value)
			}
		}
		ctx, cancel := context.WithTimeout(x.Context(), 60*time.Second)
		must(x.T, cl.ProduceSync(ctx, records...).FirstErr())
		cancel()
		cl.Close()
	}
	leaders := map[clustertest.Kind]bool{}
	for p := range int32(partitions) {
		leaders[x.seats[clustertest.Leader(x.T, x.cl, "codecs", p)]] = true
		got := clustertest.ReadAll(x.T, x.c.Seeds(), "codecs", p)
		for i, value := range want[p] {
			if got[int64(i)] != value {
				x.Fatalf("codecs-%d: %q at offset %d, want %q", p, got[int64(i)], i, value)
			}
		}
	}
	if len(leaders) != 2 {
		x.Errorf("only %v led: the other kind was not tried", leaders)
	}
}

// preferredElection moves leaders by a restart of broker 3 and asks for the preferred ones.
func (x *cell) preferredElection(ask func(topic string, partitions ...int32)) {
	x.Helper()
	const topic = "preferred"
	if len(x.topics) == 0 || !strings.Contains(strings.Join(x.topics, ","), topic) {
		must(x.T, clustertest.CreateAssigned(x.cl, topic, [][]int32{{3, 1, 2}, {3, 2, 1}, {1, 2, 3}}))
		x.topics = append(x.topics, topic)
		x.settled()
	}
	x.c.Nodes[3].Stop()
	x.leads(topic, 0, 1, 2)
	x.c.Nodes[3].StartServing()
	x.settled()
	ask(topic, 0, 1, 2)
	x.leads(topic, 0, 3)
	x.leads(topic, 1, 3)
	x.leads(topic, 2, 1)
}

// byZnode asks as kafka-preferred-replica-election.sh does: it writes /admin/preferred_replica_election and
// waits until the controller has removed it.
func (x *cell) byZnode(topic string, partitions ...int32) {
	x.Helper()
	var asked []zkpaths.TopicPartition
	for _, p := range partitions {
		asked = append(asked, zkpaths.TopicPartition{Topic: topic, Partition: p})
	}
	ctx, cancel := context.WithTimeout(x.Context(), 30*time.Second)
	defer cancel()
	must(x.T, x.znodes.Do(ctx, zk.CreateOp(zkpaths.PreferredReplicaElection, zkpaths.EncodePreferredElection(asked)))[0].Err)
	eventually(x.T, 30*time.Second, "the controller to take the election", func() (bool, string) {
		_, there, err := x.znodes.Exists(ctx, zkpaths.PreferredReplicaElection)
		return err == nil && !there, fmt.Sprint(err)
	})
}

// byKafkasTool asks with kafka-leader-election.sh, which a kz broker tells who the controller is.
func (x *cell) byKafkasTool(topic string, partitions ...int32) {
	x.Helper()
	for _, p := range partitions[:1] { // a JVM each
		out := output(x.T, clustertest.ReferenceKafka(x.T), "kafka-leader-election", "--bootstrap-server", x.aNodeOf(clustertest.KZ).Addr,
			"--election-type", "preferred", "--topic", topic, "--partition", fmt.Sprint(p))
		if !strings.Contains(out, fmt.Sprintf("Successfully completed leader election (PREFERRED) for partitions %s-%d", topic, p)) {
			x.Errorf("kafka-leader-election says %q", out)
		}
	}
	x.byZnode(topic, partitions[1:]...)
}

// leads waits until one of these brokers leads the partition.
func (x *cell) leads(topic string, partition int32, ids ...int32) {
	x.Helper()
	eventually(x.T, 30*time.Second, fmt.Sprintf("one of %v to lead %s-%d", ids, topic, partition), func() (bool, string) {
		leader := clustertest.Leader(x.T, x.cl, topic, partition)
		for _, id := range ids {
			if leader == id {
				return true, ""
			}
		}
		return false, fmt.Sprintf("broker %d leads", leader)
	})
}

// controlledShutdown stops a broker with SIGTERM. Its partitions have other leaders before it is gone, so
// that the load hardly notices.
func (x *cell) controlledShutdown(n *clustertest.Node) {
	x.Helper()
	x.Logf("SIGTERM to broker %d (%s)", n.ID, n.Kind)
	n.Stop()
	if gone, why := n.Unregistered(); !gone {
		x.Errorf("broker %d (%s) stopped and left its registration: %s", n.ID, n.Kind, why)
	}
	for _, topic := range x.topics {
		eventually(x.T, 5*time.Second, "others to lead all partitions", func() (bool, string) {
			parts, err := clustertest.Partitions(x.cl, topic)
			if err != nil {
				return false, err.Error()
			}
			for _, p := range parts {
				if p.Leader == n.ID || p.Leader < 0 {
					return false, fmt.Sprintf("%s-%d has leader %d after the controlled shutdown of %d (%s)", topic, p.Partition, p.Leader, n.ID, n.Kind)
				}
			}
			return true, ""
		})
	}
	x.load.AwaitEveryPartition(x.T, 60*time.Second)
	n.StartServing()
	x.settled()
}

// frozenBeyondItsSession stops a broker's process until ZooKeeper has given it up, and thaws it: a zombie
// that leads, follows and perhaps controls.
func (x *cell) frozenBeyondItsSession(n *clustertest.Node) {
	x.Helper()
	x.Logf("SIGSTOP to broker %d (%s)", n.ID, n.Kind)
	n.Pause()
	eventually(x.T, 60*time.Second, "its session to end", n.Unregistered)
	x.load.AwaitEveryPartition(x.T, 90*time.Second)
	n.Resume()
	eventually(x.T, 60*time.Second, "it to register again", func() (bool, string) {
		gone, why := n.Unregistered()
		return !gone, why
	})
	x.settled()
	x.load.AwaitEveryPartition(x.T, 60*time.Second)
}
