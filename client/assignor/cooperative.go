package assignor

import (
	"slices"

	"kz/internal/topic"
)

// assignCooperative is sticky in two rounds. A partition that moves from one member to
// another is withheld in the first: its owner sees that it lost it, stops reading,
// and joins again; in the second round it is nobody's, and the new owner gets it.
// So no partition has two readers, though nobody stopped reading what stays.
// Mirrors CooperativeStickyAssignor.adjustAssignment.
func assignCooperative(members Members, counts Counts) Assigned {
	out := stick(members, counts, cooperativeClaim)
	owner := map[topic.Partition][]string{}
	for id, s := range members {
		for _, p := range s.Owned {
			owner[p] = append(owner[p], id)
		}
	}
	for id, parts := range out {
		out[id] = slices.DeleteFunc(parts, func(p topic.Partition) bool {
			return slices.ContainsFunc(owner[p], func(o string) bool { return o != id })
		})
	}
	return out
}
