package replica

import (
	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
)

// isolation is how far into a log a reader may see.
//
//	logStart ............ lastStable ............ highWatermark ............ logEnd
//	    | read_committed may read | read_uncommitted too | only followers may read |
type isolation int8

const (
	toLogEnd isolation = iota
	toHighWatermark
	toLastStable
)

// bound is the end of what the isolation lets be read. p.mu need not be held.
func (i isolation) bound(log *commitlog.Log) commitlog.OffsetMetadata {
	if i == toLogEnd {
		return log.End()
	}
	mark := log.HighWatermarkMetadata()
	if i == toLastStable {
		if stable := log.LastStableOffset(); stable != mark.Offset {
			return commitlog.OffsetMetadata{Offset: stable, SegmentBase: -1, Position: -1}
		}
	}
	return mark
}

// readTerms is what one partition of a fetch asks.
type readTerms struct {
	FetchPartition
	maxBytes      int // the partition's and what is left of the request's
	isolation     isolation
	leaderOnly    bool
	minOneMessage bool // the first batch comes whole even if it is too large
	replica       int32
}

// read fills r from the log. The marks are taken before the data: an append that
// comes between must not make a follower look as if it had caught up. The lock is
// held for reading, so epoch check and data belong together.
func (p *Partition) read(t readTerms, r *FetchResult) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, code := p.localLog(t.CurrentLeaderEpoch, t.leaderOnly)
	if code != kafkaerr.None {
		r.Code = code
		return
	}
	hw, stable, start, end := log.HighWatermark(), log.LastStableOffset(), log.StartOffset(), log.EndOffset()
	var info commitlog.ReadInfo
	if t.LastFetchedEpoch >= 0 {
		epoch, epochEnd, code := divergence(log, t.FetchPartition, start)
		if code != kafkaerr.None {
			r.Code = code
			return
		}
		r.DivergingEpoch, r.DivergingEndOffset = epoch, epochEnd
	}
	if r.DivergingEpoch >= 0 {
		info.Start = commitlog.OffsetMetadata{Offset: t.Offset, SegmentBase: -1, Position: -1}
	} else {
		var err error
		bound := t.isolation.bound(log)
		if info, err = log.Read(t.Offset, t.maxBytes, bound, t.minOneMessage); err != nil {
			r.Code = kafkaerr.CodeOf(err)
			return
		}
		r.drained = t.Offset >= bound.Offset
	}
	r.HighWatermark, r.LastStableOffset, r.LogStartOffset = hw, stable, start
	r.Data = info.Data
	r.start, r.leaderEnd, r.epoch, r.incomplete = info.Start, end, p.leaderEpoch, info.FirstEntryIncomplete
	if r.drained {
		r.remote = p.inSyncFollower(t.replica)
	}
}

// inSyncFollower is what is known of a member of the ISR, nil of any other. p.mu is held.
func (p *Partition) inSyncFollower(id int32) *remoteReplica {
	for _, f := range p.remotes {
		if f.id == id && p.isr.inMaximal(id) {
			return f
		}
	}
	return nil
}

// divergence tells a Fetch v12 reader that its log left ours: the records below its
// fetch offset are of another history. It answers the largest epoch of ours that is
// not above the reader's last one, and where it ended here; (-1, -1) when the logs
// agree. Ref: Kafka 2.8 Partition.readRecords.
func divergence(log *commitlog.Log, f FetchPartition, logStart int64) (epoch int32, end int64, code kafkaerr.Code) {
	epoch, end, ok := log.EndOffsetForEpoch(f.LastFetchedEpoch)
	switch {
	case !ok || f.Offset < logStart:
		return -1, -1, kafkaerr.OffsetOutOfRange
	case epoch < f.LastFetchedEpoch || end < f.Offset:
		return epoch, end, kafkaerr.None
	}
	return -1, -1, kafkaerr.None
}

// snapshot is where a parked fetch stands: the place of the end of what it may read,
// and whether its log diverged meanwhile.
func (p *Partition) snapshot(f FetchPartition, iso isolation, leaderOnly bool) (end commitlog.OffsetMetadata, diverged bool, code kafkaerr.Code) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	log, code := p.localLog(f.CurrentLeaderEpoch, leaderOnly)
	if code != kafkaerr.None {
		return end, false, code
	}
	if f.LastFetchedEpoch >= 0 {
		epoch, epochEnd, ok := log.EndOffsetForEpoch(f.LastFetchedEpoch)
		diverged = !ok || epoch < f.LastFetchedEpoch || epochEnd < f.Offset
	}
	end = iso.bound(log)
	if end.SegmentBase < 0 { // only the offset is known: find its place
		placed, err := log.OffsetMetadata(end.Offset)
		if err != nil {
			return end, diverged, kafkaerr.CodeOf(err)
		}
		end = placed
	}
	return end, diverged, kafkaerr.None
}
