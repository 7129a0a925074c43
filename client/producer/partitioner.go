package producer

import "encoding/binary"

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
