package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/zk"
)

func str(s string) *string { return &s }

func on(partition int32, replicas ...int32) PartitionReplicas {
	return PartitionReplicas{partition, replicas}
}

// one creates a single topic without waiting.
func (r room) one(t *testing.T, topic NewTopic, validateOnly bool) Result {
	t.Helper()
	var out []Result
	r.CreateTopics([]NewTopic{topic}, 0, validateOnly, func(results []Result) { out = results })
	if len(out) != 1 {
		t.Fatalf("%d results", len(out))
	}
	return out[0]
}

// Ref: what Kafka 2.8.2 answered to CreateTopics, in its order of precedence
func TestCreateTopicsRefuses(t *testing.T) {
	counts := func(name string, partitions int32, rf int16) NewTopic {
		return NewTopic{Name: name, Partitions: partitions, ReplicationFactor: rf}
	}
	assigned := func(ps ...PartitionReplicas) NewTopic {
		return NewTopic{Name: "a", Partitions: UseDefault, ReplicationFactor: UseDefault, Assignment: ps}
	}
	configured := func(name string, value *string) NewTopic {
		n := counts("a", 1, 1)
		n.Configs = []ConfigEntry{{name, value}}
		return n
	}
	both := assigned(on(0, 1))
	both.Partitions = 1
	all := counts("a b", 0, 9)
	all.Configs = []ConfigEntry{{"x", str("y")}}
	for _, row := range []struct {
		rule    string
		topic   NewTopic
		code    kafkaerr.Code
		message string
	}{
		{"replicas above the brokers", counts("a", 1, 4), kafkaerr.InvalidReplicationFactor, "Replication factor: 4 larger than available brokers: 3."},
		{"no replicas", counts("a", 1, 0), kafkaerr.InvalidReplicationFactor, "Replication factor must be larger than 0."},
		{"no partitions", counts("a", 0, 1), kafkaerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"partitions come before replicas", counts("a", 0, 9), kafkaerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"and before the name and the configs", all, kafkaerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"empty name", counts("", 1, 1), kafkaerr.InvalidTopicException, "Topic name is illegal, it can't be empty"},
		{"dots", counts("..", 1, 1), kafkaerr.InvalidTopicException, "Topic name cannot be \".\" or \"..\""},
		{"a blank", counts("a b", 1, 1), kafkaerr.InvalidTopicException, "Topic name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"},
		{"a topic in the cache", counts("cached", 0, 9), kafkaerr.TopicAlreadyExists, "Topic 'cached' already exists."},
		{"a topic in ZooKeeper", counts("stored", 1, 1), kafkaerr.TopicAlreadyExists, "Topic 'stored' already exists."},
		{"metric names", counts("do_t", 1, 1), kafkaerr.InvalidTopicException, "Topic 'do_t' collides with existing topics: do.t"},
		{"counts and assignment", both, kafkaerr.InvalidRequest, "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time."},
		{"uneven", assigned(on(0, 1, 2), on(1, 1)), kafkaerr.InvalidReplicaAssignment, "All partitions should have the same number of replicas"},
		{"not from 0", assigned(on(1, 1)), kafkaerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence"},
		{"a gap", assigned(on(0, 1), on(2, 1)), kafkaerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence"},
		{"negative", assigned(on(-1, 1)), kafkaerr.UnknownServerError, ""},
		{"null config", configured("retention.ms", nil), kafkaerr.InvalidRequest, "Null value not supported for topic configs : retention.ms"},
		{"unknown config", configured("no.such.config", str("1")), kafkaerr.InvalidConfig, "Unknown topic config name: no.such.config"},
		{"bad config", configured("segment.bytes", str("10")), kafkaerr.InvalidConfig, "Invalid value 10 for configuration segment.bytes: Value must be at least 14"},
		{"more than a znode holds", counts("a", 1<<30, 1), kafkaerr.InvalidPartitions, "Number of partitions must be at most 45590 with replication factor 1: all must fit into one znode."},
	} {
		t.Run(row.rule, func(t *testing.T) {
			r := newRoom(t)
			r.lead("cached", 1, 1)
			r.tree.put("/brokers/topics/stored", "{}")
			r.tree.put("/brokers/topics/do.t", "{}")
			got := r.one(t, row.topic, false)
			if kafkaerr.CodeOf(got.Err) != row.code || kafkaerr.MessageOf(got.Err) != row.message {
				t.Errorf("got %v", got.Err)
			}
			if w := r.tree.written(); len(w) > 0 || got.Configs != nil && row.code != kafkaerr.None {
				t.Errorf("a refused topic left %q", w)
			}
		})
	}
	r := newRoom(t)
	got := r.one(t, assigned(on(0, 1, 1)), false) // Kafka shows Scala's collections here: only the code is kept
	if kafkaerr.CodeOf(got.Err) != kafkaerr.InvalidReplicaAssignment {
		t.Errorf("a broker twice: %v", got.Err)
	}
}

// Ref: the capture of `kafka-topics --create` with an assignment: config first, then the assignment
func TestCreateWritesConfigFirst(t *testing.T) {
	r := newRoom(t)
	got := r.one(t, NewTopic{Name: "t", Partitions: UseDefault, ReplicationFactor: UseDefault,
		Assignment: []PartitionReplicas{on(0, 9), on(0, 2, 3, 1), on(1, 3, 1, 2)},
		Configs:    []ConfigEntry{{"retention.ms", str("1")}, {"retention.ms", str("86400000")}, {"cleanup.policy", str("compact")}}}, false)
	if got.Err != errTimedOut || got.Partitions != 2 || got.ReplicationFactor != 3 {
		t.Errorf("timeout 0 must answer REQUEST_TIMED_OUT although the topic stands: %+v", got)
	}
	want := []string{
		`set /config/topics/t {"version":1,"config":{"cleanup.policy":"compact","retention.ms":"86400000"}} FAILS ` + zk.NoNode.Error(),
		`create /config/topics/t {"version":1,"config":{"cleanup.policy":"compact","retention.ms":"86400000"}}`,
		`create /brokers/topics/t {"partitions":{"0":[2,3,1],"1":[3,1,2]},"adding_replicas":{},"removing_replicas":{},"version":3}`,
	}
	if w := r.tree.written(); !slices.Equal(w, want) {
		t.Errorf("wrote\n%s", strings.Join(w, "\n"))
	}
}

func TestCreateWithDefaultsAndValidateOnly(t *testing.T) {
	r := newRoom(t, "num.partitions", "4", "default.replication.factor", "2")
	got := r.one(t, NewTopic{Name: "t", Partitions: UseDefault, ReplicationFactor: UseDefault}, true)
	if got.Err != nil || got.Partitions != 4 || got.ReplicationFactor != 2 || len(got.Configs) != 26 {
		t.Errorf("%+v", got)
	}
	if w := r.tree.written(); len(w) > 0 {
		t.Errorf("validate only wrote %q", w)
	}
}

// A create whose answer was lost finds its own node: that is success.
func TestCreateReadsBackItsOwnEcho(t *testing.T) {
	r := newRoom(t)
	r.tree.echo["/brokers/topics/t"] = true
	a := Assignment{0: {1}}
	if err := r.topics.Create(context.Background(), "t", a, nil); err != nil {
		t.Error(err)
	}
	r.tree.put("/brokers/topics/u", "somebody else's")
	err := r.topics.write(context.Background(), "u", a, nil)
	if kafkaerr.CodeOf(err) != kafkaerr.TopicAlreadyExists {
		t.Errorf("somebody else's topic: %v", err)
	}
}

// Ref: Kafka 2.8 DelayedCreatePartitions
func TestCreateWaitsForLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		topics := []NewTopic{{Name: "a", Partitions: 2, ReplicationFactor: 1}, {Name: "b", Partitions: 1, ReplicationFactor: 1}, {Name: "bad", Partitions: 0, ReplicationFactor: 1}}
		answers := make(chan string, 1)
		start := time.Now()
		r.CreateTopics(topics, 10*time.Second, false, func(rs []Result) {
			answers <- fmt.Sprint(kafkaerr.CodeOf(rs[0].Err), kafkaerr.CodeOf(rs[1].Err), kafkaerr.CodeOf(rs[2].Err), time.Since(start))
		})
		r.lead("a", 2, 1)
		r.lead("b", 1, -1) // known, but nobody leads it
		synctest.Wait()
		select {
		case a := <-answers:
			t.Fatalf("answered too early: %s", a)
		default:
		}
		time.Sleep(3 * time.Second)
		r.lead("b", 1, 2)
		if got := <-answers; got != "NONE NONE INVALID_PARTITIONS 3s" {
			t.Errorf("got %s", got)
		}
	})
}

func TestCreateTimesOutPerTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		answers := make(chan string, 1)
		start := time.Now()
		r.CreateTopics([]NewTopic{{Name: "a", Partitions: 1, ReplicationFactor: 1}, {Name: "b", Partitions: 1, ReplicationFactor: 1}}, 2*time.Second, false, func(rs []Result) {
			answers <- fmt.Sprint(kafkaerr.CodeOf(rs[0].Err), kafkaerr.CodeOf(rs[1].Err), time.Since(start))
		})
		r.lead("a", 1, 1)
		if got := <-answers; got != "NONE REQUEST_TIMED_OUT 2s" {
			t.Errorf("got %s", got)
		}
	})
}

func TestStopAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		var got error
		r.CreateTopics([]NewTopic{{Name: "a", Partitions: 1, ReplicationFactor: 1}}, time.Hour, false, func(rs []Result) { got = rs[0].Err })
		r.Stop()
		if kafkaerr.CodeOf(got) != kafkaerr.RequestTimedOut {
			t.Errorf("got %v", got)
		}
	})
}

// Ref: what Kafka 2.8.2 answered to CreatePartitions of a topic with partitions 0 and 1 on two brokers each
func TestCreatePartitionsRefuses(t *testing.T) {
	more := func(count int32, a ...[]int32) MorePartitions {
		return MorePartitions{Name: "t", Count: count, Assignment: a}
	}
	for _, row := range []struct {
		rule    string
		more    MorePartitions
		code    kafkaerr.Code
		message string
	}{
		{"as many as there are", more(2), kafkaerr.InvalidPartitions, "Topic already has 2 partitions."},
		{"fewer", more(1), kafkaerr.InvalidPartitions, "Topic currently has 2 partitions, which is higher than the requested 1."},
		{"negative", more(-1), kafkaerr.InvalidPartitions, "Topic currently has 2 partitions, which is higher than the requested -1."},
		{"unknown topic", MorePartitions{Name: "x", Count: 4}, kafkaerr.UnknownTopicOrPartition, "The topic 'x' does not exist."},
		{"impossible topic", MorePartitions{Name: "a b", Count: 4}, kafkaerr.UnknownTopicOrPartition, "The topic 'a b' does not exist."},
		{"no topic", MorePartitions{Name: "", Count: 4}, kafkaerr.UnknownTopicOrPartition, "The topic '' does not exist."},
		{"too few assignments", MorePartitions{Name: "t", Count: 3, Assignment: [][]int32{}}, kafkaerr.InvalidReplicaAssignment, "Increasing the number of partitions by 1 but 0 assignments provided."},
		{"too many assignments", more(3, []int32{1, 2}, []int32{1, 2}), kafkaerr.InvalidReplicaAssignment, "Increasing the number of partitions by 1 but 2 assignments provided."},
		{"fewer replicas", more(3, []int32{1}), kafkaerr.InvalidReplicaAssignment, "Inconsistent replication factor between partitions, partition 0 has 2 while partitions [2] have replication factors [1], respectively."},
		{"no replicas", more(3, []int32{}), kafkaerr.InvalidReplicaAssignment, "Cannot have replication factor of 0 for partition id 2."},
		{"a broker twice", more(3, []int32{1, 1}), kafkaerr.InvalidReplicaAssignment, "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 2."},
		{"unknown brokers come before counts", more(4, []int32{1, 99}), kafkaerr.InvalidReplicaAssignment, "Unknown broker(s) in replica assignment: 99."},
		{"under reassignment", MorePartitions{Name: "moving", Count: 9}, kafkaerr.ReassignmentInProgress, "A partition reassignment is in progress for the topic 'moving'."},
		{"more than a znode holds", more(1 << 30), kafkaerr.InvalidPartitions, "Number of partitions must be at most 30840 with replication factor 2: all must fit into one znode."},
	} {
		t.Run(row.rule, func(t *testing.T) {
			r := newRoom(t)
			r.tree.put("/brokers/topics/t", `{"version":3,"partitions":{"0":[1,2],"1":[2,3]}}`)
			r.tree.put("/brokers/topics/moving", `{"version":3,"partitions":{"0":[1,2]},"adding_replicas":{"0":[2]},"removing_replicas":{}}`)
			r.CreatePartitions([]MorePartitions{row.more}, 0, false, func(rs []Result) {
				if kafkaerr.CodeOf(rs[0].Err) != row.code || kafkaerr.MessageOf(rs[0].Err) != row.message {
					t.Errorf("got %v", rs[0].Err)
				}
			})
			if w := r.tree.written(); len(w) > 0 {
				t.Errorf("wrote %q", w)
			}
		})
	}
}

