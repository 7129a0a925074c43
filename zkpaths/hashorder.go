package zkpaths

import (
	"math/bits"
	"slices"
	"unicode/utf16"
)

// Kafka prints maps in the order in which its collections happen to iterate. That order
// is a function of the keys' hashes, so it can be computed. Four kinds of map occur:
//
//	scala immutable Map, up to 4 keys  insertion order
//	scala immutable Map, 5 and more    a hash trie (CHAMP): scalaTrieOrder
//	scala mutable Map and Set          a bucket table:      scalaTableOrder
//	java.util.Properties               a bucket table:      propertiesOrder
//
// Readers must never depend on any of this; byte equality is for people who compare
// our znodes with Kafka's, and for tests against captures.

// javaHash is String.hashCode: over UTF-16 units, wrapping at 32 bits.
func javaHash(s string) int32 {
	var h int32
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(u)
	}
	return h
}

// spread is what both bucket tables do to a hash first: the index uses low bits only.
func spread(h int32) int32 { return h ^ int32(uint32(h)>>16) }

// scalaTableOrder sorts keys as scala.collection.mutable.HashMap (2.13) iterates: bucket
// by bucket, and inside a bucket by ascending spread hash. The table starts with 16
// buckets and doubles when an insertion would reach three quarters. Keys with equal
// hashes keep their given order (there: insertion order).
func scalaTableOrder[K any](keys []K, hash func(K) int32) []K {
	buckets := int32(16)
	for n := 1; n <= len(keys); n++ {
		if n >= int(float64(buckets)*0.75) {
			buckets *= 2
		}
	}
	out := slices.Clone(keys)
	slices.SortStableFunc(out, func(a, b K) int {
		ha, hb := spread(hash(a)), spread(hash(b))
		if ia, ib := ha&(buckets-1), hb&(buckets-1); ia != ib {
			return int(ia) - int(ib)
		}
		switch {
		case ha < hb:
			return -1
		case ha > hb:
			return 1
		}
		return 0
	})
	return out
}

// scalaTrieOrder sorts keys as scala.collection.immutable.HashMap (2.13) iterates: at
// each node, keys that are alone in their 5-bit slot come first, in slot order; then the
// sub-nodes, in slot order. Up to four keys there is no trie and the given order stays.
func scalaTrieOrder(keys []string) []string {
	if len(keys) <= 4 {
		return slices.Clone(keys)
	}
	return trieOrder(keys, 0)
}

func trieOrder(keys []string, shift uint) []string {
	if shift >= 32 || len(keys) <= 1 { // equal hashes: a collision node, in insertion order
		return keys
	}
	var slots [32][]string
	for _, k := range keys {
		slot := trieHash(k) >> shift & 31
		slots[slot] = append(slots[slot], k)
	}
	out := make([]string, 0, len(keys))
	for _, s := range slots {
		if len(s) == 1 {
			out = append(out, s[0])
		}
	}
	for _, s := range slots {
		if len(s) > 1 {
			out = append(out, trieOrder(s, shift+5)...)
		}
	}
	return out
}

// trieHash is scala.collection.Hashing.improve over the string's hash.
func trieHash(s string) uint32 {
	h := uint32(javaHash(s))
	h += ^(h << 9)
	h ^= h >> 14
	h += h << 4
	return h ^ h>>10
}

// propertiesOrder sorts keys as java.util.Properties iterates since Java 9, where it is a
// ConcurrentHashMap: bucket by bucket. 16 buckets, doubled once three quarters are
// used. Inside a bucket Java has the order of insertion, which a caller of ours does
// not have: there, and only there, keys are in alphabetical order instead.
func propertiesOrder(keys []string) []string {
	buckets := 16
	if n := len(keys); n >= 12 { // grows after the insertion that reaches 3/4
		buckets = 1 << bits.Len(uint(n*4/3))
	}
	out := slices.Clone(keys)
	slices.Sort(out)
	slices.SortStableFunc(out, func(a, b string) int {
		return int(spread(javaHash(a))&int32(buckets-1)) - int(spread(javaHash(b))&int32(buckets-1))
	})
	return out
}
