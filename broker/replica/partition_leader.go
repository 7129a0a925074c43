package replica

import (
	"fmt"
	"time"

	"kz/broker/commitlog"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/mutant"
)

// appended is a leader's append: what the log says of it, the reign it was made in,
// and whether it raised the high watermark.
type appended struct {
	info       commitlog.AppendInfo
	leadsSince int32
	hwMoved    bool
}

// appendAsLeader appends produced records. With acks=all the ISR must be large enough
// before anything is written. The lock is held for reading over the append, so the
// epoch stamped into the records is the one under which this broker leads.
func (p *Partition) appendAsLeader(records []byte, acks int16, origin commitlog.Origin) (appended, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.log == nil || !p.isLeader() {
		return appended{}, kafkaerr.Wrap(kafkaerr.NotLeaderOrFollower, "append to "+p.id.String(), nil)
	}
	// The committed ISR, not the maximal one: a follower that is about to join has not
	// promised anything yet.
	if min := p.log.Config().MinInsyncReplicas; acks == acksAll && len(p.isr.isr) < min {
		return appended{}, kafkaerr.Wrap(kafkaerr.NotEnoughReplicas, "append to "+p.id.String(),
			fmt.Errorf("the ISR %v is smaller than min.insync.replicas=%d", p.isr.isr, min))
	}
	info, err := p.log.AppendAsLeader(records, p.leaderEpoch, origin)
	if err != nil {
		return appended{}, err
	}
	if info.FirstOffset >= 0 && p.m.deps.Journal.On() {
		p.m.deps.Journal.Emit(journal.Event{
			Kind: journal.LeaderAppend, Source: "replica",
			Topic: p.id.Topic, Partition: p.id.Partition,
			Leader: p.leader, LeaderEpoch: p.leaderEpoch,
			Offset: info.FirstOffset, EndOffset: info.LastOffset + 1,
		})
	}
	hwMoved := p.raiseHighWatermark(time.Now()) // alone in the ISR: committed at once
	return appended{info, p.leadsSince, hwMoved}, nil
}

// leaderLogStart is the log start for a produce answer, or -1 where this broker does
// not lead.
func (p *Partition) leaderLogStart() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.log == nil || !p.isLeader() {
		return -1
	}
	return p.log.StartOffset()
}

// followerFetched notes that a follower fetched as r says: it has everything below
// r.start. It may propose the follower for the ISR and may raise the high watermark.
// known is false if the broker is no replica of the partition. A read of an earlier
// epoch says nothing any more: the follower may have truncated since.
func (p *Partition) followerFetched(id int32, r *FetchResult, logStart int64, now time.Time) (known, hwMoved bool) {
	p.mu.RLock()
	var remote *remoteReplica
	for _, f := range p.remotes {
		if f.id == id {
			remote = f
		}
	}
	if remote == nil || r.epoch != p.leaderEpoch {
		p.mu.RUnlock()
		return remote != nil, false
	}
	before, after := remote.update(func(f followerState) followerState {
		return f.fetched(r.start, logStart, r.leaderEnd, now)
	})
	leads := p.log != nil && p.isLeader()
	joins := leads && mayJoin(p.isr, id, after.end.Offset, p.log.HighWatermark(), p.epochStart)
	if leads && !joins && before.end.Offset != after.end.Offset {
		hwMoved = p.raiseHighWatermark(now)
	}
	p.mu.RUnlock()
	if joins { // first the ISR, then the mark: the mark must already wait for the joiner
		p.proposeJoin(remote)
		p.mu.RLock()
		hwMoved = p.log != nil && p.isLeader() && p.raiseHighWatermark(now)
		p.mu.RUnlock()
	}
	return true, hwMoved
}

// acked says whether acks=all records below required are done, and with which code.
// leadsSince is the reign in which they were appended.
func (p *Partition) acked(required int64, leadsSince int32) (done bool, code kafkaerr.Code) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.log == nil || !p.isLeader() || p.leadsSince != leadsSince {
		return true, kafkaerr.NotLeaderOrFollower
	}
	mark := p.log.HighWatermark()
	if mutant.AckBeforeISR() {
		mark = p.log.EndOffset()
	}
	done, enough := ackVerdict(mark, required, p.isr.maximalSize(), p.log.Config().MinInsyncReplicas)
	if done && !enough {
		return true, kafkaerr.NotEnoughReplicasAfterAppend
	}
	return done, kafkaerr.None
}
