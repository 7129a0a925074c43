package commitlog

import (
	"fmt"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
)

// shouldRoll decides whether seg must make way for a new segment before n bytes with
// these offsets are appended. Mirrors LogSegment.shouldRoll.
//
//	it would grow beyond segment.bytes
//	it has records, and segment.ms (less its jitter) went by
//	an index has no room for another entry
//	the last offset is too far from its base for 32 bits
func shouldRoll(seg *Segment, c *Config, info AppendInfo, n int, now int64) (bool, error) {
	size := seg.size.Load()
	if size > int64(c.SegmentBytes-n) || seg.offsets.full() || seg.times.full() || !seg.holds(info.LastOffset) {
		return true, nil
	}
	if size == 0 {
		return false, nil
	}
	waited, err := seg.timeWaited(now, info.MaxTimestamp)
	return waited > c.rollMs()-seg.jitter, err
}

// roll closes the active segment and begins a new one at max(first, log end). The
// old one is fsynced later, by another goroutine. The caller holds mu, also over the
// moment log.roll.
func (l *Log) roll(first int64) (*Segment, error) {
	s := l.state.Load()
	base := max(first, s.end.Offset)
	old := s.active()
	segments := s.segments
	switch {
	case old.base == base && old.size.Load() == 0:
		// It is empty and named as the new one will be: full indexes without records
		// cannot happen otherwise than by a config that allows no entry at all.
		if err := l.retire([]*Segment{old}); err != nil {
			return nil, err
		}
		segments = segments[:len(segments)-1]
	case old.base >= base:
		return nil, kafkaerr.Wrap(kafkaerr.UnknownServerError, "roll "+l.partition.String(),
			fmt.Errorf("new segment at %d, but the active one begins at %d", base, old.base))
	default:
		if err := old.finish(); err != nil {
			return nil, err
		}
	}
	if err := l.snapshots.take(base); err != nil {
		return nil, err
	}
	l.journal.At(journal.MomentLogRoll, l.partition.String())
	seg, err := l.newSegment(base)
	if err != nil {
		return nil, err
	}
	segments = append(segments[:len(segments):len(segments)], seg)
	l.publish(func(s *logState) {
		s.segments = segments
		s.end = OffsetMetadata{s.end.Offset, base, 0}
		if s.hw.Offset == s.end.Offset {
			s.hw = s.end
		}
	})
	if l.journal.On() {
		l.journal.Emit(journal.Event{Kind: journal.Roll, Source: "commitlog", Topic: l.partition.Topic,
			Partition: l.partition.Partition, Offset: base})
	}
	l.keeper.flushLater(l)
	return seg, nil
}

// newSegment makes the files of a segment at base, deleting what a crashed broker
// may have left under those names.
func (l *Log) newSegment(base int64) (*Segment, error) {
	if err := l.d.remove(segmentFile(l.dir, base, txnIndexSuffix)); err != nil {
		return nil, err
	}
	return createSegment(l.d, l.dir, base, l.Config())
}
