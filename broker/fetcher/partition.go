package fetcher

import (
	"container/list"
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
}

func (p *partition) delayed(now time.Time) bool { return now.Before(p.until) }

// partitions are the partitions of one thread in fetching order: who got records goes
// to the end, so that a full answer does not starve the others.
type partitions struct {
	order *list.List // of *partition
	at    map[topic.Partition]*list.Element
}

func newPartitions() partitions {
	return partitions{order: list.New(), at: map[topic.Partition]*list.Element{}}
}

func (ps *partitions) get(id topic.Partition) *partition {
	if e := ps.at[id]; e != nil {
		return e.Value.(*partition)
	}
	return nil
}

// put adds a partition at the end, in place of an older one.
func (ps *partitions) put(p *partition) {
	ps.remove(p.id)
	ps.at[p.id] = ps.order.PushBack(p)
}

func (ps *partitions) moveToEnd(id topic.Partition) {
	if e := ps.at[id]; e != nil {
		ps.order.MoveToBack(e)
	}
}

func (ps *partitions) remove(id topic.Partition) {
	if e := ps.at[id]; e != nil {
		ps.order.Remove(e)
		delete(ps.at, id)
	}
}

func (ps *partitions) len() int { return len(ps.at) }

// all yields the partitions in order; the current one may be removed.
func (ps *partitions) all(yield func(*partition) bool) {
	for e := ps.order.Front(); e != nil; {
		next := e.Next()
		if !yield(e.Value.(*partition)) {
			return
		}
		e = next
	}
}

// follow is the state in which a partition begins. A repeat of the epoch that we are
// at changes nothing: what was learned since stays.
func follow(id topic.Partition, s replica.FetchStart, current *partition) *partition {
	if current != nil && current.leaderEpoch == s.LeaderEpoch {
		return current
	}
	return &partition{id: id, leaderEpoch: s.LeaderEpoch, phase: truncating, offset: s.Offset}
}
