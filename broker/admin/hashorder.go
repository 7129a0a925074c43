package admin

import (
	"cmp"
	"slices"
)

// InHashOrder sorts the entries of one answer as Kafka's come: in the order of a Scala mutable.HashMap of
// their names, which is that of Java's but for names in one bucket. kafka-topics --describe prints them so,
// whichever broker answered. The order depends on the names and their number only.
func InHashOrder(entries []Entry) []Entry {
	table := int32(16)
	for int32(len(entries)) >= table*3/4 { // grows before the entry that would fill three quarters
		table *= 2
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		x, y := spreadHash(a.Name), spreadHash(b.Name)
		return cmp.Or(cmp.Compare(x&(table-1), y&(table-1)), cmp.Compare(x, y))
	})
	return entries
}

// spreadHash is String.hashCode of an ASCII name with its upper half folded into the lower.
func spreadHash(name string) int32 {
	var h int32
	for i := range len(name) {
		h = 31*h + int32(name[i])
	}
	return h ^ int32(uint32(h)>>16)
}
