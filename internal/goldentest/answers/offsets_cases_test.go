package answers

import (
	"github.com/twmb/franz-go/pkg/kmsg"
	"strings"
)

func listOffsetsText(timestamp string) string {
	return `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":` + timestamp + `,"MaxNumOffsets":10}]}]}`
}

func registerListOffsets() {
	add("listoffsets/timestamps", func(t *T) {
		t.topic("t", nil)
		for i, v := range []string{"a", "b", "c"} {
			b := newBatch(v, v+v)
			b.firstTs = baseTime + int64(i)*1000
			t.produce(t.vars["t"], 0, b.bytes())
		}
		c := t.conn("leader")
		for _, v := range []int16{0, 1, 2, 4, 5, 6} {
			for _, ts := range []string{"-1", "-2", "1600000000000", "1600000000001", "1600000000002", "1600000002001", "1600000002002", "0", "-3", "-4"} {
				c.do("ListOffsets", v, listOffsetsText(ts))
			}
		}
	})
	add("listoffsets/empty-partition", func(t *T) {
		t.topic("t", nil)
		c := t.conn("leader")
		for _, v := range []int16{0, 1, 5} {
			for _, ts := range []string{"-1", "-2", "1600000000000"} {
				c.do("ListOffsets", v, listOffsetsText(ts))
			}
		}
	})
	add("listoffsets/after-delete-records", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		c := t.conn("leader")
		c.send("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":2}]}]}`).quiet()
		for _, v := range []int16{0, 1, 5} {
			for _, ts := range []string{"-1", "-2", "1600000000000"} {
				c.do("ListOffsets", v, listOffsetsText(ts))
			}
		}
	})
	add("listoffsets/v0-segments-and-max", func(t *T) {
		t.topic("t", nil, "segment.bytes=100")
		for i := 0; i < 4; i++ {
			t.produce(t.vars["t"], 0, newBatch("a").bytes())
		}
		c := t.conn("leader")
		for _, n := range []string{"10", "2", "1", "0", "-1"} {
			c.do("ListOffsets", 0, strings.Replace(listOffsetsText("-1"), `"MaxNumOffsets":10`, `"MaxNumOffsets":`+n, 1))
		}
		c.do("ListOffsets", 0, listOffsetsText("-2"))
		c.do("ListOffsets", 0, listOffsetsText("1000"))
	})
	add("listoffsets/errors", func(t *T) {
		t.topic("t", nil)
		t.unique("u")
		for _, v := range []int16{0, 1, 5, 6} {
			t.conn("leader").do("ListOffsets", v, `{"ReplicaID":-1,"Topics":[{"Topic":"$u","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":-1,"MaxNumOffsets":1}]},{"Topic":"$t","Partitions":[{"Partition":5,"CurrentLeaderEpoch":-1,"Timestamp":-1,"MaxNumOffsets":1}]}]}`)
			t.conn("follower").do("ListOffsets", v, listOffsetsText("-1"))
			t.conn("leader").do("ListOffsets", v, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Timestamp":-1,"MaxNumOffsets":1},{"Partition":0,"Timestamp":-2,"MaxNumOffsets":1}]}]}`)
			t.conn("leader").do("ListOffsets", v, `{"ReplicaID":-1,"Topics":[]}`)
		}
	})
	add("listoffsets/replica-ids", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		t.followerKnows(3)
		for _, id := range []string{"-2", "2", "99", "-3"} {
			for _, to := range []string{"leader", "follower"} {
				t.conn(to).do("ListOffsets", 5, strings.Replace(listOffsetsText("-1"), `"ReplicaID":-1`, `"ReplicaID":`+id, 1))
			}
		}
	})
	add("listoffsets/leader-epoch", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		t.bumpEpoch()
		for _, to := range []string{"broker 1", "broker 2"} {
			for _, e := range []string{"-1", "0", "1", "2"} {
				t.conn(to).do("ListOffsets", 5, strings.Replace(listOffsetsText("-1"), `"CurrentLeaderEpoch":-1`, `"CurrentLeaderEpoch":`+e, 1))
			}
		}
	})
	add("listoffsets/all-replicas-on-missing-brokers", func(t *T) {
		noLeader(t)
		t.conn("leader").do("ListOffsets", 5, listOffsetsText("-1"))
	})
}

func registerEpochs() {
	add("epochs/offset-for-leader-epoch", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		t.bumpEpoch()
		t.bin["two more"] = newBatch("d", "e").bytes()
		b2 := t.conn("broker 2")
		b2.do("Produce", 8, strings.Replace(oneProduce, "@records", "@two more", 1))
		t.until("broker 1 to follow", func() bool {
			r := t.conn("broker 1").send("Fetch", 11, fetchText("MaxWaitMillis", "0")).quiet().(*kmsg.FetchResponse)
			return r.Topics[0].Partitions[0].HighWatermark == 5
		})
		for _, to := range []string{"broker 2", "broker 1"} {
			for _, v := range []int16{0, 3} {
				for _, e := range []string{"-1", "0", "1", "2", "9"} {
					t.conn(to).do("OffsetForLeaderEpoch", v, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":`+e+`}]}]}`)
				}
			}
		}
		for _, cur := range []string{"0", "1", "2", "3"} {
			b2.do("OffsetForLeaderEpoch", 3, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":`+cur+`,"LeaderEpoch":0}]}]}`)
		}
		b2.do("OffsetForLeaderEpoch", 3, `{"ReplicaID":-2,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]}]}`)
		b2.do("OffsetForLeaderEpoch", 3, `{"ReplicaID":3,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]}]}`)
		b2.do("OffsetForLeaderEpoch", 3, `{"ReplicaID":-1,"Topics":[{"Topic":"$t-missing","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]},{"Topic":"$t","Partitions":[{"Partition":4,"CurrentLeaderEpoch":-1,"LeaderEpoch":0}]}]}`)
	})
	add("epochs/offset-for-leader-epoch-empty-log", func(t *T) {
		t.topic("t", nil)
		for _, e := range []string{"-1", "0", "1"} {
			t.conn("leader").do("OffsetForLeaderEpoch", 3, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"LeaderEpoch":`+e+`}]}]}`)
		}
	})
}

func registerDeleteRecords() {
	add("deleterecords/offsets", func(t *T) {
		t.topic("t", nil)
		t.produce(t.vars["t"], 0, newBatch("a", "b", "c").bytes())
		c := t.conn("leader")
		for _, o := range []string{"4", "-2", "0", "1", "1", "0", "3", "-1"} {
			c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":`+o+`}]}]}`)
		}
		t.produce(t.vars["t"], 0, newBatch("d").bytes())
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":-1}]}]}`)
		c.do("Fetch", 11, fetchAll)
		c.do("ListOffsets", 5, `{"ReplicaID":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":-2}]}]}`)
	})
	add("deleterecords/errors", func(t *T) {
		t.topic("t", nil)
		t.topic("compacted", nil, "cleanup.policy=compact")
		t.topic("both", nil, "cleanup.policy=compact,delete")
		for _, n := range []string{"t", "compacted", "both"} {
			t.produce(t.vars[n], 0, newBatch("a", "b").bytes())
		}
		c := t.conn("leader")
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$compacted","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$both","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t-missing","Partitions":[{"Partition":0,"Offset":1}]},{"Topic":"$t","Partitions":[{"Partition":3,"Offset":1},{"Partition":0,"Offset":1}]}]}`)
		t.conn("follower").do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"__consumer_offsets","Partitions":[{"Partition":0,"Offset":0}]}]}`)
		c.do("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[]}`)
	})
}
