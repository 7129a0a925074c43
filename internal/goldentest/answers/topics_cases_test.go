package answers

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// create adds a case of one CreateTopics after the other.
func create(name string, topics ...string) {
	add("createtopics/"+name, func(t *T) {
		for _, n := range []string{"a", "b"} {
			t.unique(n)
		}
		c := t.conn("controller")
		for _, x := range topics {
			timeout := "10000"
			if strings.Contains(name, "empty-replicas") || strings.Contains(name, "negative-broker") {
				timeout = "500" // no leader ever appears
			}
			p := c.send("CreateTopics", 5, `{"TimeoutMillis":`+timeout+`,"Topics":[`+x+`]}`)
			p.onlyOverrides(p.quiet().(*kmsg.CreateTopicsResponse))
		}
	})
}

func registerCreateTopics() {
	create("ok-with-defaults", `{"Topic":"$a","NumPartitions":-1,"ReplicationFactor":-1}`)
	create("ok-with-configs", `{"Topic":"$a","NumPartitions":2,"ReplicationFactor":3,"Configs":[{"Name":"retention.ms","Value":"1000"},{"Name":"cleanup.policy","Value":"compact,delete"},{"Name":"compression.type","Value":"lz4"}]}`)
	create("existing", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1}`)
	create("twice-in-request", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1},{"Topic":"$a","NumPartitions":2,"ReplicationFactor":1}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1},{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1},{"Topic":"$b","NumPartitions":1,"ReplicationFactor":1}`)
	create("replication-factor", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":4}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":0}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":-2}`)
	create("partitions", `{"Topic":"$a","NumPartitions":0,"ReplicationFactor":1}`, `{"Topic":"$a","NumPartitions":-2,"ReplicationFactor":1}`, `{"Topic":"$a","NumPartitions":0,"ReplicationFactor":9}`)
	var names []string
	for _, n := range []string{"", ".", "..", "a b", "a/b", "a,b", "ü", strings.Repeat("x", 250), "__consumer_offsets"} {
		names = append(names, fmt.Sprintf(`{"Topic":"%s","NumPartitions":1,"ReplicationFactor":1}`, n))
	}
	create("names", names...)
	create("name-249", `{"Topic":"$a`+strings.Repeat("y", 249-len("ans-xxxxxx-xxxx-a"))+`","NumPartitions":1,"ReplicationFactor":1}`)
	create("name-250", `{"Topic":"$a`+strings.Repeat("y", 250-len("ans-xxxxxx-xxxx-a"))+`","NumPartitions":1,"ReplicationFactor":1}`)
	add("createtopics/dot-underscore-collision", func(t *T) {
		x := t.unique("a")
		t.vars["dotted"], t.vars["scored"] = strings.ReplaceAll(x, "-", "."), strings.ReplaceAll(x, "-", "_")
		c := t.conn("controller")
		c.do("CreateTopics", 5, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$dotted","NumPartitions":1,"ReplicationFactor":1}]}`)
		c.do("CreateTopics", 5, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$scored","NumPartitions":1,"ReplicationFactor":1}]}`)
		c.do("CreateTopics", 5, `{"TimeoutMillis":10000,"ValidateOnly":true,"Topics":[{"Topic":"$scored","NumPartitions":1,"ReplicationFactor":1}]}`)
	})
}

func registerCreateTopicsAssigned() {
	asg := func(list string, more string) string {
		return `{"Topic":"$a","NumPartitions":-1,"ReplicationFactor":-1,"ReplicaAssignment":[` + list + `]` + more + `}`
	}
	create("assignment-and-counts", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":-1,"ReplicaAssignment":[{"Partition":0,"Replicas":[1]}]}`, `{"Topic":"$a","NumPartitions":-1,"ReplicationFactor":1,"ReplicaAssignment":[{"Partition":0,"Replicas":[1]}]}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1,"ReplicaAssignment":[{"Partition":0,"Replicas":[1]}]}`)
	create("assignment-duplicate-replica", asg(`{"Partition":0,"Replicas":[1,1]}`, ""))
	create("assignment-uneven", asg(`{"Partition":0,"Replicas":[1,2]},{"Partition":1,"Replicas":[1]}`, ""))
	create("assignment-empty-replicas", asg(`{"Partition":0,"Replicas":[]}`, ""))
	create("assignment-not-from-0", asg(`{"Partition":1,"Replicas":[1]}`, ""))
	create("assignment-gap", asg(`{"Partition":0,"Replicas":[1]},{"Partition":2,"Replicas":[1]}`, ""))
	create("assignment-partition-twice", asg(`{"Partition":0,"Replicas":[1]},{"Partition":0,"Replicas":[2]}`, ""))
	create("assignment-negative-partition", asg(`{"Partition":-1,"Replicas":[1]}`, ""))
	create("assignment-negative-broker", asg(`{"Partition":0,"Replicas":[-1]}`, ""))
	create("assignment-unknown-broker", strings.Replace(asg(`{"Partition":0,"Replicas":[1,99]}`, ""), "$a", "$b", 1))
	create("assignment-ok", asg(`{"Partition":0,"Replicas":[2,1]},{"Partition":1,"Replicas":[3,2]}`, ""))
	cfg := func(k, v string) string {
		if v != "null" {
			v = `"` + v + `"`
		}
		return `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1,"Configs":[{"Name":"` + k + `","Value":` + v + `}]}`
	}
	create("config-unknown", cfg("no.such.config", "1"))
	create("config-bad-value", cfg("retention.ms", "abc"), cfg("retention.ms", "-2"), cfg("segment.bytes", "10"), cfg("cleanup.policy", "foo"), cfg("compression.type", "brotli"), cfg("min.insync.replicas", "0"), cfg("unclean.leader.election.enable", "maybe"), cfg("message.format.version", "9.9"), cfg("message.timestamp.type", "x"), cfg("min.cleanable.dirty.ratio", "2"), cfg("leader.replication.throttled.replicas", "x"))
	create("config-cleanup-policy-empty", cfg("cleanup.policy", ""))
	create("config-null", cfg("retention.ms", "null"))
	create("config-twice", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1,"Configs":[{"Name":"retention.ms","Value":"1"},{"Name":"retention.ms","Value":"2"}]}`)
	create("config-format-above-ibp", cfg("message.format.version", "2.8"))
	create("config-broker-name", cfg("log.retention.ms", "1000"))
	create("several-errors-at-once", `{"Topic":"a b","NumPartitions":0,"ReplicationFactor":9,"Configs":[{"Name":"x","Value":"y"}]}`, `{"Topic":"$a","NumPartitions":0,"ReplicationFactor":9,"Configs":[{"Name":"x","Value":"y"}]}`, `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":9,"Configs":[{"Name":"x","Value":"y"}]}`)
	create("good-and-bad", `{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1},{"Topic":"$b","NumPartitions":0,"ReplicationFactor":1}`)
}

func registerCreateTopicsMore() {
	add("createtopics/empty-request", func(t *T) {
		t.conn("controller").do("CreateTopics", 5, `{"TimeoutMillis":10000,"Topics":[]}`)
	})
	add("createtopics/validate-only", func(t *T) {
		t.unique("a")
		c := t.conn("controller")
		for _, v := range []int16{1, 4, 5, 7} {
			c.do("CreateTopics", v, `{"TimeoutMillis":10000,"ValidateOnly":true,"Topics":[{"Topic":"$a","NumPartitions":2,"ReplicationFactor":2}]}`)
		}
		c.do("CreateTopics", 4, `{"TimeoutMillis":10000,"ValidateOnly":true,"Topics":[{"Topic":"$a","NumPartitions":2,"ReplicationFactor":9}]}`)
		c.do("Metadata", 4, `{"Topics":[{"Topic":"$a"}],"AllowAutoTopicCreation":false}`)
	})
	add("createtopics/partitions-minus-1-before-v4", func(t *T) {
		t.unique("a")
		c := t.conn("controller")
		for _, v := range []int16{0, 3} {
			c.do("CreateTopics", v, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$a","NumPartitions":-1,"ReplicationFactor":-1}]}`)
		}
	})
	add("createtopics/not-controller", func(t *T) {
		t.unique("a")
		t.conn("not the controller").do("CreateTopics", 5, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1}]}`)
		t.conn("not the controller").do("CreateTopics", 1, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$a","NumPartitions":0,"ReplicationFactor":1}]}`)
	})
	add("createtopics/timeout-0", func(t *T) {
		for _, to := range []string{"0", "-1"} {
			t.unique("a")
			c := t.conn("controller")
			c.do("CreateTopics", 5, `{"TimeoutMillis":`+to+`,"Topics":[{"Topic":"$a","NumPartitions":1,"ReplicationFactor":1}]}`)
			t.await(t.vars["a"], 1)
			t.note("controller", "Metadata", 4, "the topic", "exists a moment later")
		}
	})
}

