package replica

import (
	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Timestamps of ListOffsets with a meaning of their own.
const (
	LatestTimestamp   int64 = -1
	EarliestTimestamp int64 = -2
)

// debugReplica is the replica id of a debugging client, which any replica answers.
const debugReplica int32 = -2

// OffsetQuery is one partition of ListOffsets: Timestamp -1 latest, -2 earliest, else
// the first record at or after it.
type OffsetQuery struct {
	Partition          topic.Partition
	Timestamp          int64
	CurrentLeaderEpoch int32 // -1 unchecked
	ReplicaID          int32 // -1 consumer, who sees to the high watermark or last stable offset; others see to the log end
	ReadCommitted      bool
}

// ListOffset answers one partition of ListOffsets; a timestamp after the last record
// that the asker may see gives offset and timestamp -1, which is no error.
//
// A fresh leader whose high watermark is still behind the start of its epoch does not
// know what is committed; it answers consumers OFFSET_NOT_AVAILABLE rather than an
// offset that would seem to go back (KIP-207). Answer it as LEADER_NOT_AVAILABLE to
// versions below 5.
func (m *Manager) ListOffset(q OffsetQuery) (commitlog.TimestampOffset, error) {
	p, code := m.partition(q.Partition)
	if code != kafkaerr.None {
		return commitlog.TimestampOffset{}, code
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, code := p.localLog(q.CurrentLeaderEpoch, q.ReplicaID != debugReplica)
	if code != kafkaerr.None {
		return commitlog.TimestampOffset{}, code
	}
	if q.Timestamp == EarliestTimestamp {
		return p.earliest(log), nil
	}
	last, lagging := log.EndOffset(), false
	if q.ReplicaID == -1 {
		last = log.HighWatermark()
		lagging = last < p.epochStart // never on a follower, whose epochStart is -1
		if q.ReadCommitted {
			last = log.LastStableOffset()
		}
	}
	if q.Timestamp == LatestTimestamp {
		if lagging {
			return commitlog.TimestampOffset{}, kafkaerr.OffsetNotAvailable
		}
		return commitlog.TimestampOffset{Timestamp: -1, Offset: last, LeaderEpoch: p.leaderEpoch}, nil
	}
	found, ok, err := log.OffsetByTimestamp(q.Timestamp)
	switch {
	case err != nil:
		return commitlog.TimestampOffset{}, err
	case ok && found.Offset < last:
		return found, nil
	case lagging: // it may exist and not be known to be committed
		return commitlog.TimestampOffset{}, kafkaerr.OffsetNotAvailable
	}
	return commitlog.TimestampOffset{Timestamp: -1, Offset: -1, LeaderEpoch: -1}, nil
}

// earliest is the log start and the epoch it lies in, if that is known: the first
// epoch began there or before. p.mu is held.
func (p *Partition) earliest(log *commitlog.Log) commitlog.TimestampOffset {
	out := commitlog.TimestampOffset{Timestamp: -1, Offset: log.StartOffset(), LeaderEpoch: -1}
	epoch, ok := log.LatestEpoch()
	for ok {
		start, _ := log.EpochStart(epoch)
		if start <= out.Offset {
			out.LeaderEpoch = epoch
			break
		}
		epoch, _, _ = log.EndOffsetForEpoch(epoch - 1)
		_, ok = log.EpochStart(epoch) // not ok: epoch was the first one
	}
	return out
}

// EpochEnd answers OffsetForLeaderEpoch for one partition: the largest epoch that is
// not above the asked one, and the offset at which it ended here; (-1, -1) when this
// log knows none, also with an error.
func (m *Manager) EpochEnd(id topic.Partition, currentLeaderEpoch, epoch int32) (largest int32, end int64, code kafkaerr.Code) {
	p, code := m.partition(id)
	if code != kafkaerr.None {
		return -1, -1, code
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, code := p.localLog(currentLeaderEpoch, true)
	if code != kafkaerr.None {
		return -1, -1, code
	}
	largest, end, ok := log.EndOffsetForEpoch(epoch)
	if !ok {
		return -1, -1, kafkaerr.None
	}
	return largest, end, kafkaerr.None
}
