package clustertest

import (
	"fmt"
	"time"

	"kz/internal/journal"
	"kz/zkpaths"
)

// twoLeaders is TwoLeadersInOneEpoch for a chronicle.
func twoLeaders(entries []Entry) []string {
	events := make([]journal.Event, len(entries))
	for i, e := range entries {
		events[i] = e.Event
	}
	return TwoLeadersInOneEpoch(events)
}

// storedState is one version of a partition's state znode.
type storedState struct {
	at    time.Time
	state zkpaths.PartitionState
}

// stateAt is the newest state at a time. ZooKeeper's stamps are whole milliseconds.
func stateAt(history []storedState, at time.Time) (zkpaths.PartitionState, bool) {
	for i := len(history) - 1; i >= 0; i-- {
		if !history[i].at.After(at) {
			return history[i].state, true
		}
	}
	return zkpaths.PartitionState{}, false
}

// marked is a leader's high watermark, and who of the ISR did not have all below it.
type marked struct {
	Entry
	isr []int32
}

// uncommitted lists the moments at which a leader in office raised its high watermark above what a
// member of the ISR in ZooKeeper had. A leader may count more members than ZooKeeper names, never fewer.
// A deposed leader is left out: its ISR is history, and what it lets out is held against what stays.
func uncommitted(entries []Entry, txns []Txn, topic string) []string {
	history := map[int32][]storedState{}
	for _, x := range txns {
		for p := range int32(8) {
			if x.Path == zkpaths.PartitionStatePath(topic, p) {
				if s, err := zkpaths.DecodePartitionState(x.Data); err == nil {
					history[p] = append(history[p], storedState{x.At, s})
				}
			}
		}
	}
	ends := map[int32]map[int32]int64{} // partition → broker → log end
	missing := func(m marked) (int32, bool) {
		for _, id := range m.isr {
			if ends[m.Partition][id] < m.Offset {
				return id, true
			}
		}
		return 0, false
	}
	var wrong []string
	var open []marked // of this instant: within it, events have no order that counts
	settle := func() {
		for _, m := range open {
			if id, bad := missing(m); bad {
				wrong = append(wrong, fmt.Sprintf("%s-%d epoch %d: broker %d raises the high watermark to %d, but broker %d of the ISR %v ends at %d",
					topic, m.Partition, m.LeaderEpoch, m.Node, m.Offset, id, m.isr, ends[m.Partition][id]))
			}
		}
		open = nil
	}
	var now time.Time
	for _, e := range entries {
		if e.Topic != topic {
			continue
		}
		if !e.At.Equal(now) {
			settle()
			now = e.At
		}
		if ends[e.Partition] == nil {
			ends[e.Partition] = map[int32]int64{}
		}
		switch e.Kind {
		case journal.LeaderAppend, journal.FollowerAppend, journal.BecameLeader, journal.BecameFollower:
			ends[e.Partition][e.Node] = e.EndOffset
		case journal.Truncation:
			ends[e.Partition][e.Node] = e.Offset
		case journal.HighWatermark:
			if s, ok := stateAt(history[e.Partition], e.At); ok && e.Node == e.Leader && s.LeaderEpoch == e.LeaderEpoch {
				m := marked{e, s.ISR}
				if _, bad := missing(m); bad {
					open = append(open, m)
				}
			}
		}
	}
	settle()
	return wrong
}

// badReads lists records that a consumer was given although no leader had a high watermark above them
// yet, and records that were given and are no longer there.
func badReads(entries []Entry, seen []read, stored map[int32]map[int64]string, topic string) []string {
	var wrong []string
	mark := map[int32]int64{} // partition → the highest mark of any leader so far
	i := 0
	for _, r := range seen {
		for ; i < len(entries) && !entries[i].At.After(r.at); i++ {
			e := entries[i]
			if e.Topic == topic && e.Node == e.Leader && (e.Kind == journal.HighWatermark || e.Kind == journal.BecameLeader) {
				mark[e.Partition] = max(mark[e.Partition], e.Offset)
			}
		}
		if r.offset >= mark[r.partition] {
			wrong = append(wrong, fmt.Sprintf("%s at %d of %s-%d was read when the high watermark was %d", trim(r.value), r.offset, topic, r.partition, mark[r.partition]))
		}
		if s, ok := stored[r.partition]; ok && s[r.offset] != r.value {
			wrong = append(wrong, fmt.Sprintf("%s at %d of %s-%d was read, and now there is %.40q", trim(r.value), r.offset, topic, r.partition, s[r.offset]))
		}
	}
	return wrong
}