func registerDeleteTopics() {
	del := func(name, to string, v int16, text string) {
		add("deletetopics/"+name, func(t *T) { t.topic("t", nil); t.conn(to).do("DeleteTopics", v, text) })
	}
	del("unknown", "controller", 5, `{"TimeoutMillis":5000,"TopicNames":["$t-missing","a b",""]}`)
	del("twice-in-request", "controller", 5, `{"TimeoutMillis":5000,"TopicNames":["$t","$t"]}`)
	del("not-controller", "not the controller", 5, `{"TimeoutMillis":5000,"TopicNames":["$t","$t-missing"]}`)
	del("timeout-0", "controller", 5, `{"TimeoutMillis":0,"TopicNames":["$t"]}`)
	del("empty", "controller", 5, `{"TimeoutMillis":5000,"TopicNames":[]}`)
	del("v6-id-and-name", "controller", 6, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","TopicID":"00112233445566778899aabbccddeeff"}]}`)
	del("v6-by-unknown-id", "controller", 6, `{"TimeoutMillis":5000,"Topics":[{"Topic":null,"TopicID":"00112233445566778899aabbccddeeff"}]}`)
	del("v6-neither", "controller", 6, `{"TimeoutMillis":5000,"Topics":[{"Topic":null}]}`)
	add("deletetopics/again", func(t *T) {
		t.topic("t", nil)
		c := t.conn("controller")
		c.do("DeleteTopics", 5, `{"TimeoutMillis":10000,"TopicNames":["$t"]}`)
		c.do("DeleteTopics", 5, `{"TimeoutMillis":10000,"TopicNames":["$t"]}`)
		c.do("Metadata", 4, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`)
	})
	add("deletetopics/produce-and-fetch-afterwards", func(t *T) {
		t.topic("t", nil)
		t.conn("controller").do("DeleteTopics", 5, `{"TimeoutMillis":10000,"TopicNames":["$t"]}`)
		for id := range t.env.address {
			t.until("the topic to be forgotten", func() bool {
				r := t.conn(fmt.Sprint("broker ", id)).send("Metadata", 7, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`).quiet().(*kmsg.MetadataResponse)
				return r.Topics[0].ErrorCode == 3
			})
		}
		t.bin["records"] = newBatch("a").bytes()
		t.conn("leader").do("Produce", 8, oneProduce)
		t.conn("leader").do("Fetch", 11, fetchAll)
		t.conn("leader").do("ListOffsets", 5, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":-1}]}]}`)
	})
}