func TestCreatePartitionsRewritesTheAssignment(t *testing.T) {
	r := newRoom(t)
	r.tree.put("/brokers/topics/t", `{"version":3,"partitions":{"0":[2,3,1],"1":[3,1,2],"2":[1,2,3]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"}`)
	var err error
	r.CreatePartitions([]MorePartitions{{Name: "t", Count: 5}}, 0, false, func(rs []Result) { err = rs[0].Err })
	if kafkaerr.CodeOf(err) != kafkaerr.RequestTimedOut {
		t.Errorf("got %v", err)
	}
	w := r.tree.written()
	if len(w) != 1 || !strings.HasPrefix(w[0], "set /brokers/topics/t ") || !strings.Contains(w[0], `"3":[2,3,1],"4":[3,1,2]`) || !strings.Contains(w[0], `"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"`) {
		t.Errorf("wrote %q", w)
	}
}

// Kafka lets the last of two writers win: partitions that the first one made, and that
// hold records by then, vanish from the znode.
func TestPartitionsAreAddedToWhatSomebodyElseAddedMeanwhile(t *testing.T) {
	for _, row := range []struct {
		rule  string
		rival string
		count int32
		code  kafkaerr.Code
		node  string
	}{
		{"fewer than we want: we add the rest", `{"version":3,"partitions":{"0":[1],"1":[3]}}`, 3, kafkaerr.None, `"partitions":{"0":[1],"1":[3],"2":[3]}`},
		{"more than we want: we refuse", `{"version":3,"partitions":{"0":[1],"1":[3],"2":[3]}}`, 2, kafkaerr.InvalidPartitions, `"partitions":{"0":[1],"1":[3],"2":[3]}`},
	} {
		t.Run(row.rule, func(t *testing.T) {
			r := newRoom(t)
			r.tree.put("/brokers/topics/t", `{"version":3,"partitions":{"0":[1]}}`)
			r.tree.rival = map[string]string{"/brokers/topics/t": row.rival}
			_, err := r.topics.AddPartitions(context.Background(), MorePartitions{Name: "t", Count: row.count}, []Broker{{ID: 1}, {ID: 2}, {ID: 3}}, false)
			if kafkaerr.CodeOf(err) != row.code {
				t.Errorf("got %v", err)
			}
			if data, _, _ := r.tree.Get(context.Background(), "/brokers/topics/t"); !strings.Contains(string(data), row.node) {
				t.Errorf("the znode is %s", data)
			}
		})
	}
}

