package assignor

// assignRoundRobin deals all partitions of all topics around the ring of members,
// passing over those that do not want the topic.
func assignRoundRobin(members Members, counts Counts) Assigned {
	out := members.nothing()
	ring, at := members.sorted(), 0
	for _, p := range members.partitions(counts) {
		for !members.wants(ring[at], p.Topic) {
			at = (at + 1) % len(ring)
		}
		out[ring[at]] = append(out[ring[at]], p)
		at = (at + 1) % len(ring)
	}
	return out
}