func registerCreatePartitions() {
	parts := func(name string, texts ...string) {
		add("createpartitions/"+name, func(t *T) {
			t.topic("t", [][]int32{{1, 2}, {2, 3}})
			for _, x := range texts {
				t.conn("controller").do("CreatePartitions", 1, `{"TimeoutMillis":10000,"Topics":[`+x+`]}`)
			}
		})
	}
	parts("counts", `{"Topic":"$t","Count":2}`, `{"Topic":"$t","Count":1}`, `{"Topic":"$t","Count":0}`, `{"Topic":"$t","Count":-1}`, `{"Topic":"$t","Count":4}`, `{"Topic":"$t","Count":4}`)
	parts("unknown", `{"Topic":"$t-missing","Count":4}`, `{"Topic":"a b","Count":4}`)
	parts("twice-in-request", `{"Topic":"$t","Count":3},{"Topic":"$t","Count":4}`)
	parts("internal", `{"Topic":"__consumer_offsets","Count":10}`)
	parts("assignment", `{"Topic":"$t","Count":3,"Assignment":[]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[1,2]},{"Replicas":[1,2]}]}`, `{"Topic":"$t","Count":4,"Assignment":[{"Replicas":[1,2]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[1]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[1,1]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[1,99]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[-1,1]}]}`, `{"Topic":"$t","Count":3,"Assignment":[{"Replicas":[3,1]}]}`)
	add("createpartitions/validate-only-not-controller-timeout", func(t *T) {
		t.topic("t", nil)
		t.conn("controller").do("CreatePartitions", 1, `{"TimeoutMillis":10000,"ValidateOnly":true,"Topics":[{"Topic":"$t","Count":3}]}`)
		t.conn("controller").do("CreatePartitions", 1, `{"TimeoutMillis":10000,"ValidateOnly":true,"Topics":[{"Topic":"$t","Count":1}]}`)
		t.conn("not the controller").do("CreatePartitions", 1, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","Count":3}]}`)
		t.conn("controller").do("CreatePartitions", 1, `{"TimeoutMillis":0,"Topics":[{"Topic":"$t","Count":3}]}`)
		t.await(t.vars["t"], 3)
	})
	add("createpartitions/during-reassignment", func(t *T) {
		t.topic("t", [][]int32{{1}})
		t.conn("controller").send("AlterPartitionReassignments", 0, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Replicas":[1,99]}]}]}`).get()
	})
}

// onlyOverrides records a CreateTopics answer without the configs that have their default value.
func (p *pending) onlyOverrides(r *kmsg.CreateTopicsResponse) {
	for i := range r.Topics {
		x := &r.Topics[i]
		if n := len(x.Configs); n > 0 {
			var keep []kmsg.CreateTopicsResponseTopicConfig
			for _, c := range x.Configs {
				if c.Source != 5 {
					keep = append(keep, c)
				}
			}
			keep = append(keep, kmsg.CreateTopicsResponseTopicConfig{Name: fmt.Sprintf("(and %d with source 5)", n-len(keep))})
			x.Configs = keep
		}
	}
	p.c.t.note(p.c.to, p.api, p.version, p.text, p.c.t.dump(r))
}
