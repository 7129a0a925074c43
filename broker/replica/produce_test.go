package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

const (
	all    = acksAll
	second = time.Second
)

// Ref: Kafka 2.8 cluster/Partition.scala, appendRecordsToLeader; KIP-72 of old, and the
// documentation of min.insync.replicas.
func TestAcksTimesMinInsync(t *testing.T) {
	for _, row := range []struct {
		name     string
		acks     int16
		min      int
		isr      []int32
		want     kafkaerr.Code // of the answer at once; None with waits
		waits    bool
		appended bool
	}{
		{"acks=1 does not ask for the minimum", 1, 3, []int32{1}, kafkaerr.None, false, true},
		{"acks=0 does not ask for the minimum", 0, 3, []int32{1}, kafkaerr.None, false, true},
		{"acks=all alone in the ISR: committed at once", all, 1, []int32{1}, kafkaerr.None, false, true},
		{"acks=all below the minimum: refused, nothing written", all, 2, []int32{1}, kafkaerr.NotEnoughReplicas, false, false},
		{"acks=all at the minimum: waits for the followers", all, 2, []int32{1, 2}, kafkaerr.None, true, true},
		{"acks=all waits for the whole ISR, not for the minimum", all, 1, []int32{1, 2, 3}, kafkaerr.None, true, true},
		{"acks=2 does not exist", 2, 1, []int32{1}, kafkaerr.InvalidRequiredAcks, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBroker1(t)
			defer b.stop()
			b.config.MinInsyncReplicas = row.min
			b.lead(tp(0), row.isr...)
			answer := b.produce(tp(0), row.acks, time.Minute, 3)
			if row.waits {
				answer.notYet(t)
			} else if r := answer.now(t); r.Code != row.want {
				t.Errorf("got %v, want %v", r.Code, row.want)
			}
			if got := b.status(tp(0)).LogEnd; (got == 3) != row.appended {
				t.Errorf("log end %d, appended must be %v", got, row.appended)
			}
		})
	}
}

func TestHighWatermarkIsRaisedByFetches(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2, 3)
	answer := b.produce(tp(0), all, time.Minute, 3)
	if r := b.fetchNow(2, tp(0), 0); r.Data.Length == 0 || r.HighWatermark != 0 {
		t.Fatalf("a follower reads beyond the high watermark: %+v", r)
	}
	if r := b.fetchNow(-1, tp(0), 0); r.Data.Length != 0 {
		t.Fatal("a consumer read beyond the high watermark")
	}
	b.fetchNow(3, tp(0), 0)
	b.fetchNow(2, tp(0), 3)
	answer.notYet(t) // 3 is in the ISR and has nothing yet
	if r := b.fetchNow(3, tp(0), 3); r.HighWatermark != 0 {
		t.Errorf("the answer carries the mark from before the fetch: the follower learns one fetch later, got %d", r.HighWatermark)
	}
	if r := answer.now(t); r.Code != kafkaerr.None || r.BaseOffset != 0 {
		t.Fatalf("%+v", r)
	}
	if r := b.fetchNow(2, tp(0), 3); r.HighWatermark != 3 {
		t.Errorf("high watermark %d, want 3", r.HighWatermark)
	}
	if r := b.fetchNow(-1, tp(0), 0); r.Data.Length == 0 {
		t.Error("the consumer does not see what is committed")
	}
}

func TestProduceTimesOutAndStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		answer := b.produce(tp(0), all, 5*second, 3)
		time.Sleep(4 * second) // virtual
		answer.notYet(t)
		time.Sleep(2 * second)
		synctest.Wait()
		if r := answer.now(t); r.Code != kafkaerr.RequestTimedOut {
			t.Fatalf("%+v", r)
		}
		if b.status(tp(0)).LogEnd != 3 {
			t.Error("the records of a produce that timed out stay")
		}
	})
}

func TestProduceToWhatIsNotHere(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.follow(tp(1), 2)
	for _, row := range []struct {
		name string
		p    topic.Partition
		want kafkaerr.Code
	}{
		{"a follower", tp(1), kafkaerr.NotLeaderOrFollower},
		{"a partition that does not exist", tp(9), kafkaerr.UnknownTopicOrPartition},
		{"an internal topic", topic.Partition{Topic: topic.ConsumerOffsets}, kafkaerr.InvalidTopicException},
	} {
		r := b.produce(row.p, all, time.Minute, 1).now(t)
		if r.Code != row.want || r.BaseOffset != -1 || r.LogStartOffset != -1 || r.LogAppendTime != -1 {
			t.Errorf("%s: %+v, want %v", row.name, r, row.want)
		}
	}
}

// One request, three partitions: one commits at once, one waits, one fails. The answer
// comes when the waiting one is done, with all three.
func TestProduceAnswersAllPartitionsTogether(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.lead(tp(1), 1, 2)
	b.follow(tp(2), 2)
	answers := make(chan map[topic.Partition]ProduceResult, 2)
	b.m.AppendRecords(time.Minute, all, false, map[topic.Partition][]byte{tp(0): batch(1), tp(1): batch(1), tp(2): batch(1)},
		func(r map[topic.Partition]ProduceResult) { answers <- r })
	if len(answers) != 0 {
		t.Fatal("answered while one partition waits")
	}
	b.fetchNow(2, tp(1), 1)
	r := <-answers
	if len(r) != 3 || r[tp(0)].Code != 0 || r[tp(1)].Code != 0 || r[tp(2)].Code != kafkaerr.NotLeaderOrFollower {
		t.Fatalf("%+v", r)
	}
}

// The ISR was large enough for the append and is too small when the records commit.
func TestNotEnoughReplicasAfterAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.config.MinInsyncReplicas = 2
		b.lead(tp(0), 1, 2)
		answer := b.produce(tp(0), all, 10*time.Minute, 3)
		time.Sleep(lagMax + lagMax/2 + second) // virtual: broker 2 never fetched
		synctest.Wait()
		if r := answer.now(t); r.Code != kafkaerr.NotEnoughReplicasAfterAppend {
			t.Fatalf("%+v", r)
		}
		if s := b.status(tp(0)); s.LogEnd != 3 || s.HighWatermark != 3 {
			t.Errorf("the records stay, and are committed: %+v", s)
		}
	})
}

// A produce of one reign must not be acknowledged in a later one: other records may
// have its offsets by then.
func TestProduceEndsWithTheReign(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	answer := b.produce(tp(0), all, time.Minute, 3)
	b.lead(tp(0), 1, 2, 3) // another epoch of the same reign
	answer.notYet(t)
	b.follow(tp(0), 2)
	if r := answer.now(t); r.Code != kafkaerr.NotLeaderOrFollower {
		t.Fatalf("%+v", r)
	}
	p, _ := b.m.hosted(tp(0))
	b.lead(tp(0), 1, 2)
	if done, code := p.acked(0, 0); !done || code != kafkaerr.NotLeaderOrFollower {
		t.Fatalf("acks of an old reign: %v %v", done, code)
	}
}
