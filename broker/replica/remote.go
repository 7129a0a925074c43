package replica

import (
	"sync"
	"time"

	"kz/broker/commitlog"
)

// unknownOffset is the log end of a follower that has not fetched yet. It is below
// every real offset, so it holds the high watermark back.
var unknownOffset = commitlog.OffsetMetadata{Offset: -1, SegmentBase: -1, Position: -1}

// followerState is what a leader knows of one follower: only what its fetches said.
// Mirrors kafka.cluster.Replica.
type followerState struct {
	id       int32
	end      commitlog.OffsetMetadata // the offset of its latest fetch: it has everything below
	logStart int64                    // its log start, as it said; -1 unknown

	// caughtUp is the latest time at which the follower is known to have had all
	// that the leader had then. Zero: never.
	caughtUp time.Time

	lastFetch    time.Time // when the latest fetch came …
	lastFetchEnd int64     // … and the leader's log end at that moment
}

// fetched is the state after a fetch at offset "at", which came at "now" when the
// leader's log ended at leaderEnd. A follower that asks for the leader's end has
// caught up now. One that asks for what was the end at its previous fetch had caught
// up then; without that rule a follower of a busy leader would never count as
// caught up, because new records arrive between any two fetches.
func (f followerState) fetched(at commitlog.OffsetMetadata, logStart, leaderEnd int64, now time.Time) followerState {
	switch {
	case at.Offset >= leaderEnd:
		f.caughtUp = later(f.caughtUp, now)
	case at.Offset >= f.lastFetchEnd:
		f.caughtUp = later(f.caughtUp, f.lastFetch)
	}
	f.end, f.logStart = at, logStart
	f.lastFetch, f.lastFetchEnd = now, leaderEnd
	return f
}

// idle is the state after fetches of a session that did not name the partition: it had
// all that the leader had, which ended at "end", and the latest of them came at "at".
func (f followerState) idle(end int64, at time.Time) followerState {
	if f.end.Offset != end || !at.After(f.lastFetch) { // another session of it said more
		return f
	}
	f.caughtUp = later(f.caughtUp, at)
	f.lastFetch, f.lastFetchEnd = at, end
	return f
}

// underNewEpoch is the state at the start of a leader epoch. A member of the ISR gets
// the full lag time from now on; nobody else counts as caught up. If this broker
// became the leader only now, what it knew of the follower's end is from an older
// time and is dropped.
func (f followerState) underNewEpoch(leaderEnd int64, now time.Time, inISR, newLeader bool) followerState {
	f.lastFetch, f.lastFetchEnd, f.caughtUp = now, leaderEnd, time.Time{}
	if inISR {
		f.caughtUp = now
	}
	if newLeader {
		f.end, f.logStart = unknownOffset, -1
		f.lastFetch, f.lastFetchEnd = time.Time{}, -1
	}
	return f
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// remoteReplica is the place of a followerState. Many fetches may write it at once
// under the partition's read lock, hence a lock of its own.
type remoteReplica struct {
	id int32

	mu    sync.Mutex // guards state; the last lock of the room: nothing is taken under it
	state followerState
}

func newRemoteReplica(id int32) *remoteReplica {
	return &remoteReplica{id: id, state: followerState{id: id, end: unknownOffset, logStart: -1}}
}

func (r *remoteReplica) load() followerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// update replaces the state by f of it and returns both.
func (r *remoteReplica) update(f func(followerState) followerState) (before, after followerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.state
	r.state = f(before)
	return before, r.state
}
