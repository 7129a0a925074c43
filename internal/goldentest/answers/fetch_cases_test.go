package answers

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchText asks for partition 0 of $t; pairs of a field's name and its value replace what it would say.
func fetchText(pairs ...string) string {
	text := `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"SessionID":0,"SessionEpoch":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"FetchOffset":0,"LastFetchedEpoch":-1,"LogStartOffset":-1,"PartitionMaxBytes":1000000}]}]}`
	for i := 0; i < len(pairs); i += 2 {
		k := `"` + pairs[i] + `":`
		at := strings.Index(text, k)
		if at < 0 {
			panic("no " + pairs[i])
		}
		rest := text[at+len(k):]
		end := strings.IndexAny(rest, ",}")
		text = text[:at+len(k)] + pairs[i+1] + rest[end:]
	}
	return text
}

// threeBatches makes $t with the batches a, b+c, d at offsets 0, 1 and 2, 3.
func threeBatches(t *T) {
	t.topic("t", nil)
	for _, b := range []batch{newBatch("a"), newBatch("b", "c"), newBatch("d")} {
		t.produce(t.vars["t"], 0, b.bytes())
	}
}

// fetch adds a case that asks once per version and set of changed fields.
func fetch(name, to string, vs []int16, changes ...[]string) {
	add("fetch/"+name, func(t *T) {
		threeBatches(t)
		for _, v := range vs {
			for _, pairs := range changes {
				t.conn(to).do("Fetch", v, fetchText(pairs...))
			}
		}
	})
}

