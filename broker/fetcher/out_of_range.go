package fetcher

import (
	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// rangeDecision is what a follower does when the leader does not have its offset.
type rangeDecision struct {
	truncateTo int64 // cut here; -1: do not
	restartAt  int64 // drop everything and begin here; -1: do not
}

// decideRange compares our log end with the leader's range. Afterwards the fetch goes
// on at our log end.
//
//	leader end < ours     an unclean election chose a shorter log: ours is cut to it
//	leader start > ours   we were away so long that what we need is deleted: start over
//	otherwise             the leader grew past our end while we asked: go on there
//
// In the last case the logs may differ below our end: that is the price of an unclean
// election. Ref: Kafka 2.8 AbstractFetcherThread.fetchOffsetAndTruncate.
func decideRange(localEnd, leaderStart, leaderEnd int64) rangeDecision {
	switch {
	case leaderEnd < localEnd:
		return rangeDecision{truncateTo: leaderEnd, restartAt: -1}
	case leaderStart > localEnd:
		return rangeDecision{truncateTo: -1, restartAt: leaderStart}
	}
	return rangeDecision{truncateTo: -1, restartAt: -1}
}

// outOfRange handles OFFSET_OUT_OF_RANGE; true means: try again later. The leader is
// asked with no lock held; then the partition must still be as it was.
func (t *thread) outOfRange(id topic.Partition, terms fetchTerms) (retry bool) {
	log, err := t.m.replica.FollowerLog(id)
	if err != nil {
		return true
	}
	localEnd := log.EndOffset()
	start, end := int64(-1), int64(-1)
	end, code := t.leaderOffset(id, terms.leaderEpoch, replica.LatestTimestamp)
	if code == kafkaerr.None && end >= localEnd {
		start, code = t.leaderOffset(id, terms.leaderEpoch, replica.EarliestTimestamp)
	}
	d := decideRange(localEnd, start, end)
	retry, cut := t.applyRange(id, terms, code, d)
	if cut {
		t.at(journal.MomentFollowerTruncated, id)
	}
	return retry
}

func (t *thread) leaderOffset(id topic.Partition, leaderEpoch int32, timestamp int64) (int64, kafkaerr.Code) {
	offset, code, err := t.leader.listOffset(t.ctx, id, leaderEpoch, timestamp)
	if err != nil {
		t.log.Warn().Err(err).Stringer("partition", id).Msg("could not ask for the leader's range")
		return -1, kafkaerr.UnknownServerError
	}
	return offset, code
}

// applyRange acts on the decision, or on the code that the leader answered instead.
func (t *thread) applyRange(id topic.Partition, terms fetchTerms, code kafkaerr.Code, d rangeDecision) (retry, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.current(id, terms)
	switch {
	case p == nil:
		return false, false
	case code == kafkaerr.FencedLeaderEpoch:
		return t.fenced(id, terms.leaderEpoch), false
	case code != kafkaerr.None:
		return true, false
	}
	log, err := t.m.replica.FollowerLog(id)
	switch {
	case err != nil:
	case d.truncateTo >= 0:
		err = t.m.replica.FollowerTruncate(id, d.truncateTo)
	case d.restartAt >= 0:
		err = t.m.replica.FollowerTruncateFully(id, d.restartAt)
	}
	if err != nil {
		t.fail(id, err)
		return false, false
	}
	p.offset = log.EndOffset() // what was decided, or the start of the batch that it lies in
	t.log.Warn().Stringer("partition", id).Int64("from", terms.offset).Int64("to", p.offset).
		Msg("fetch offset out of the leader's range; reset")
	t.parts.moveToEnd(p)
	return false, d.truncateTo >= 0 || d.restartAt >= 0
}
