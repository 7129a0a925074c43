package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
)

// Ref: Kafka 2.8 server/DelayedFetch.scala; server/ReplicaManager.scala, fetchMessages.
func TestFetchWaits(t *testing.T) {
	for _, row := range []struct {
		name    string
		replica int32
		wake    func(b *broker1)
		wakes   bool
		bytes   bool
	}{
		{"a follower: by an append", 2, func(b *broker1) { b.produce(tp(0), 1, 0, 1) }, true, true},
		{"a consumer: not by an append", -1, func(b *broker1) { b.produce(tp(0), 1, 0, 1) }, false, false},
		{"a consumer: by the high watermark", -1, func(b *broker1) {
			b.produce(tp(0), 1, 0, 1)
			b.fetchNow(2, tp(0), 1)
		}, true, true},
		{"anyone: by the loss of leadership", -1, func(b *broker1) { b.follow(tp(0), 2) }, true, false},
		{"anyone: by deletion", -1, func(b *broker1) {
			b.m.StopReplicas(1, 1, stops(deletedEpoch, true, 0))
		}, true, false},
		{"a new epoch of the same leader wakes nobody who did not name one", -1, func(b *broker1) { b.lead(tp(0), 1, 2) }, false, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker1(t)
			defer b.stop()
			b.lead(tp(0), 1, 2)
			start := time.Now()
			answer := b.fetch(row.replica, tp(0), 0, 500*time.Millisecond)
			row.wake(b)
			r := <-answer
			if got := time.Since(start) == 0; got != row.wakes {
				t.Errorf("%s: answered after %v", row.name, time.Since(start))
			}
			if got := r.Data.Length > 0; got != row.bytes {
				t.Errorf("%s: %+v", row.name, r)
			}
			time.Sleep(second)
			if len(answer) != 0 {
				t.Errorf("%s: answered twice", row.name)
			}
		})
	}
}

func TestFetchWaitsForMinBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1)
		b.lead(tp(1), 1)
		one := len(batch(1))
		answer := make(chan []FetchResult, 2)
		b.m.Fetch(FetchParams{ReplicaID: -1, MaxWait: time.Hour, MinBytes: 2 * one, MaxBytes: 1 << 20}, asks(0, 0, 1), func(rs []FetchResult) {
			releaseAll(rs)
			answer <- rs
		})
		b.produce(tp(0), 1, 0, 1)
		if len(answer) != 0 {
			t.Fatal("half of the bytes are not enough")
		}
		b.produce(tp(1), 1, 0, 1)
		select {
		case <-answer:
		default:
			t.Fatal("the bytes of both partitions are enough together")
		}
		if n := b.m.fetch.Delayed(); n != 0 {
			t.Errorf("%d timers left", n)
		}
	})
}