// registerFetch: one partition, one field at a time.
func registerFetch() {
	all := []int16{1, 4, 11, 12}
	fetch("offset-out-of-range-high", "leader", all, []string{"FetchOffset", "5"}, []string{"FetchOffset", "4"})
	fetch("offset-negative", "leader", []int16{1, 4, 11, 12}, []string{"FetchOffset", "-1"}, []string{"FetchOffset", "-2"})
	add("fetch/offset-below-log-start", func(t *T) {
		threeBatches(t)
		t.conn("leader").send("DeleteRecords", 1, `{"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":2}]}]}`).quiet()
		for _, o := range []string{"0", "1", "2"} {
			t.conn("leader").do("Fetch", 11, fetchText("FetchOffset", o))
		}
	})
	fetch("inside-a-batch", "leader", []int16{4}, []string{"FetchOffset", "2"})
	fetch("inside-a-batch-old-version", "leader", []int16{0, 2}, []string{"FetchOffset", "2"})
	fetch("partition-max-bytes-small", "leader", []int16{2, 3, 11}, []string{"PartitionMaxBytes", "10"}, []string{"PartitionMaxBytes", "80"}, []string{"PartitionMaxBytes", "100"}, []string{"PartitionMaxBytes", "0"}, []string{"PartitionMaxBytes", "-1"})
	fetch("max-bytes-small", "leader", []int16{3, 11}, []string{"MaxBytes", "10"}, []string{"MaxBytes", "0"}, []string{"MaxBytes", "80"}, []string{"MaxBytes", "-1"})
	fetch("min-bytes-zero", "leader", []int16{11}, []string{"MinBytes", "0", "FetchOffset", "4"})
	fetch("min-bytes-huge", "leader", []int16{11}, []string{"MinBytes", "10000000"})
	fetch("leader-epoch", "leader", []int16{9, 11, 12}, []string{"CurrentLeaderEpoch", "0"}, []string{"CurrentLeaderEpoch", "1"}, []string{"CurrentLeaderEpoch", "-2"})
	add("fetch/leader-epoch-old", func(t *T) {
		threeBatches(t)
		t.bumpEpoch()
		for _, e := range []string{"0", "1", "2"} {
			t.conn("broker 2").do("Fetch", 11, fetchText("CurrentLeaderEpoch", e))
		}
		t.conn("leader").do("Fetch", 11, fetchText("CurrentLeaderEpoch", "0"))
		t.conn("leader").do("Fetch", 10, fetchText("CurrentLeaderEpoch", "0"))
		t.conn("leader").do("Fetch", 10, fetchText("CurrentLeaderEpoch", "1"))
		t.conn("leader").do("Fetch", 10, fetchText("CurrentLeaderEpoch", "2"))
	})
	fetch("last-fetched-epoch", "leader", []int16{12}, []string{"LastFetchedEpoch", "0"}, []string{"LastFetchedEpoch", "1"}, []string{"LastFetchedEpoch", "0", "FetchOffset", "9"})
	add("fetch/from-follower", func(t *T) {
		threeBatches(t)
		t.followerKnows(4)
		for _, v := range []int16{4, 10, 11, 12} {
			t.conn("follower").do("Fetch", v, fetchText())
		}
		t.conn("follower").do("Fetch", 11, fetchText("FetchOffset", "9"))
		t.conn("follower").do("Fetch", 11, fetchText("CurrentLeaderEpoch", "0"))
		t.conn("follower").do("Fetch", 11, fetchText("CurrentLeaderEpoch", "5"))
	})
	add("fetch/rack-id", func(t *T) {
		threeBatches(t)
		t.conn("leader").do("Fetch", 11, strings.TrimSuffix(fetchText(), "}")+`,"Rack":"rack-1"}`)
	})
	add("fetch/not-a-replica", func(t *T) {
		t.topic("t", [][]int32{{2, 3}})
		for _, v := range []int16{4, 11, 12} {
			t.conn("leader").do("Fetch", v, fetchText())
		}
	})
	add("fetch/all-replicas-on-missing-brokers", func(t *T) {
		noLeader(t)
		t.conn("leader").do("Fetch", 11, fetchText())
	})
	add("fetch/unknown-topic-and-partition", func(t *T) {
		threeBatches(t)
		t.unique("u")
		for _, v := range []int16{0, 4, 11, 12} {
			t.conn("leader").do("Fetch", v, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"SessionEpoch":-1,"Topics":[{"Topic":"$u","Partitions":[{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":1000}]},{"Topic":"$t","Partitions":[{"Partition":7,"FetchOffset":0,"PartitionMaxBytes":1000},{"Partition":0,"FetchOffset":3,"PartitionMaxBytes":1000}]}]}`)
		}
		t.conn("leader").do("Fetch", 11, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"SessionEpoch":-1,"Topics":[{"Topic":"a b","Partitions":[{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":1000}]}]}`)
		t.conn("leader").do("Fetch", 11, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"SessionEpoch":-1,"Topics":[]}`)
	})
	add("fetch/same-partition-twice", func(t *T) {
		threeBatches(t)
		t.conn("leader").do("Fetch", 4, `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":1000},{"Partition":0,"FetchOffset":3,"PartitionMaxBytes":1000}]}]}`)
	})
	add("fetch/replica-id", func(t *T) {
		threeBatches(t)
		for _, id := range []string{"2", "99", "-2", "-3", "1"} {
			t.conn("leader").do("Fetch", 11, fetchText("ReplicaID", id))
		}
		t.topic("t", [][]int32{{1, 2}})
		t.conn("leader").do("Fetch", 11, fetchText("ReplicaID", "3"))
		t.conn("follower").do("Fetch", 11, fetchText("ReplicaID", "99"))
	})
}

// slow is what a fetch waits at most that should be answered at once.
const (
	slow     = 20 * time.Second
	slowText = "20000"
)

// registerFetchWaits: waiting, limits over several partitions, isolation.
func registerFetchWaits() {
	add("fetch/max-wait", func(t *T) {
		threeBatches(t)
		timed := func(what string, ms int, text string) {
			start := time.Now()
			t.conn("leader").send("Fetch", 11, text).quiet()
			d := time.Since(start)
			// On a busy machine everything takes longer; what must not wait would wait for slow.
			inTime := d >= time.Duration(ms-5)*time.Millisecond && d < time.Duration(ms)*time.Millisecond+slow/2
			t.note("leader", "timing", 0, what, fmt.Sprintf("answered within 250ms of %d ms: %v", ms, inTime))
		}
		timed("no data, wait 600", 600, fetchText("FetchOffset", "4", "MaxWaitMillis", "600"))
		timed("data, wait 600", 0, fetchText("FetchOffset", "3", "MaxWaitMillis", slowText))
		timed("data but min.bytes more, wait 600", 600, fetchText("FetchOffset", "3", "MaxWaitMillis", "600", "MinBytes", "1000"))
		timed("no data, wait 0", 0, fetchText("FetchOffset", "4", "MaxWaitMillis", "0"))
		timed("error, wait 600", 0, fetchText("FetchOffset", "40", "MaxWaitMillis", slowText))
		timed("min bytes more than max bytes, wait 600", 0, fetchText("FetchOffset", "0", "MaxWaitMillis", slowText, "MinBytes", "1000", "MaxBytes", "50"))
		timed("no partitions, wait 600", 0, strings.Replace(`{"ReplicaID":-1,"MaxWaitMillis":slow,"MinBytes":1,"MaxBytes":100,"SessionEpoch":-1,"Topics":[]}`, "slow", slowText, 1))
	})
	add("fetch/woken-by-produce", func(t *T) {
		threeBatches(t)
		p := t.conn("leader").send("Fetch", 11, fetchText("FetchOffset", "4", "MaxWaitMillis", "10000"))
		t.produce(t.vars["t"], 0, newBatch("e").bytes())
		p.get()
		t.note("leader", "timing", 0, "answered before the wait was over", time.Since(p.sent) < 9500*time.Millisecond)
	})
	add("fetch/several-partitions-and-limits", func(t *T) {
		t.keepOrder = true
		t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}})
		for p := int32(0); p < 3; p++ {
			t.produce(t.vars["t"], p, newBatch(strings.Repeat("x", 50)).bytes())
			t.produce(t.vars["t"], p, newBatch(strings.Repeat("y", 50)).bytes())
		}
		text := func(maxBytes, part int) string {
			return fmt.Sprintf(`{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":%d,"SessionEpoch":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":2,"FetchOffset":0,"PartitionMaxBytes":%d},{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":%d},{"Partition":1,"FetchOffset":0,"PartitionMaxBytes":%d}]}]}`, maxBytes, part, part, part)
		}
		c := t.conn("leader")
		for _, v := range []int16{2, 3, 11} {
			c.do("Fetch", v, text(1, 1000))
			c.do("Fetch", v, text(300, 1000))
			c.do("Fetch", v, text(100000, 1))
			c.do("Fetch", v, text(100000, 130))
			c.do("Fetch", v, text(100000, 200))
		}
	})
	add("fetch/isolation-level", func(t *T) {
		t.topic("t", nil)
		t.set("pid", 900000200)
		t.produce(t.vars["t"], 0, newBatch("before").bytes())
		t.bin["tx"] = newBatch("in txn").producer(900000200, 0, 0).txn().bytes()
		c := t.conn("leader")
		x := `{"TransactionID":"x","Acks":-1,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Records":"@tx"}]}]}`
		c.do("Produce", 8, x)
		t.produce(t.vars["t"], 0, newBatch("after").bytes())
		iso := func() {
			for _, v := range []int16{4, 11} {
				for _, lvl := range []string{"0", "1"} {
					c.do("Fetch", v, strings.TrimSuffix(fetchText(), "}")+`,"IsolationLevel":`+lvl+`}`)
				}
			}
			for _, lvl := range []string{"0", "1"} {
				c.do("ListOffsets", 5, `{"ReplicaID":-1,"IsolationLevel":`+lvl+`,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"CurrentLeaderEpoch":-1,"Timestamp":-1}]}]}`)
			}
		}
		iso()
		c.do("WriteTxnMarkers", 0, `{"Markers":[{"ProducerID":$pid,"ProducerEpoch":0,"Committed":false,"CoordinatorEpoch":0,"Topics":[{"Topic":"$t","Partitions":[0]}]}]}`)
		iso()
		c.do("Fetch", 4, strings.TrimSuffix(fetchText(), "}")+`,"IsolationLevel":2}`)
		c.do("Fetch", 2, fetchText())
	})
}

// registerFetchSessions: incremental fetches.
func registerFetchSessions() {
	sess := func(id, epoch string, topics string, forgotten string) string {
		return `{"ReplicaID":-1,"MaxWaitMillis":100,"MinBytes":1,"MaxBytes":1000000,"SessionID":` + id + `,"SessionEpoch":` + epoch + `,"Topics":[` + topics + `],"ForgottenTopics":[` + forgotten + `]}`
	}
	part := func(p, o int) string {
		return fmt.Sprintf(`{"Topic":"$t","Partitions":[{"Partition":%d,"CurrentLeaderEpoch":-1,"FetchOffset":%d,"LogStartOffset":-1,"PartitionMaxBytes":100000}]}`, p, o)
	}
	for _, v := range []int16{7, 11, 12} {
		add(fmt.Sprintf("fetch/session-v%d", v), func(t *T) {
			t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}})
			t.produce(t.vars["t"], 0, newBatch("a").bytes())
			c := t.conn("leader")
			do := func(text string) *kmsg.FetchResponse { return c.do("Fetch", v, text).(*kmsg.FetchResponse) }
			r := do(sess("0", "0", part(0, 0)+","+part(1, 0), ""))
			t.set("sid", r.SessionID)
			do(sess("$sid", "1", "", ""))         // nothing changed: the same record of partition 0 again
			do(sess("$sid", "2", part(0, 1), "")) // moved on: empty
			do(sess("$sid", "3", "", ""))
			t.produce(t.vars["t"], 1, newBatch("b").bytes())
			do(sess("$sid", "4", "", ""))
			do(sess("$sid", "4", "", "")) // epoch used already
			do(sess("$sid", "5", "", "")) // and the right one still works?
			do(sess("$sid", "9", "", ""))
			do(sess("$sid", "6", part(1, 1), ""))
			do(sess("$sid", "7", "", `{"Topic":"$t","Partitions":[1]}`))
			t.produce(t.vars["t"], 1, newBatch("c").bytes())
			do(sess("$sid", "8", "", ""))
			do(sess("$sid", "9", `{"Topic":"$t-missing","Partitions":[{"Partition":0,"FetchOffset":0,"PartitionMaxBytes":100}]}`, ""))
			do(sess("$sid", "10", "", ""))
			do(sess("12345", "1", "", ""))
			do(sess("0", "1", "", ""))
			do(sess("0", "5", part(0, 0), ""))
			do(sess("$sid", "-1", part(0, 0), "")) // closes the session
			do(sess("$sid", "11", "", ""))
			do(sess("0", "-1", part(0, 0), ""))
			do(sess("0", "-2", part(0, 0), ""))
			do(sess("0", "0", "", "")) // a session with nothing in it
			r = do(sess("0", "0", part(0, 0), ""))
			t.set("sid", r.SessionID)
			do(sess("$sid", "0", part(1, 0), "")) // drop and start anew
			r = do(sess("0", "0", part(0, 9), ""))
			if r.SessionID > 0 {
				t.set("sid", r.SessionID)
				do(sess("$sid", "1", "", ""))
				do(sess("$sid", "2", part(0, 1), ""))
			}
			t.set("sid2", do(sess("0", "0", part(0, 1), "")).SessionID)
			do(sess("$sid2", "1", "", `{"Topic":"$t","Partitions":[0]}`)) // forget the last one
			do(sess("$sid2", "2", "", ""))
			other := t.conn("follower")
			other.do("Fetch", v, sess("$sid", "1", "", ""))
		})
	}
}

// registerFetchConversion: what readers of the old formats get.
func registerFetchConversion() {
	for _, v := range []int16{0, 1, 2, 3} {
		add(fmt.Sprintf("fetch/down-conversion-v%d", v), func(t *T) {
			t.topic("t", nil)
			b := newBatch("a", "b", "c")
			b.recs[1].headers = [][2]string{{"h", "1"}}
			t.produce(t.vars["t"], 0, b.bytes())
			b.attrs = 1
			t.produce(t.vars["t"], 0, b.bytes())
			t.conn("leader").do("Fetch", v, fetchText())
			t.conn("leader").do("Fetch", v, fetchText("FetchOffset", "1"))
			t.conn("leader").do("Fetch", v, fetchText("FetchOffset", "4"))
			t.conn("leader").do("Fetch", v, fetchText("PartitionMaxBytes", "90"))
		})
	}
	add("fetch/down-conversion-disabled", func(t *T) {
		t.topic("t", nil, "message.downconversion.enable=false")
		t.produce(t.vars["t"], 0, newBatch("a").bytes())
		for _, v := range []int16{1, 3, 4} {
			t.conn("leader").do("Fetch", v, fetchText())
		}
	})
}

// bumpEpoch makes broker 2 the leader of partition 0 (leader epoch 1 or more), by reassigning to 2,1,3 and electing.
func (t *T) bumpEpoch() {
	c := t.conn("controller")
	c.send("AlterPartitionReassignments", 0, `{"TimeoutMillis":10000,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Replicas":[2,1,3]}]}]}`).quiet()
	c.send("ElectLeaders", 1, `{"ElectionType":0,"TimeoutMillis":5000,"Topics":[{"Topic":"$t","Partitions":[0]}]}`).quiet()
	for id := 1; id <= 3; id++ {
		t.until("new leader", func() bool {
			r := t.conn(fmt.Sprint("broker ", id)).send("Metadata", 7, `{"Topics":[{"Topic":"$t"}],"AllowAutoTopicCreation":false}`).quiet().(*kmsg.MetadataResponse)
			return len(r.Topics[0].Partitions) > 0 && r.Topics[0].Partitions[0].Leader == 2
		})
	}
}

// followerKnows waits until broker 2 knows the high watermark of partition 0 of $t.
func (t *T) followerKnows(highWatermark int64) {
	t.until("the follower to know the high watermark", func() bool {
		r := t.conn("follower").send("Fetch", 11, fetchText("MaxWaitMillis", "0")).quiet().(*kmsg.FetchResponse)
		return r.Topics[0].Partitions[0].HighWatermark == highWatermark
	})
}
