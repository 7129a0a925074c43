package producer

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// Partitioner chooses the partition of a record that names none. all is how many the
// topic has; available are those with a leader, perhaps none. It is called by many
// goroutines at once. A number outside [0, all) makes Send fail.
//
// Without one, Kafka's default holds: a key's hash; without a key, one partition for
// each batch (sticky), so that batches are full and few.
type Partitioner func(r *Record, all int, available []int32) int32

// RoundRobin deals records over the partitions in turn, whatever their key.
// Mirrors RoundRobinPartitioner.
func RoundRobin() Partitioner {
	var turns sync.Map // topic -> *atomic.Int32
	return func(r *Record, all int, available []int32) int32 {
		v, ok := turns.Load(r.Topic)
		if !ok {
			v, _ = turns.LoadOrStore(r.Topic, new(atomic.Int32))
		}
		turn := int((v.(*atomic.Int32).Add(1) - 1) & 0x7fffffff)
		if len(available) > 0 {
			return available[turn%len(available)]
		}
		return int32(turn % all)
	}
}

// Murmur2 is the hash of Kafka's default partitioner.
// Source: clients/src/main/java/org/apache/kafka/common/utils/Utils.java.
func Murmur2(b []byte) int32 {
	const m = uint32(0x5bd1e995)
	h := uint32(0x9747b28c) ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k = (k ^ k>>24) * m
		h = h*m ^ k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return int32(h ^ h>>15)
}

// forKey is the partition of a key among all partitions, those without a leader
// included: a key must not wander while a broker is down.
func forKey(key []byte, partitions int) int32 {
	return (Murmur2(key) & 0x7fffffff) % int32(partitions)
}

// nextSticky picks where keyless records go until the next batch has to be opened: a
// random one of those with a leader, another than before when there is a choice.
// Mirrors StickyPartitionCache.nextPartition.
func nextSticky(previous int32, available []int32, all int, random func(n int) int) int32 {
	switch len(available) {
	case 0:
		return int32(random(all))
	case 1:
		return available[0]
	}
	for {
		if next := available[random(len(available))]; next != previous {
			return next
		}
	}
}