// A fetch that cannot be answered well is answered at once.
func TestFetchErrors(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 1
	b.produce(tp(0), 1, 0, 3)
	b.follow(tp(1), 2)
	for _, row := range []struct {
		name  string
		ask   FetchPartition
		as    int32
		any   bool
		want  kafkaerr.Code
		marks bool
	}{
		{"above the log end", FetchPartition{Partition: tp(0), Offset: 4, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, -1, false, kafkaerr.OffsetOutOfRange, false},
		{"at the log end: nothing, no error", FetchPartition{Partition: tp(0), Offset: 3, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, -1, false, kafkaerr.None, true},
		{"an old leader epoch", FetchPartition{Partition: tp(0), CurrentLeaderEpoch: 0, LastFetchedEpoch: -1}, -1, false, kafkaerr.FencedLeaderEpoch, false},
		{"a future leader epoch", FetchPartition{Partition: tp(0), CurrentLeaderEpoch: 2, LastFetchedEpoch: -1}, -1, false, kafkaerr.UnknownLeaderEpoch, false},
		{"the right leader epoch", FetchPartition{Partition: tp(0), CurrentLeaderEpoch: 1, LastFetchedEpoch: -1}, -1, false, kafkaerr.None, true},
		{"a follower, by an old consumer", FetchPartition{Partition: tp(1), CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, -1, false, kafkaerr.NotLeaderOrFollower, false},
		{"a follower, by a consumer that may (KIP-392)", FetchPartition{Partition: tp(1), CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, -1, true, kafkaerr.None, true},
		{"a follower, by a follower", FetchPartition{Partition: tp(1), CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, 3, true, kafkaerr.NotLeaderOrFollower, false},
		{"unknown", FetchPartition{Partition: tp(9), CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}, -1, false, kafkaerr.UnknownTopicOrPartition, false},
	} {
		row.ask.MaxBytes = 100
		var got FetchResult
		b.m.Fetch(FetchParams{ReplicaID: row.as, AnyReplica: row.any, MaxBytes: 1 << 20, MinBytes: 1}, []FetchPartition{row.ask}, func(rs []FetchResult) {
			releaseAll(rs)
			got = rs[0]
		})
		if got.Code != row.want || (got.HighWatermark >= 0) != row.marks {
			t.Errorf("%s: %v, high watermark %d", row.name, got.Code, got.HighWatermark)
		}
	}
}

// Ref: Kafka 2.8 server/ReplicaManager.scala, readFromLocalLog; KIP-74.
func TestFetchLimits(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	one := len(batch(1))
	for n := range int32(3) {
		b.lead(tp(n), 1)
		for range 3 {
			b.produce(tp(n), 1, 0, 1)
		}
	}
	for _, row := range []struct {
		name                 string
		partitionMax, reqMax int
		hard                 bool
		want                 [3]int
	}{
		{"everything fits", 1 << 20, 1 << 20, false, [3]int{3 * one, 3 * one, 3 * one}},
		{"the partition's limit", 2 * one, 1 << 20, false, [3]int{2 * one, 2 * one, 2 * one}},
		{"the request's limit, in order", 1 << 20, 4 * one, false, [3]int{3 * one, one, 0}},
		{"the first batch comes though it is too large for both", 10, 10, false, [3]int{one, 0, 0}},
		{"before version 3 the limit is hard: a part of a batch", 10, 1 << 20, true, [3]int{10, 10, 10}},
	} {
		ps := asks(0, 0, 1, 2)
		for i := range ps {
			ps[i].MaxBytes = row.partitionMax
		}
		var got [3]int
		b.m.Fetch(FetchParams{ReplicaID: -1, MaxBytes: row.reqMax, MinBytes: 1, HardMaxBytes: row.hard}, ps, func(rs []FetchResult) {
			for i := range rs {
				got[i] = int(rs[i].Data.Len())
			}
			releaseAll(rs)
		})
		if got != row.want {
			t.Errorf("%s: got %v, want %v (a batch is %d)", row.name, got, row.want, one)
		}
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, readRecords; KIP-595's diverging epoch.
func TestFetchDivergingEpoch(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1) // epoch 0: offsets 0 to 2
	b.produce(tp(0), 1, 0, 3)
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 2: from 3 on
	b.produce(tp(0), 1, 0, 2)
	for _, row := range []struct {
		name   string
		offset int64
		last   int32
		code   kafkaerr.Code
		epoch  int32
		end    int64
	}{
		{"same history", 3, 0, kafkaerr.None, -1, -1},
		{"same history, at the end", 5, 2, kafkaerr.None, -1, -1},
		{"the epoch ended earlier here", 4, 0, kafkaerr.None, 0, 3},
		{"an epoch that had no records here", 4, 1, kafkaerr.None, 0, 3},
		{"a later epoch than any here: nothing can be compared", 4, 3, kafkaerr.OffsetOutOfRange, -1, -1},
		{"below the log start it is out of range, whatever the epochs say", -1, 0, kafkaerr.OffsetOutOfRange, -1, -1},
		{"does not say", 4, -1, kafkaerr.None, -1, -1},
	} {
		ask := FetchPartition{Partition: tp(0), Offset: row.offset, MaxBytes: 1000, CurrentLeaderEpoch: -1, LastFetchedEpoch: row.last}
		wait := time.Duration(0)
		if row.epoch >= 0 {
			wait = time.Hour // a divergence is answered at once
		}
		var got FetchResult
		b.m.Fetch(FetchParams{ReplicaID: 2, MaxBytes: 1 << 20, MinBytes: 1, MaxWait: wait}, []FetchPartition{ask}, func(rs []FetchResult) {
			got = rs[0]
			releaseAll(rs)
		})
		if got.Code != row.code || got.DivergingEpoch != row.epoch || got.DivergingEndOffset != row.end || got.Partition != tp(0) {
			t.Errorf("%s: %v, epoch %d to %d; want %d to %d", row.name, got.Code, got.DivergingEpoch, got.DivergingEndOffset, row.epoch, row.end)
		}
	}
	if hw := b.status(tp(0)).HighWatermark; hw != 5 {
		t.Errorf("high watermark %d", hw)
	}
	p, _ := b.m.hosted(tp(0))
	if err := p.log.MaybeIncrementStartOffset(2); err != nil {
		t.Fatal(err)
	}
	ask := FetchPartition{Partition: tp(0), Offset: 1, MaxBytes: 1000, CurrentLeaderEpoch: -1, LastFetchedEpoch: 1}
	var r FetchResult
	p.read(readTerms{FetchPartition: ask, maxBytes: 1000}, &r)
	if r.Code != kafkaerr.OffsetOutOfRange {
		t.Errorf("below the log start, diverged or not: %v", r.Code)
	}
}

func TestFetchOfABrokerThatIsNoReplica(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.produce(tp(0), 1, 0, 3)
	if r := b.fetchNow(7, tp(0), 0); r.Code != kafkaerr.None || r.Data.Length != 0 || r.HighWatermark != 3 {
		t.Fatalf("it gets marks and no records: %+v", r)
	}
	if isr := b.status(tp(0)).ISR; len(isr) != 1 {
		t.Fatalf("%v", isr)
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, fetchOffsetForTimestamp; KIP-207.
func TestListOffset(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	b.produce(tp(0), 1, 0, 4) // timestamps 1000 to 1003
	b.fetchNow(2, tp(0), 2)   // high watermark 2
	b.follow(tp(1), 2)
	type query = OffsetQuery
	for _, row := range []struct {
		name string
		q    query
		want int64
		code kafkaerr.Code
	}{
		{"latest, for a consumer: the high watermark", query{tp(0), -1, -1, -1, false}, 2, 0},
		{"latest, read_committed: the last stable offset", query{tp(0), -1, -1, -1, true}, 2, 0},
		{"latest, for a replica: the log end", query{tp(0), -1, -1, 2, false}, 4, 0},
		{"latest, for a debugger: the log end", query{tp(0), -1, -1, -2, false}, 4, 0},
		{"earliest", query{tp(0), -2, -1, -1, false}, 0, 0},
		{"a time below the high watermark", query{tp(0), 1001, -1, -1, false}, 1, 0},
		{"a time above it: not for a consumer", query{tp(0), 1003, -1, -1, false}, -1, 0},
		{"a time above it: for a replica", query{tp(0), 1003, -1, 2, false}, 3, 0},
		{"a time after all", query{tp(0), 9999, -1, -1, false}, -1, 0},
		{"an old epoch", query{tp(0), -1, -1, -1, false}, 2, 0},
		{"a future epoch", query{tp(0), -1, 5, -1, false}, 0, kafkaerr.UnknownLeaderEpoch},
		{"a follower", query{tp(1), -1, -1, -1, false}, 0, kafkaerr.NotLeaderOrFollower},
		{"a follower, for a debugger", query{tp(1), -1, -1, -2, false}, 0, 0},
		{"unknown", query{tp(9), -1, -1, -1, false}, 0, kafkaerr.UnknownTopicOrPartition},
	} {
		got, err := b.m.ListOffset(row.q)
		if kafkaerr.CodeOf(err) != row.code || err == nil && got.Offset != row.want {
			t.Errorf("%s: %+v %v, want %d %v", row.name, got, err, row.want, row.code)
		}
	}
	b.lead(tp(0), 1, 2) // a new epoch starts at 4, while the high watermark is 2
	for _, row := range []struct {
		name string
		q    query
		want int64
		code kafkaerr.Code
	}{
		{"latest while the mark lags behind the epoch: not known", query{tp(0), -1, -1, -1, false}, 0, kafkaerr.OffsetNotAvailable},
		{"a time below the mark is known", query{tp(0), 1001, -1, -1, false}, 1, 0},
		{"a time above it is not", query{tp(0), 1003, -1, -1, false}, 0, kafkaerr.OffsetNotAvailable},
		{"replicas need not wait", query{tp(0), -1, -1, 2, false}, 4, 0},
		{"earliest is always known", query{tp(0), -2, -1, -1, false}, 0, 0},
	} {
		got, err := b.m.ListOffset(row.q)
		if kafkaerr.CodeOf(err) != row.code || err == nil && got.Offset != row.want {
			t.Errorf("%s: %+v %v, want %d %v", row.name, got, err, row.want, row.code)
		}
	}
	b.fetchNow(2, tp(0), 4)
	if got, err := b.m.ListOffset(query{tp(0), -1, -1, -1, false}); err != nil || got.Offset != 4 || got.LeaderEpoch != 1 {
		t.Errorf("the mark caught up: %+v %v", got, err)
	}
}

// Ref: Kafka 2.8 log/Log.scala, fetchOffsetByTimestamp: the epoch of the log start.
func TestEarliestHasItsEpoch(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 1 is the first with records; epoch 0 was forgotten for it
	b.produce(tp(0), 1, 0, 3)
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 3
	b.produce(tp(0), 1, 0, 3)
	for _, row := range []struct {
		start int64
		epoch int32
	}{{0, 1}, {2, 1}, {3, 3}, {5, 3}} {
		p, _ := b.m.hosted(tp(0))
		if err := p.log.MaybeIncrementStartOffset(row.start); err != nil {
			t.Fatal(err)
		}
		got, err := b.m.ListOffset(OffsetQuery{tp(0), EarliestTimestamp, -1, -1, false})
		if err != nil || got.Offset != row.start || got.LeaderEpoch != row.epoch {
			t.Errorf("from %d: %+v %v, want epoch %d", row.start, got, err, row.epoch)
		}
	}
}

// Ref: Kafka 2.8 server/epoch/LeaderEpochFileCache.scala, endOffsetFor.
func TestEpochEnd(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.produce(tp(0), 1, 0, 3)
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 2
	b.produce(tp(0), 1, 0, 2)
	b.follow(tp(1), 2)
	b.lead(tp(2), 1)
	b.produce(tp(2), 1, 0, 3)
	b.lead(tp(2), 1) // epoch 1, no records yet
	for _, row := range []struct {
		name           string
		partition      int32
		current, epoch int32
		largest        int32
		end            int64
		code           kafkaerr.Code
	}{
		{"the current epoch ends at the log end", 0, 2, 2, 2, 5, 0},
		{"an older one ends where the next began", 0, 2, 0, 0, 3, 0},
		{"one without records ends where it began", 0, 2, 1, 0, 3, 0},
		{"a later one than ours", 0, -1, 7, -1, -1, 0},
		{"the current epoch counts before it has records", 2, 1, 1, 1, 3, 0},
		{"and ends the one before", 2, 1, 0, 0, 3, 0},
		{"asked by a deposed one", 0, 1, 1, -1, -1, kafkaerr.FencedLeaderEpoch},
		{"asked too early", 0, 3, 2, -1, -1, kafkaerr.UnknownLeaderEpoch},
		{"a follower does not answer", 1, -1, 0, -1, -1, kafkaerr.NotLeaderOrFollower},
		{"unknown", 9, -1, 0, -1, -1, kafkaerr.UnknownTopicOrPartition},
	} {
		largest, end, code := b.m.EpochEnd(tp(row.partition), row.current, row.epoch)
		if largest != row.largest || end != row.end || code != row.code {
			t.Errorf("%s: (%d, %d) %v, want (%d, %d) %v", row.name, largest, end, code, row.largest, row.end, row.code)
		}
	}
}

// A fetch is read, then the leadership changes twice, then the fetch is counted: the
// follower may have truncated meanwhile, so it must not count.
func TestFetchOfAnEarlierEpochDoesNotCount(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	b.produce(tp(0), 1, 0, 3)
	terms := FetchParams{ReplicaID: 2, MaxBytes: 1 << 20}
	visits := []visit{{FetchPartition: asks(3, 0)[0]}}
	read := b.m.readAll(terms, visits)
	defer releaseAll(read)
	b.follow(tp(0), 2)
	b.lead(tp(0), 1, 2)
	b.m.followerFetched(2, visits, read, time.Now())
	if hw := b.status(tp(0)).HighWatermark; hw != 0 {
		t.Errorf("high watermark %d", hw)
	}
	b.fetchNow(2, tp(0), 3)
	if hw := b.status(tp(0)).HighWatermark; hw != 3 {
		t.Errorf("high watermark %d after a fetch of this epoch", hw)
	}
}
