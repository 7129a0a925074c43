package replica

import (
	"testing"
	"time"

	"kz/internal/topic"
)

// One batch of 100 records to one partition, acks=1: the append itself dominates.
func BenchmarkAppendRecords(b *testing.B) {
	br := newBroker1(b)
	defer br.stop()
	br.journal = nil
	br.m.deps.Journal = nil
	br.lead(tp(0), 1)
	records := batch(100)
	in := map[topic.Partition][]byte{tp(0): records}
	b.SetBytes(int64(len(records)))
	b.ReportAllocs()
	for b.Loop() {
		br.m.AppendRecords(time.Minute, 1, false, in, func(map[topic.Partition]ProduceResult) {})
	}
}

// A follower's fetch of a thousand partitions that has nothing to read: what an idle
// session costs every half second.
func BenchmarkFetchThousandIdlePartitions(b *testing.B) {
	br := newBroker1(b)
	defer br.stop()
	br.m.deps.Journal = nil
	var ids []int32
	for n := range int32(1000) {
		br.lead(tp(n), 1, 2)
		ids = append(ids, n)
	}
	parts := asks(0, ids...)
	b.ReportAllocs()
	for b.Loop() {
		br.m.Fetch(FetchParams{ReplicaID: 2, MinBytes: 1, MaxBytes: 1 << 20}, parts, func(rs []FetchResult) { releaseAll(rs) })
	}
}

// Five hundred consumers wait on each of a hundred partitions; an append to one of them
// must not touch the others' consumers.
func BenchmarkAppendAmongWaitingFetches(b *testing.B) {
	br := newBroker1(b)
	defer br.stop()
	br.m.deps.Journal = nil
	for n := range int32(100) {
		br.lead(tp(n), 1, 2)
		if n == 0 {
			continue
		}
		for range 500 {
			br.m.Fetch(FetchParams{ReplicaID: -1, MaxWait: time.Hour, MinBytes: 1, MaxBytes: 1 << 20}, asks(0, n), func(rs []FetchResult) { releaseAll(rs) })
		}
	}
	in := map[topic.Partition][]byte{tp(0): batch(1)}
	b.ReportAllocs()
	for b.Loop() {
		br.m.AppendRecords(time.Minute, 1, false, in, func(map[topic.Partition]ProduceResult) {})
	}
}
