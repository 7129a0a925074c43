package assignor

import (
	"slices"

	"kz/internal/topic"
)

// assignSticky balances, and leaves as much as it can where it was.
func assignSticky(members Members, counts Counts) Assigned {
	return stick(members, counts, stickyClaim)
}

// stick is three steps: keep what may be kept, give away what nobody has, and move
// partitions from those with much to those with little until no move helps.
func stick(members Members, counts Counts, claimOf func(Subscription) claim) Assigned {
	s := &sticking{members: members, order: members.sorted(), out: members.nothing()}
	s.keep(counts, claimOf)
	if s.alike() {
		s.level(len(members.partitions(counts)))
	}
	for _, p := range members.partitions(counts) {
		if !s.owned[p] {
			s.give(p, s.least(p.Topic))
		}
	}
	for s.moveOne() {
	}
	for _, parts := range s.out {
		slices.SortFunc(parts, topic.Partition.Compare)
	}
	return s.out
}

// sticking is an assignment in the making.
type sticking struct {
	members Members
	order   []string // decides between equals, so that the result is the same each time
	out     Assigned
	owned   map[topic.Partition]bool
}

// keep leaves each partition with the member that claims it, if it still wants the
// topic and the partition exists. Of several claims that of the newest generation
// holds; two of the same generation are both void, since one of them is mistaken.
func (s *sticking) keep(counts Counts, claimOf func(Subscription) claim) {
	type holder struct {
		member     string
		generation int32
		void       bool
	}
	best := map[topic.Partition]holder{}
	for _, id := range s.order {
		c := claimOf(s.members[id])
		for _, p := range c.parts {
			if !s.members.wants(id, p.Topic) || p.Partition < 0 || int(p.Partition) >= counts[p.Topic] {
				continue
			}
			h, taken := best[p]
			switch {
			case !taken || c.generation > h.generation:
				best[p] = holder{member: id, generation: c.generation}
			case c.generation == h.generation && h.member != id:
				h.void = true
				best[p] = h
			}
		}
	}
	s.owned = map[topic.Partition]bool{}
	for _, p := range s.members.partitions(counts) {
		if h, ok := best[p]; ok && !h.void {
			s.give(p, h.member)
		}
	}
}

func (s *sticking) give(p topic.Partition, member string) {
	s.out[member] = append(s.out[member], p)
	s.owned[p] = true
}

// alike says whether all members want the same topics.
func (s *sticking) alike() bool {
	var first []string
	for i, id := range s.order {
		t := slices.Sorted(slices.Values(s.members[id].Topics))
		if t = slices.Compact(t); i == 0 {
			first = t
		} else if !slices.Equal(first, t) {
			return false
		}
	}
	return true
}

// level takes from members what is above their share: total/n each, and one more for
// as many members as the remainder allows. Those who have most keep the one more.
// What it takes is then dealt out: nothing moves that need not.
// Mirrors AbstractStickyAssignor.constrainedAssign.
func (s *sticking) level(total int) {
	share, more := total/len(s.order), total%len(s.order)
	for _, id := range s.order {
		quota := share
		if len(s.out[id]) > share && more > 0 {
			quota++
			more--
		}
		if len(s.out[id]) <= quota {
			continue
		}
		for _, p := range s.out[id][quota:] {
			delete(s.owned, p)
		}
		s.out[id] = s.out[id][:quota]
	}
}

// least is the member with the fewest partitions that wants the topic.
func (s *sticking) least(name string) (best string) {
	for _, id := range s.order {
		if s.members.wants(id, name) && (best == "" || len(s.out[id]) < len(s.out[best])) {
			best = id
		}
	}
	return best
}

// moveOne moves one partition from its owner to a member that has at least two fewer:
// the only move that makes things more even. It reports false when there is none.
// Each move lowers the sum of the squares, so it ends.
func (s *sticking) moveOne() bool {
	rich := slices.Clone(s.order)
	slices.SortStableFunc(rich, func(a, b string) int { return len(s.out[b]) - len(s.out[a]) })
	for _, from := range rich {
		for i := len(s.out[from]) - 1; i >= 0; i-- {
			p := s.out[from][i]
			if to := s.least(p.Topic); len(s.out[to])+2 <= len(s.out[from]) {
				s.out[from] = slices.Delete(s.out[from], i, i+1)
				s.out[to] = append(s.out[to], p)
				return true
			}
		}
	}
	return false
}