// A write whose answer was lost finds its own data over the version it was made for.
func TestAddPartitionsReadsBackItsOwnEcho(t *testing.T) {
	r := newRoom(t)
	r.tree.put("/brokers/topics/t", `{"version":3,"partitions":{"0":[1]}}`)
	r.tree.echo["/brokers/topics/t"] = true
	all, err := r.topics.AddPartitions(context.Background(), MorePartitions{Name: "t", Count: 2}, []Broker{{ID: 1}, {ID: 2}}, false)
	if err != nil || len(all) != 2 {
		t.Errorf("got %v, %v", all, err)
	}
}

// Ref: Kafka 2.8 DefaultAutoTopicCreationManager
func TestAutoCreate(t *testing.T) {
	r := newRoom(t, "offsets.topic.num.partitions", "2", "num.partitions", "3")
	if !r.claim("busy") {
		t.Fatal()
	}
	got := r.AutoCreate([]string{"new", "a b", "busy", "__consumer_offsets"})
	want := map[string]kafkaerr.Code{"new": kafkaerr.LeaderNotAvailable, "a b": kafkaerr.InvalidTopicException,
		"busy": kafkaerr.UnknownTopicOrPartition, "__consumer_offsets": kafkaerr.LeaderNotAvailable}
	for name, code := range want {
		if got[name] != code {
			t.Errorf("%s: %s, want %s", name, got[name], code)
		}
	}
	c, err := r.topics.Config(context.Background(), "__consumer_offsets")
	if err != nil || c["cleanup.policy"] != "compact" || c["segment.bytes"] != "104857600" || c["compression.type"] != "producer" {
		t.Errorf("config of __consumer_offsets: %v, %v", c, err)
	}
	a, ok, err := r.topics.Assignment(context.Background(), "new")
	if err != nil || !ok || len(a.Partitions) != 3 {
		t.Errorf("assignment of new: %v, %v", a, err)
	}
	if again := r.AutoCreate([]string{"new"}); again["new"] != kafkaerr.LeaderNotAvailable {
		t.Errorf("a topic that stands by now: %v", again)
	}
	few := newRoom(t, "default.replication.factor", "4")
	if got := few.AutoCreate([]string{"t"}); got["t"] != kafkaerr.InvalidReplicationFactor {
		t.Errorf("too few brokers: %v", got)
	}
}
