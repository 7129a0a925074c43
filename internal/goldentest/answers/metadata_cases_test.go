package answers

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
)

func registerMetadata() {
	md := func(name, to string, versions []int16, text string, prepare func(t *T)) {
		add("metadata/"+name, func(t *T) {
			if prepare != nil {
				prepare(t)
			}
			for _, v := range versions {
				t.conn(to).do("Metadata", v, text)
			}
		})
	}
	md("empty-list", "leader", []int16{1, 5, 8, 11}, `{"Topics":[],"AllowAutoTopicCreation":false,"IncludeClusterAuthorizedOperations":true,"IncludeTopicAuthorizedOperations":true}`, nil)
	// All topics: the answer is reduced to this case's topic, others may exist.
	for _, x := range []struct {
		name string
		v    int16
		text string
	}{{"all-v0-empty-list", 0, `{"Topics":[]}`}, {"all-v1-null", 1, `{"Topics":null}`}, {"all-v9-null", 9, `{"Topics":null}`}} {
		add("metadata/"+x.name, func(t *T) {
			t.topic("t", nil)
			r := t.conn("leader").send("Metadata", x.v, x.text).quiet().(*kmsg.MetadataResponse)
			var own []kmsg.MetadataResponseTopic
			for _, tp := range r.Topics {
				if *tp.Topic == t.vars["t"] {
					own = append(own, tp)
				}
			}
			r.Topics = own
			t.note("leader", "Metadata", x.v, x.text, append(t.dump(r), kv{"(note)", "only the topic of this case is shown"}))
		})
	}
	md("unknown-no-auto-create", "leader", []int16{4, 5, 8, 9}, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`, func(t *T) { t.unique("t") })
	for _, v := range []int16{0, 1, 4, 9} {
		add(fmt.Sprintf("metadata/unknown-auto-create-v%d", v), func(t *T) {
			t.unique("t")
			c := t.conn("leader")
			text := `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":true}`
			c.do("Metadata", v, text)
			clustertest.Eventually(t.tb, patience, "the auto created topic", func() (bool, string) {
				tp := c.send("Metadata", v, text).quiet().(*kmsg.MetadataResponse).Topics[0]
				return tp.ErrorCode == 0, fmt.Sprint(errorName(tp.ErrorCode), " ", tp.Partitions)
			})
			r := c.send("Metadata", v, text).quiet().(*kmsg.MetadataResponse).Topics[0]
			t.note("leader", "Metadata", v, "the same, later", obj{{"ErrorCode", errorName(r.ErrorCode)}, {"partitions", len(r.Partitions)}, {"replication factor", len(r.Partitions[0].Replicas)}})
		})
	}
	for i, name := range []string{"", ".", "..", "a b", "a/b", "ü", "a:b", strings.Repeat("x", 249), strings.Repeat("x", 250)} {
		label := name
		if len(name) > 100 {
			label = fmt.Sprint(len(name), " times x")
		}
		add(fmt.Sprintf("metadata/name-%d", i), func(t *T) {
			t.vars["n"] = name
			for _, v := range []int16{4, 9} {
				c := t.conn("leader")
				c.to = "leader, $n is '" + label + "'"
				c.do("Metadata", v, `{"Topics":[{"Topic":"$n"}],"AllowAutoTopicCreation":false}`)
			}
			if name != strings.Repeat("x", 249) {
				c := t.conn("leader")
				c.to = "leader, $n is '" + label + "'"
				c.do("Metadata", 4, `{"Topics":[{"Topic":"$n"}],"AllowAutoTopicCreation":true}`)
			}
		})
	}
	add("metadata/auto-create-colliding-name", func(t *T) {
		t.topic("t", nil)
		x := t.unique("e")
		r := strings.ReplaceAll(x, "-", ".")
		t.vars["dots"], t.vars["scores"] = r, strings.ReplaceAll(x, "-", "_")
		c := t.conn("leader")
		c.do("Metadata", 4, `{"Topics":[{"Topic":"$dots"}],"AllowAutoTopicCreation":true}`)
		t.await(r, 1)
		c.do("Metadata", 4, `{"Topics":[{"Topic":"$scores"}],"AllowAutoTopicCreation":true}`)
	})
	md("same-topic-twice", "leader", []int16{1, 9}, `{"Topics":[{"Topic":"$t"},{"Topic":"$t"}],"AllowAutoTopicCreation":false}`, func(t *T) { t.topic("t", nil) })
	md("known-and-unknown-and-invalid", "follower", []int16{7}, `{"Topics":[{"Topic":"$t"},{"Topic":"$u"},{"Topic":"a b"}],"AllowAutoTopicCreation":false}`, func(t *T) { t.topic("t", nil); t.unique("u") })
	md("authorized-operations", "leader", []int16{8, 10}, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false,"IncludeClusterAuthorizedOperations":true,"IncludeTopicAuthorizedOperations":true}`, func(t *T) { t.topic("t", nil) })
	md("authorized-operations-of-unknown-topic", "leader", []int16{8}, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false,"IncludeTopicAuthorizedOperations":true}`, func(t *T) { t.unique("t") })
	md("topic-id-set", "leader", []int16{10, 11}, `{"Topics":[{"TopicID":"00112233445566778899aabbccddeeff","Topic":"x"}],"AllowAutoTopicCreation":false}`, nil)
	md("name-null", "leader", []int16{10, 11}, `{"Topics":[{"Topic":null}],"AllowAutoTopicCreation":false}`, nil)
	add("metadata/internal-topic", func(t *T) {
		r := t.conn("leader").send("Metadata", 9, `{"Topics":[{"Topic":"__consumer_offsets"}]}`).quiet().(*kmsg.MetadataResponse).Topics[0]
		t.note("leader", "Metadata", 9, "__consumer_offsets", obj{{"ErrorCode", errorName(r.ErrorCode)}, {"IsInternal", r.IsInternal}, {"partitions", len(r.Partitions)}})
	})
	// Replicas on brokers that do not exist: no leader can be elected.
	md("all-replicas-on-missing-brokers", "leader", []int16{4, 5, 7, 9}, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`, noLeader)
	md("some-replicas-on-missing-brokers", "leader", []int16{0, 1, 4, 5, 7, 9}, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`, func(t *T) { t.topic("t", [][]int32{{99, 1, 2}}) })
}

// noLeader makes a topic whose only replicas are on brokers 98 and 99. Its creation times out, and
// no broker ever hears of it.
func noLeader(t *T) {
	t.unique("t")
	t.conn("controller").send("CreateTopics", 4, `{"TimeoutMillis":500,"Topics":[{"Topic":"$t","NumPartitions":-1,"ReplicationFactor":-1,"ReplicaAssignment":[{"Partition":0,"Replicas":[98,99]}]}]}`).get()
}
