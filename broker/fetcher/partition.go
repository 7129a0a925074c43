package fetcher

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"kz/broker/replica"
	"kz/internal/topic"
)

// phase is what a followed partition is doing.
type phase int8

const (
	truncating phase = iota // looking for the point where the logs agree; nothing is fetched
	fetching                // appending from offset on
)

// partition is one followed partition of a thread; the thread's lock guards it.
// Mirrors PartitionFetchState.
type partition struct {
	id          topic.Partition
	leaderEpoch int32 // of the LeaderAndIsr that made us follow
	phase       phase
	// offset is where to fetch next: always the local log's end while fetching. While
	// truncating it is the high watermark, the place to cut if there are no epochs.
	offset int64
	until  time.Time // after an error: leave it alone until then
	// refusals counts the errors the leader answered in this epoch; see backoffAfter.
	refusals int
	turn     uint64 // its place in the fetching order
}

// firstBackoff is how long a partition rests after the first refusal in an epoch.
const firstBackoff = 10 * time.Millisecond

// backoffAfter is how long a partition rests after the nth refusal in an epoch: 10 ms,
// doubling, at most replica.fetch.backoff.ms, which Kafka waits each time. A follower
// often hears of an election before its leader does; every acks=all record waits as long
// as it then rests.
func backoffAfter(refusals int, limit time.Duration) time.Duration {
	const enough = 20 // doublings; more than any limit needs
	return min(limit, firstBackoff<<min(refusals-1, enough))
}

func (p *partition) delayed(now time.Time) bool { return now.Before(p.until) }

// partitions are the partitions of one thread. A fetch looks at those that changed since
// the last one, not at all of them: a session's request says no more than that. So
// whoever changes a partition, or what its next request says, calls touch.
type partitions struct {
	at    map[topic.Partition]*partition
	turns uint64 // the highest turn given

	changed map[topic.Partition]struct{} // touched or removed since takeChanged
	cutting map[topic.Partition]struct{} // truncating
	resting map[topic.Partition]struct{} // delayed, or were until just now
}

func newPartitions() partitions {
	return partitions{
		at:      map[topic.Partition]*partition{},
		changed: map[topic.Partition]struct{}{},
		cutting: map[topic.Partition]struct{}{},
		resting: map[topic.Partition]struct{}{},
	}
}

func (ps *partitions) get(id topic.Partition) *partition { return ps.at[id] }

func (ps *partitions) len() int { return len(ps.at) }

// put adds a partition at the end, in place of an older one.
func (ps *partitions) put(p *partition) {
	ps.at[p.id] = p
	ps.moveToEnd(p)
}

// moveToEnd puts a partition behind the others: who got records goes there, so that a
// full answer does not starve the rest. It touches.
func (ps *partitions) moveToEnd(p *partition) {
	ps.turns++
	p.turn = ps.turns
	ps.touch(p)
}

// touch notes that something of p changed.
func (ps *partitions) touch(p *partition) {
	ps.changed[p.id] = struct{}{}
	keep(ps.cutting, p.id, p.phase == truncating)
	keep(ps.resting, p.id, !p.until.IsZero())
}

func keep(set map[topic.Partition]struct{}, id topic.Partition, in bool) {
	if in {
		set[id] = struct{}{}
	} else {
		delete(set, id)
	}
}

// rest leaves p alone until then.
func (ps *partitions) rest(p *partition, until time.Time) {
	p.until = until
	ps.touch(p)
}

// rested touches the partitions whose rest is over.
func (ps *partitions) rested(now time.Time) {
	for id := range ps.resting {
		if p := ps.at[id]; !p.delayed(now) {
			ps.rest(p, time.Time{})
		}
	}
}

func (ps *partitions) touchAll() {
	for _, p := range ps.at {
		ps.touch(p)
	}
}

func (ps *partitions) remove(id topic.Partition) {
	delete(ps.at, id)
	delete(ps.cutting, id)
	delete(ps.resting, id)
	ps.changed[id] = struct{}{}
}

// takeChanged is what was touched since it was called last, in order, and what was removed.
func (ps *partitions) takeChanged() (changed []*partition, gone []topic.Partition) {
	for id := range ps.changed {
		if p := ps.at[id]; p != nil {
			changed = append(changed, p)
		} else {
			gone = append(gone, id)
		}
	}
	clear(ps.changed)
	slices.SortFunc(changed, byTurn)
	slices.SortFunc(gone, topic.Partition.Compare)
	return changed, gone
}

// all lists the partitions in order.
func (ps *partitions) all() []*partition { return slices.SortedFunc(maps.Values(ps.at), byTurn) }

// truncating lists those of the phase, in order.
func (ps *partitions) truncating() (out []*partition) {
	for id := range ps.cutting {
		out = append(out, ps.at[id])
	}
	slices.SortFunc(out, byTurn)
	return out
}

func byTurn(a, b *partition) int { return cmp.Compare(a.turn, b.turn) }

// follow is the state in which a partition begins. A repeat of the epoch that we are
// at changes nothing: what was learned since stays.
func follow(id topic.Partition, s replica.FetchStart, current *partition) *partition {
	if current != nil && current.leaderEpoch == s.LeaderEpoch {
		return current
	}
	return &partition{id: id, leaderEpoch: s.LeaderEpoch, phase: truncating, offset: s.Offset}
}
