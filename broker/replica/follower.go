package replica

import (
	"errors"

	"kz/broker/commitlog"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// followedLog is the log of a partition that this broker follows, or an error. p.mu
// is held.
func (p *Partition) followedLog() (*commitlog.Log, error) {
	if p.log == nil || p.leader == noLeader || p.isLeader() {
		return nil, kafkaerr.Wrap(kafkaerr.NotLeaderOrFollower, "follow "+p.id.String(), nil)
	}
	return p.log, nil
}

// FollowerAppend appends what the leader sent, offsets and epochs included, and takes
// over the leader's high watermark, as far as the log reaches, and log start. Empty
// records only do the latter. It fails with NOT_LEADER_OR_FOLLOWER when this broker
// no longer follows p at leaderEpoch. The records are written as they are, from the
// caller's buffer. The moments of a follower lie in broker/fetcher, which calls this
// under a lock of its own.
func (m *Manager) FollowerAppend(id topic.Partition, leaderEpoch int32, records []byte, leaderHW, leaderLogStart int64) (commitlog.AppendInfo, error) {
	p, code := m.partition(id)
	if code != kafkaerr.None {
		return commitlog.AppendInfo{}, code
	}
	info, hwMoved, err := p.appendAsFollower(leaderEpoch, records, leaderHW, leaderLogStart)
	if hwMoved {
		m.completeFetches(p, true) // consumers that read from this follower
	}
	return info, err
}

// appendAsFollower holds the lock for reading over the append: a LeaderAndIsr that
// changes leader or epoch waits for it, and none of its records come after.
func (p *Partition) appendAsFollower(leaderEpoch int32, records []byte, leaderHW, leaderLogStart int64) (info commitlog.AppendInfo, hwMoved bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, err := p.followedLog()
	if err != nil {
		return info, false, err
	}
	if p.leaderEpoch != leaderEpoch {
		return info, false, kafkaerr.Wrap(kafkaerr.NotLeaderOrFollower, "follow "+p.id.String()+" at an older epoch", nil)
	}
	info.FirstOffset, info.LastOffset = -1, -1
	if len(records) > 0 {
		if info, err = appendFetched(log, records); err != nil {
			return info, false, err
		}
	}
	j := p.m.deps.Journal
	if info.FirstOffset >= 0 && j.On() {
		j.Emit(journal.Event{
			Kind: journal.FollowerAppend, Source: "replica", Topic: p.id.Topic, Partition: p.id.Partition,
			Leader: p.leader, LeaderEpoch: p.leaderEpoch, Offset: info.FirstOffset, EndOffset: info.LastOffset + 1,
		})
	}
	// A follower learns of a new mark one fetch later than the leader makes it. Unlike
	// the leader's, the follower's may go back: it is what this leader says.
	before := log.HighWatermark()
	after := log.SetHighWatermark(leaderHW)
	if after != before && j.On() {
		j.Emit(journal.Event{
			Kind: journal.HighWatermark, Source: "replica", Topic: p.id.Topic, Partition: p.id.Partition,
			Leader: p.leader, LeaderEpoch: p.leaderEpoch, Offset: after,
		})
	}
	if leaderLogStart > log.StartOffset() {
		err = log.MaybeIncrementStartOffset(leaderLogStart)
	}
	return info, after > before, err
}

// appendFetched appends, and lets an empty log begin below its start where it must:
// the leader's log start may lie inside a batch (records were deleted), and batches
// are only sent whole.
// Ref: Kafka 2.8 Partition.appendRecordsToFollowerOrFutureReplica.
func appendFetched(log *commitlog.Log, records []byte) (commitlog.AppendInfo, error) {
	info, err := log.AppendAsFollower(records)
	var below *commitlog.UnexpectedOffset
	if !errors.As(err, &below) || below.LogEnd != log.StartOffset() || below.Last < below.LogEnd {
		return info, err
	}
	if err := log.TruncateFullyAndStartAt(below.First); err != nil {
		return info, err
	}
	return log.AppendAsFollower(records)
}

// FollowerLog gives the local log of a followed partition for truncation decisions.
// Errors: NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION.
func (m *Manager) FollowerLog(id topic.Partition) (*commitlog.Log, error) {
	p, code := m.partition(id)
	if code != kafkaerr.None {
		return nil, code
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.followedLog()
}

// FollowerTruncate cuts the log at offset: its records from there on are not the
// leader's. FollowerTruncateFully drops everything and starts over at offset.
func (m *Manager) FollowerTruncate(id topic.Partition, offset int64) error {
	return m.truncateFollower(id, offset, func(log *commitlog.Log) error {
		_, err := log.TruncateTo(offset)
		return err
	})
}

// FollowerTruncateFully drops the whole log and starts an empty one at offset.
func (m *Manager) FollowerTruncateFully(id topic.Partition, offset int64) error {
	return m.truncateFollower(id, offset, func(log *commitlog.Log) error { return log.TruncateFullyAndStartAt(offset) })
}

func (m *Manager) truncateFollower(id topic.Partition, offset int64, cut func(*commitlog.Log) error) error {
	p, code := m.partition(id)
	if code != kafkaerr.None {
		return code
	}
	return p.truncate(offset, cut)
}

func (p *Partition) truncate(offset int64, cut func(*commitlog.Log) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, err := p.followedLog()
	if err != nil {
		return err
	}
	end, hw := log.EndOffset(), log.HighWatermark()
	if offset < hw {
		p.m.log.Warn().Stringer("partition", p.id).Int64("offset", offset).Int64("high-watermark", hw).
			Msg("truncating below the high watermark")
	}
	if err := cut(log); err != nil {
		return err
	}
	if after := log.EndOffset(); after != end && p.m.deps.Journal.On() {
		p.m.deps.Journal.Emit(journal.Event{
			Kind: journal.Truncation, Source: "replica", Topic: p.id.Topic, Partition: p.id.Partition,
			Leader: p.leader, LeaderEpoch: p.leaderEpoch, Offset: after, EndOffset: end,
		})
	}
	return nil
}
