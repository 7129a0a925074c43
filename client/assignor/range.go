package assignor

import "kz/internal/topic"

// assignRange gives, topic by topic, each member that wants the topic a run of
// neighbours; where it does not come out even, the first members get one more.
func assignRange(members Members, counts Counts) Assigned {
	out := members.nothing()
	order := members.sorted()
	for _, name := range members.topics() {
		var takers []string
		for _, id := range order {
			if members.wants(id, name) {
				takers = append(takers, id)
			}
		}
		each, more := counts[name]/len(takers), counts[name]%len(takers)
		next := 0
		for i, id := range takers {
			n := each
			if i < more {
				n++
			}
			for range n {
				out[id] = append(out[id], topic.Partition{Topic: name, Partition: int32(next)})
				next++
			}
		}
	}
	return out
}
