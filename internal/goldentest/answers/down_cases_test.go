package answers

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerDown holds the one case that needs broker 3 stopped (a clean stop, by -stop-broker-3) while it runs.
func registerDown() {
	add("down/broker-3-stopped", func(t *T) {
		t.goesOn = true
		t.topic("solo", [][]int32{{3}})
		t.topic("mixed", [][]int32{{3, 1, 2}})
		t.topic("strict", [][]int32{{3, 1}}, "min.insync.replicas=2")
		t.topic("deleted", [][]int32{{3, 1}})
		t.bin["records"] = newBatch("a", "b").bytes()
		prod := func(topic string, acks string) string {
			return `{"Acks":` + acks + `,"TimeoutMillis":5000,"Topics":[{"Topic":"$` + topic + `","Partitions":[{"Partition":0,"Records":"@records"}]}]}`
		}
		for _, x := range []string{"solo", "mixed", "strict"} {
			t.conn("broker 3").send("Produce", 8, prod(x, "-1")).quiet()
		}
		t.env.cluster.Brokers[3].Stop()
		delete(t.env.address, 3)
		for _, b := range []string{"broker 1", "broker 2"} {
			t.until("broker 3 gone", func() bool {
				r := t.conn(b).send("Metadata", 7, `{"Topics":[{"Topic":"$strict"},{"Topic":"$solo"}],"AllowAutoTopicCreation":false}`).quiet().(*kmsg.MetadataResponse)
				gone := len(r.Brokers) == 2
				for _, x := range r.Topics {
					if len(x.Partitions) == 0 || x.Partitions[0].Leader == 3 {
						gone = false
					}
				}
				return gone
			})
		}
		for _, v := range []int16{0, 1, 4, 5, 7, 9} {
			t.conn("broker 1").do("Metadata", v, `{"Topics":[{"Topic":"$solo"},{"Topic":"$mixed"}],"AllowAutoTopicCreation":false}`)
		}
		b1, c := t.conn("broker 1"), t.conn("controller")
		b1.do("Produce", 8, prod("solo", "-1"))
		b1.do("Fetch", 11, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000,"SessionEpoch":-1,"Topics":[{"Topic":"$solo","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"FetchOffset":0,"PartitionMaxBytes":1000}]}]}`)
		b1.do("ListOffsets", 5, `{"ReplicaID":-1,"Topics":[{"Topic":"$solo","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":-1}]}]}`)
		b1.do("Produce", 8, prod("strict", "-1"))
		b1.do("Produce", 8, prod("strict", "1"))
		b1.do("Produce", 8, prod("mixed", "-1"))
		b1.do("DeleteRecords", 1, `{"TimeoutMillis":1000,"Topics":[{"Topic":"$mixed","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		b1.do("OffsetForLeaderEpoch", 3, `{"ReplicaID":-1,"Topics":[{"Topic":"$mixed","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]}]}`)
		for _, typ := range []string{"0", "1"} {
			c.do("ElectLeaders", 1, `{"ElectionType":`+typ+`,"TimeoutMillis":5000,"Topics":[{"Topic":"$mixed","Partitions":[0]},{"Topic":"$solo","Partitions":[0]}]}`)
		}
		t.unique("new")
		c.do("CreateTopics", 4, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$new","NumPartitions":1,"ReplicationFactor":3}]}`)
		c.do("AlterPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$mixed","Partitions":[{"Partition":0,"Replicas":[1,3]}]}]}`)
		c.do("AlterPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$strict","Partitions":[{"Partition":0,"Replicas":[2,3]}]}]}`)
		c.do("AlterPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$solo","Partitions":[{"Partition":0,"Replicas":[1]}]}]}`)
		c.do("ListPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$solo","Partitions":[0]}]}`)
		c.do("Metadata", 7, `{"Topics":[{"Topic":"$solo"}],"AllowAutoTopicCreation":false}`)
		c.do("CreatePartitions", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$solo","Count":2}]}`)
		c.do("AlterPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$solo","Partitions":[{"Partition":0,"Replicas":null}]}]}`)
		c.do("ListPartitionReassignments", 0, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$solo","Partitions":[0]}]}`)
		c.do("DeleteTopics", 4, `{"TimeoutMillis":1500,"TopicNames":["$deleted"]}`)
		c.do("Metadata", 7, `{"Topics":[{"Topic":"$deleted"}],"AllowAutoTopicCreation":false}`)
		c.do("DeleteTopics", 4, `{"TimeoutMillis":1500,"TopicNames":["$deleted"]}`)
		c.do("CreateTopics", 4, `{"TimeoutMillis":1500,"Topics":[{"Topic":"$deleted","NumPartitions":1,"ReplicationFactor":1}]}`)
	})
}
