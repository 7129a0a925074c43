package replica

import (
	"slices"
	"testing"
	"time"

	"kz/broker/commitlog"
)

var epoch0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ago is a time d before epoch0; never is the zero time.
func ago(d time.Duration) time.Time { return epoch0.Add(-d) }

var never time.Time

func follower(id int32, end int64, caughtUp time.Time) followerState {
	return followerState{id: id, end: at(end), caughtUp: caughtUp}
}

func at(offset int64) commitlog.OffsetMetadata { return commitlog.OffsetMetadata{Offset: offset} }

func pendingJoin(joining int32, isr ...int32) *isrState {
	return &isrState{phase: pendingExpand, isr: isr, joining: joining}
}

func pendingLeave(leaving int32, isr ...int32) *isrState {
	return &isrState{phase: pendingShrink, isr: isr, leaving: []int32{leaving}}
}

// Ref: Kafka 2.8 cluster/Partition.scala, maybeIncrementLeaderHW.
func TestHighWatermark(t *testing.T) {
	const lag = 30 * time.Second
	for _, row := range []struct {
		name      string
		leaderEnd int64
		followers []followerState
		isr       *isrState
		want      int64
	}{
		{"alone in the ISR: the leader's end", 10, nil, committedISR([]int32{1}), 10},
		{"the slowest member of the ISR decides", 10, []followerState{follower(2, 7, ago(0)), follower(3, 4, ago(0))}, committedISR([]int32{1, 2, 3}), 4},
		{"a member that never fetched holds it back", 10, []followerState{follower(2, -1, never)}, committedISR([]int32{1, 2}), -1},
		{"a member counts however long it lags", 10, []followerState{follower(2, 3, ago(time.Hour))}, committedISR([]int32{1, 2}), 3},
		{"outside the ISR and behind: not waited for", 10, []followerState{follower(2, 3, ago(time.Hour))}, committedISR([]int32{1}), 10},
		{"outside the ISR but caught up lately: waited for, else it could never join", 10, []followerState{follower(2, 3, ago(lag))}, committedISR([]int32{1}), 3},
		{"a joiner counts before its write is confirmed", 10, []followerState{follower(2, 3, ago(time.Hour))}, pendingJoin(2, 1), 3},
		{"a leaver counts until its write is confirmed", 10, []followerState{follower(2, 3, ago(time.Hour))}, pendingLeave(2, 1, 2), 3},
		{"a follower ahead of the leader changes nothing", 10, []followerState{follower(2, 12, ago(0))}, committedISR([]int32{1, 2}), 10},
	} {
		if got := highWatermark(at(row.leaderEnd), row.followers, row.isr, epoch0, lag).Offset; got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, getOutOfSyncReplicas, isFollowerOutOfSync.
func TestOutOfSync(t *testing.T) {
	const lag = 30 * time.Second
	for _, row := range []struct {
		name      string
		isr       *isrState
		followers []followerState
		want      []int32
	}{
		{"at the end: stays however long ago it fetched", committedISR([]int32{1, 2}), []followerState{follower(2, 10, ago(time.Hour))}, nil},
		{"behind, caught up within the limit: stays", committedISR([]int32{1, 2}), []followerState{follower(2, 9, ago(lag))}, nil},
		{"behind for longer: leaves", committedISR([]int32{1, 2}), []followerState{follower(2, 9, ago(lag+1))}, []int32{2}},
		{"all that lag leave at once", committedISR([]int32{3, 1, 2}), []followerState{follower(2, 9, never), follower(3, 0, never)}, []int32{3, 2}},
		{"ahead of the leader counts as behind", committedISR([]int32{1, 2}), []followerState{follower(2, 11, never)}, []int32{2}},
		{"who is not in the ISR cannot leave", committedISR([]int32{1}), []followerState{follower(2, 9, never)}, nil},
		{"nobody leaves while a change is under way", pendingJoin(3, 1, 2), []followerState{follower(2, 9, never)}, nil},
		{"nor after one that failed", pendingLeave(2, 1, 2), []followerState{follower(2, 9, never)}, nil},
	} {
		if got := outOfSync(row.isr, 1, 10, row.followers, epoch0, lag); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, needsExpandIsr.
func TestMayJoin(t *testing.T) {
	for _, row := range []struct {
		name            string
		isr             *isrState
		end, hw, eStart int64
		want            bool
	}{
		{"at the high watermark and in this epoch: joins", committedISR([]int32{1}), 10, 10, 5, true},
		{"below the high watermark: not", committedISR([]int32{1}), 9, 10, 5, false},
		{"at the mark, which lags behind the epoch's start: not", committedISR([]int32{1}), 10, 10, 12, false},
		{"at the epoch's start exactly: joins", committedISR([]int32{1}), 12, 10, 12, true},
		{"a member already: not", committedISR([]int32{1, 2}), 10, 10, 5, false},
		{"a change is under way: not", pendingJoin(3, 1), 10, 10, 5, false},
		{"no epoch start, so no leader: not", committedISR([]int32{1}), 10, 10, -1, false},
	} {
		if got := mayJoin(row.isr, 2, row.end, row.hw, row.eStart); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}

func TestISRStateSets(t *testing.T) {
	join, leave := pendingJoin(3, 1, 2), pendingLeave(2, 1, 2)
	for _, row := range []struct {
		name     string
		s        *isrState
		proposed []int32
		maximal  []int32
	}{
		{"committed asks for itself", committedISR([]int32{1, 2}), []int32{1, 2}, []int32{1, 2}},
		{"a joiner is asked for and counts", join, []int32{1, 2, 3}, []int32{1, 2, 3}},
		{"a leaver is not asked for and counts", leave, []int32{1}, []int32{1, 2}},
	} {
		if got := row.s.proposed(); !slices.Equal(got, row.proposed) {
			t.Errorf("%s: proposed %v, want %v", row.name, got, row.proposed)
		}
		var maximal []int32
		for id := int32(1); id < 5; id++ {
			if row.s.inMaximal(id) {
				maximal = append(maximal, id)
			}
		}
		if !slices.Equal(maximal, row.maximal) || row.s.maximalSize() != len(row.maximal) {
			t.Errorf("%s: maximal %v of %d, want %v", row.name, maximal, row.s.maximalSize(), row.maximal)
		}
	}
	if join.mayEnter(pendingShrink) || leave.mayEnter(pendingExpand) || !join.mayEnter(committed) {
		t.Error("a pending change may only end, not turn into another")
	}
}

// Ref: Kafka 2.8 cluster/Replica.scala, updateFetchState.
func TestFetched(t *testing.T) {
	start := followerState{id: 2, end: unknownOffset, logStart: -1}
	for _, row := range []struct {
		name string
		f    followerState
		at   int64
		end  int64
		want time.Time
	}{
		{"asks for the leader's end: caught up now", start, 10, 10, epoch0},
		{"asks for more than the leader has: caught up now", start, 11, 10, epoch0},
		{"asks for the end of the previous fetch: caught up then",
			followerState{lastFetch: ago(time.Second), lastFetchEnd: 8}, 8, 10, ago(time.Second)},
		{"asks for less: unchanged",
			followerState{caughtUp: ago(time.Minute), lastFetch: ago(time.Second), lastFetchEnd: 9}, 8, 10, ago(time.Minute)},
		{"never goes back",
			followerState{caughtUp: ago(0), lastFetch: ago(time.Second), lastFetchEnd: 8}, 8, 10, ago(0)},
	} {
		got := row.f.fetched(at(row.at), 3, row.end, epoch0)
		if !got.caughtUp.Equal(row.want) {
			t.Errorf("%s: caught up %v, want %v", row.name, got.caughtUp, row.want)
		}
		if got.end.Offset != row.at || got.logStart != 3 || got.lastFetchEnd != row.end || !got.lastFetch.Equal(epoch0) {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

// Ref: Kafka 2.8 cluster/Partition.scala, makeLeader.
func TestUnderNewEpoch(t *testing.T) {
	old := followerState{id: 2, end: at(7), logStart: 1, caughtUp: ago(time.Hour), lastFetch: ago(time.Hour), lastFetchEnd: 7}
	for _, row := range []struct {
		name             string
		inISR, newLeader bool
		want             followerState
	}{
		{"same leader, in the ISR: gets the full lag time", true, false,
			followerState{id: 2, end: at(7), logStart: 1, caughtUp: epoch0, lastFetch: epoch0, lastFetchEnd: 9}},
		{"same leader, not in the ISR: counts as lagging", false, false,
			followerState{id: 2, end: at(7), logStart: 1, lastFetch: epoch0, lastFetchEnd: 9}},
		{"new leader: what was known of the end is dropped", true, true,
			followerState{id: 2, end: unknownOffset, logStart: -1, caughtUp: epoch0, lastFetchEnd: -1}},
	} {
		if got := old.underNewEpoch(9, epoch0, row.inISR, row.newLeader); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 server/ZkIsrManager.scala, maybePropagateIsrChanges.
func TestPropagationDue(t *testing.T) {
	const quiet, longest = 5 * time.Second, time.Minute
	for _, row := range []struct {
		name               string
		changed            int
		sinceChange, since time.Duration
		want               bool
	}{
		{"nothing changed", 0, time.Hour, time.Hour, false},
		{"changed just now, told not long ago: wait for more", 1, time.Second, 10 * time.Second, false},
		{"quiet for long enough", 1, quiet + 1, 10 * time.Second, true},
		{"changes without end: told in spite of it", 9, 0, longest + 1, true},
		{"the limits themselves are not past", 1, quiet, longest, false},
	} {
		if got := propagationDue(row.changed, row.sinceChange, row.since, quiet, longest); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
	}
}
