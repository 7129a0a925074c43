package clustertest

import (
	"cmp"
	"fmt"
	"slices"
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

// outOfOrder lists acknowledged records of one partition that lie before one that was sent earlier. A
// record that the producer gave up may still arrive, at any time: its request lies in a socket or a queue.
func outOfOrder(acks []Ack) []string {
	var wrong []string
	slices.SortFunc(acks, func(a, b Ack) int { return cmp.Compare(sequence(a.Value), sequence(b.Value)) })
	for i := 1; i < len(acks); i++ {
		if was, is := acks[i-1], acks[i]; is.Offset <= was.Offset {
			wrong = append(wrong, fmt.Sprintf("%s at %d, %s before it at %d", trim(is.Value), is.Offset, trim(was.Value), was.Offset))
		}
	}
	return wrong
}

// storedState is one version of a partition's state znode.
type storedState struct {
	at    time.Time
	state zkpaths.PartitionState
}

// statesAt is what the znode may have held at a time: ZooKeeper's stamps are whole milliseconds, so all
// that was written in the same one, and the newest before it.
func statesAt(history []storedState, at time.Time) (out []zkpaths.PartitionState) {
	at = at.Truncate(time.Millisecond)
	for i := len(history) - 1; i >= 0; i-- {
		if h := history[i]; !h.at.After(at) {
			out = append(out, h.state)
			if h.at.Before(at) {
				break
			}
		}
	}
	return out
}

// marked is a leader's high watermark, and the ISRs that it may have stood for.
type marked struct {
	Entry
	isrs [][]int32
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
	missing := func(m marked) bool {    // in each of the ISRs somebody is
		return !slices.ContainsFunc(m.isrs, func(isr []int32) bool {
			return !slices.ContainsFunc(isr, func(id int32) bool { return ends[m.Partition][id] < m.Offset })
		})
	}
	var wrong []string
	var open []marked // of this instant: within it, events have no order that counts
	settle := func() {
		for _, m := range open {
			if missing(m) {
				wrong = append(wrong, fmt.Sprintf("%s-%d epoch %d: broker %d raises the high watermark to %d; the ISR is %v, the logs end at %v",
					topic, m.Partition, m.LeaderEpoch, m.Node, m.Offset, m.isrs[0], ends[m.Partition]))
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
			if m, inOffice := mark(e, history[e.Partition]); inOffice && missing(m) {
				open = append(open, m)
			}
		}
	}
	settle()
	return wrong
}

// mark looks up what a leader's high watermark stands for; false if it is none, or that of a leader
// whose time has passed.
func mark(e Entry, history []storedState) (m marked, inOffice bool) {
	m = marked{Entry: e}
	for _, s := range statesAt(history, e.At) {
		if s.LeaderEpoch > e.LeaderEpoch {
			return m, false
		}
		if s.LeaderEpoch == e.LeaderEpoch {
			m.isrs = append(m.isrs, s.ISR)
		}
	}
	return m, e.Node == e.Leader && len(m.isrs) > 0
}

// badReads lists records that a consumer was given although no leader had a high watermark above them
// yet, and records that were given and are no longer there.
func badReads(entries []Entry, seen []read, stored map[int32]map[int64]string, topic string) []string {
	var wrong []string
	marks := map[int32]int64{} // partition → the highest mark of any leader so far
	i := 0
	for _, r := range seen {
		for ; i < len(entries) && !entries[i].At.After(r.at); i++ {
			e := entries[i]
			if e.Topic == topic && e.Node == e.Leader && (e.Kind == journal.HighWatermark || e.Kind == journal.BecameLeader) {
				marks[e.Partition] = max(marks[e.Partition], e.Offset)
			}
		}
		if r.offset >= marks[r.partition] {
			wrong = append(wrong, fmt.Sprintf("%s at %d of %s-%d was read when the high watermark was %d", trim(r.value), r.offset, topic, r.partition, marks[r.partition]))
		}
		if s, ok := stored[r.partition]; ok && s[r.offset] != r.value {
			wrong = append(wrong, fmt.Sprintf("%s at %d of %s-%d was read, and now there is %.40q", trim(r.value), r.offset, topic, r.partition, s[r.offset]))
		}
	}
	return wrong
}
