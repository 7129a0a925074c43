package fetcher

import (
	"time"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/mutant"
	"kz/internal/topic"
)

// epochQuestion asks where epoch ended on the leader, who must lead at leaderEpoch.
type epochQuestion struct {
	id          topic.Partition
	leaderEpoch int32
	epoch       int32
}

// epochAnswer is the largest epoch of the leader that is not above the asked one, and
// where it ended: both -1 when the leader knows none.
type epochAnswer struct {
	id    topic.Partition
	code  kafkaerr.Code
	epoch int32
	end   int64
}

// localEpoch is what the local log says of the epoch that the leader answered.
type localEpoch struct {
	epoch int32 // the largest that is not above it
	end   int64 // where that one ended here
	known bool  // false: the log has no epoch that old
}

// truncationOffset is where the follower cuts its log, and whether the logs then
// agree. logEnd is the local log's end, fallback its high watermark.
//
// The leader answered the largest epoch L of its log that is not above our last one.
// If we have L too, the logs agree up to where the shorter of the two L's ended. If we
// do not have it, our epochs above the largest one below L are not the leader's: cut
// them off and ask again with what is our last epoch then (KIP-279). If the leader
// knows none, or we none that old, there is nothing to compare: cut at the fallback or
// at the leader's offset.
// Ref: Kafka 2.8 AbstractFetcherThread.getOffsetTruncationState.
func truncationOffset(a epochAnswer, local localEpoch, logEnd, fallback int64) (offset int64, agreed bool) {
	switch {
	case a.end < 0:
		return fallback, true
	case a.epoch < 0 || !local.known:
		return min(a.end, logEnd), true
	case local.epoch != a.epoch:
		return min(local.end, logEnd), false
	}
	return min(a.end, local.end, logEnd), true
}

// maybeTruncate takes every truncating partition one step on.
func (t *thread) maybeTruncate() {
	questions, withoutEpochs := t.truncating(time.Now())
	for _, id := range withoutEpochs {
		t.truncate(id, nil)
	}
	if len(questions) == 0 {
		return
	}
	answers, err := t.leader.epochEnds(t.ctx, questions)
	if err != nil {
		t.log.Warn().Err(err).Int("partitions", len(questions)).Msg("could not ask where epochs ended")
	}
	asked := make(map[topic.Partition]epochQuestion, len(questions))
	for _, q := range questions {
		asked[q.id] = q
	}
	var again []topic.Partition
	for _, a := range answers {
		q, ok := asked[a.id]
		delete(asked, a.id)
		if ok && t.truncateTo(q, a) {
			again = append(again, a.id)
		}
	}
	for id := range asked { // no answer
		again = append(again, id)
	}
	t.delay(again...)
}

// truncating lists what must be truncated now: with the question to ask, or, for logs
// without epochs, to be cut at the high watermark.
func (t *thread) truncating(now time.Time) (questions []epochQuestion, withoutEpochs []topic.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts.truncating() {
		if p.delayed(now) {
			continue
		}
		log, err := t.m.replica.FollowerLog(p.id)
		if err != nil {
			t.parts.rest(p, now.Add(t.m.cfg.Backoff)) // it is about to be taken from us
			continue
		}
		if epoch, ok := log.LatestEpoch(); ok && !mutant.TruncateAtHW() {
			questions = append(questions, epochQuestion{p.id, p.leaderEpoch, epoch})
		} else {
			withoutEpochs = append(withoutEpochs, p.id)
		}
	}
	return questions, withoutEpochs
}

// truncateTo acts on one answer; true means: try again later.
func (t *thread) truncateTo(q epochQuestion, a epochAnswer) (retry bool) {
	switch a.code {
	case kafkaerr.None:
		t.truncate(q.id, func(p *partition) (*epochAnswer, bool) { return &a, p.leaderEpoch == q.leaderEpoch })
		return false
	case kafkaerr.FencedLeaderEpoch:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.fenced(q.id, q.leaderEpoch)
	}
	t.log.Info().Stringer("partition", q.id).Str("code", a.code.Name()).Msg("the leader cannot say where the epoch ended")
	return true
}

// truncate cuts one partition's log under the lock, after a look that the answer is
// still to the point. Without an answer it cuts at the high watermark.
func (t *thread) truncate(id topic.Partition, answer func(*partition) (a *epochAnswer, valid bool)) {
	if t.truncateLocked(id, answer) {
		t.at(journal.MomentFollowerTruncated, id)
	}
}

func (t *thread) truncateLocked(id topic.Partition, answer func(*partition) (*epochAnswer, bool)) (cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.parts.get(id)
	if p == nil || p.phase != truncating {
		return false
	}
	log, err := t.m.replica.FollowerLog(id)
	if err != nil {
		t.fail(id, err)
		return false
	}
	offset, agreed := p.offset, true
	if answer != nil {
		a, valid := answer(p)
		if !valid {
			return false
		}
		var local localEpoch
		local.epoch, local.end, local.known = log.EndOffsetForEpoch(a.epoch)
		offset, agreed = truncationOffset(*a, local, log.EndOffset(), p.offset)
	}
	if err := t.m.replica.FollowerTruncate(id, offset); err != nil {
		t.fail(id, err)
		return false
	}
	p.offset = log.EndOffset() // below offset where that lies inside a batch
	if agreed {
		p.phase = fetching
	}
	t.parts.touch(p)
	return true
}
