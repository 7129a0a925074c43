package fetcher

import (
	"fmt"
	"time"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// fetchTerms is what a fetch asks for one partition, and what the leader remembers of
// it in a session.
type fetchTerms struct {
	offset      int64
	logStart    int64 // ours: the leader reckons with it when records are deleted
	leaderEpoch int32
}

// wanted is one partition of a fetch.
type wanted struct {
	id topic.Partition
	fetchTerms
}

// fetchAnswer is the leader's answer to a fetch.
type fetchAnswer struct {
	code      kafkaerr.Code
	sessionID int32
	parts     []fetched
	memory    interface{ Release() } // what the records lie in; nil: the garbage collector's
}

// release gives the records' memory back, so that the next answer is read into it. They
// must not be touched afterwards.
func (a *fetchAnswer) release() {
	if a.memory != nil {
		a.memory.Release()
	}
}

// fetched is the answer for one partition. records are valid until the answer's release.
type fetched struct {
	id            topic.Partition
	code          kafkaerr.Code
	highWatermark int64
	logStart      int64
	records       []byte
}

// maybeFetch sends one fetch and deals with its answer. false: there was nothing to
// ask for.
func (t *thread) maybeFetch() bool {
	req := t.sent.build(t.ready(time.Now(), t.sent.full()))
	if len(t.sent.parts) == 0 && len(req.forget) == 0 {
		return false
	}
	t.m.journal.At(journal.MomentFollowerFetch, fmt.Sprintf("leader %d", t.key.broker))
	answer, err := t.leader.fetch(t.ctx, req)
	if err != nil {
		t.sent.lost()
		if t.ctx.Err() == nil {
			t.log.Warn().Err(err).Msg("fetch failed")
			t.delayAll()
		}
		return true
	}
	defer answer.release()
	if err := t.sent.answered(req, answer); err != nil {
		t.log.Info().Err(err).Msg("fetch answer not usable")
		if req.full() || !sessionError(answer.code) {
			t.delayAll() // a session that the leader forgot is begun anew at once
		}
		return true
	}
	var again []topic.Partition
	for i := range answer.parts {
		if t.take(&answer.parts[i]) {
			again = append(again, answer.parts[i].id)
		}
	}
	t.delay(again...)
	return true
}

func sessionError(code kafkaerr.Code) bool {
	return code == kafkaerr.FetchSessionIDNotFound || code == kafkaerr.InvalidFetchSessionEpoch
}

// ready lists, in order, what may be fetched now, and what may not: of all partitions for
// a full fetch, else of those that changed since the last call. Once a second it looks at
// all of them, because retention raises a log's start without telling us.
func (t *thread) ready(now time.Time, full bool) (want []wanted, not []topic.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts.rested(now)
	if full || now.Sub(t.lookedAtAll) >= time.Second {
		t.parts.touchAll()
		t.lookedAtAll = now
	}
	changed, not := t.parts.takeChanged()
	for _, p := range changed {
		if p.phase != fetching || p.delayed(now) {
			not = append(not, p.id)
			continue
		}
		log, err := t.m.replica.FollowerLog(p.id)
		if err != nil {
			t.parts.rest(p, now.Add(t.m.cfg.Backoff)) // it is about to be taken from us
			not = append(not, p.id)
			continue
		}
		want = append(want, wanted{p.id, fetchTerms{p.offset, log.StartOffset(), p.leaderEpoch}})
	}
	return want, not
}

func (t *thread) delayAll() {
	until := time.Now().Add(t.m.cfg.Backoff)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts.at {
		t.parts.rest(p, until)
	}
}

// take deals with one partition's answer; true means: try again later.
func (t *thread) take(f *fetched) (retry bool) {
	terms, asked := t.sent.parts[f.id]
	if !asked {
		return false
	}
	switch f.code {
	case kafkaerr.None:
		if len(f.records) > 0 {
			t.at(journal.MomentFollowerAppend, f.id)
		}
		return t.append(f, terms)
	case kafkaerr.OffsetOutOfRange:
		return t.outOfRange(f.id, terms)
	case kafkaerr.FencedLeaderEpoch:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.fenced(f.id, terms.leaderEpoch)
	case kafkaerr.UnknownLeaderEpoch, kafkaerr.NotLeaderOrFollower:
		// The leader has not heard what we have; or it moves. Normal in an election.
		t.log.Debug().Stringer("partition", f.id).Str("code", f.code.Name()).Msg("fetch refused")
		return true
	}
	t.log.Warn().Stringer("partition", f.id).Str("code", f.code.Name()).Int64("offset", terms.offset).Msg("fetch refused")
	return true
}

// current is the partition if the terms of a request are still its own: it may have
// been removed, moved to another epoch or truncated since. t.mu is held.
func (t *thread) current(id topic.Partition, terms fetchTerms) *partition {
	p := t.parts.get(id)
	if p == nil || p.phase != fetching || p.offset != terms.offset || p.leaderEpoch != terms.leaderEpoch || p.delayed(time.Now()) {
		return nil
	}
	return p
}

// append hands the records to the log, straight from the response's buffer.
func (t *thread) append(f *fetched, terms fetchTerms) (retry bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.current(f.id, terms)
	if p == nil {
		return false
	}
	log, err := t.m.replica.FollowerLog(f.id)
	if err == nil && log.EndOffset() != p.offset {
		err = fmt.Errorf("fetched from %d, but the log ends at %d", p.offset, log.EndOffset())
	}
	if err != nil {
		t.fail(f.id, err)
		return false
	}
	info, err := t.m.replica.FollowerAppend(f.id, p.leaderEpoch, f.records, f.highWatermark, f.logStart)
	switch code := kafkaerr.CodeOf(err); code {
	case kafkaerr.None:
	case kafkaerr.CorruptMessage, kafkaerr.InvalidRecord:
		// A torn answer, or the leader's log was being truncated: the next fetch may be good.
		t.log.Error().Err(err).Stringer("partition", f.id).Int64("offset", p.offset).Msg("fetched bad records")
		return true
	case kafkaerr.NotLeaderOrFollower:
		return true // a LeaderAndIsr is at work and will remove it
	default:
		t.fail(f.id, err)
		return false
	}
	if info.FirstOffset >= 0 {
		p.offset = info.LastOffset + 1
		t.parts.moveToEnd(p)
	} else {
		t.parts.touch(p) // its log start may have risen
	}
	return false
}
