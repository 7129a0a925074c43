package replica

import (
	"fmt"
	"slices"
	"time"
)

// isrPhase is where a partition's ISR stands between memory and ZooKeeper.
type isrPhase int8

const (
	committed     isrPhase = iota // memory and the state znode agree
	pendingExpand                 // one replica is about to join: the write is under way
	pendingShrink                 // some are about to leave: the write is under way
)

func (p isrPhase) String() string {
	return [...]string{"committed", "pending-expand", "pending-shrink"}[p]
}

// nextPhases is the machine. Only the controller's word (LeaderAndIsr) leads from
// anywhere back to committed when a write failed: its outcome may be unknown, so the
// partition stays pending, serves on, and changes its ISR no more.
var nextPhases = map[isrPhase][]isrPhase{
	committed:     {pendingExpand, pendingShrink, committed}, // committed: LeaderAndIsr
	pendingExpand: {committed},                               // the write succeeded, or LeaderAndIsr
	pendingShrink: {committed},                               // the same
}

// isrState is a partition's ISR. It is immutable: a change makes a new one, and the
// pointer tells whether a write that ends is still the one that is awaited. Mirrors
// IsrState and its three classes.
type isrState struct {
	phase   isrPhase
	isr     []int32 // committed: what ZooKeeper held when we last knew
	joining int32   // pendingExpand
	leaving []int32 // pendingShrink, sorted as in isr
}

func committedISR(isr []int32) *isrState { return &isrState{phase: committed, isr: isr} }

// inMaximal says whether replica id counts for the high watermark: it is in the
// committed ISR or about to join. That is the larger of the two sets that ZooKeeper
// may hold while a write is under way, so a leader elected from either has every
// record below the mark.
func (s *isrState) inMaximal(id int32) bool {
	return slices.Contains(s.isr, id) || s.phase == pendingExpand && s.joining == id
}

// maximalSize is the number of replicas in the maximal ISR.
func (s *isrState) maximalSize() int {
	if s.phase == pendingExpand {
		return len(s.isr) + 1
	}
	return len(s.isr)
}

// proposed is the ISR that a pending state asks ZooKeeper for.
func (s *isrState) proposed() []int32 {
	switch s.phase {
	case pendingExpand:
		return append(slices.Clone(s.isr), s.joining)
	case pendingShrink:
		return slices.DeleteFunc(slices.Clone(s.isr), func(id int32) bool { return slices.Contains(s.leaving, id) })
	}
	return s.isr
}

func (s *isrState) mayEnter(next isrPhase) bool { return slices.Contains(nextPhases[s.phase], next) }

func (s *isrState) String() string {
	switch s.phase {
	case pendingExpand:
		return fmt.Sprintf("%v joined by %d (pending)", s.isr, s.joining)
	case pendingShrink:
		return fmt.Sprintf("%v left by %v (pending)", s.isr, s.leaving)
	}
	return fmt.Sprint(s.isr)
}

// outOfSync lists the members of the ISR that must leave: not at the leader's end,
// and not caught up within maxLag. A follower at the end stays however long ago it
// fetched, because there was nothing to fetch. Nobody leaves while a change is under
// way. Ref: Kafka 2.8 Partition.getOutOfSyncReplicas.
func outOfSync(s *isrState, self int32, leaderEnd int64, followers []followerState, now time.Time, maxLag time.Duration) []int32 {
	if s.phase != committed {
		return nil
	}
	var out []int32
	for _, id := range s.isr {
		if id == self {
			continue
		}
		i := slices.IndexFunc(followers, func(f followerState) bool { return f.id == id })
		if i >= 0 && followers[i].end.Offset != leaderEnd && now.Sub(followers[i].caughtUp) > maxLag {
			out = append(out, id)
		}
	}
	return out
}

// mayJoin says whether a follower that has everything below end may enter the ISR: it
// has all committed records, and some of this leader's epoch or at least all before
// it. The second condition matters right after an election, when the new leader's
// high watermark is still behind records that are committed: a follower admitted at
// the mark alone could become leader without them.
// Ref: Kafka 2.8 Partition.needsExpandIsr, isFollowerAtHighwatermark.
func mayJoin(s *isrState, id int32, end, highWatermark, epochStart int64) bool {
	return s.phase == committed && !slices.Contains(s.isr, id) &&
		end >= highWatermark && epochStart >= 0 && end >= epochStart
}
