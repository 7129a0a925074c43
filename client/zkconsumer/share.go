package zkconsumer

import "slices"

// shareOut is the rule "range": partitions sorted by number, threads sorted as strings
// (so c-10 comes before c-2); each thread gets a run of neighbours, the first ones one
// more. Every member computes this for itself. Mirrors RangeAssignor of 0.8.2.
func shareOut(partitions []int32, threads []string) map[int32]string {
	out := map[int32]string{}
	if len(threads) == 0 {
		return out
	}
	partitions, threads = slices.Sorted(slices.Values(partitions)), slices.Sorted(slices.Values(threads))
	each, more := len(partitions)/len(threads), len(partitions)%len(threads)
	for i, t := range threads {
		start, n := each*i+min(i, more), each
		if i < more {
			n++
		}
		for _, p := range partitions[start : start+n] {
			out[p] = t
		}
	}
	return out
}
