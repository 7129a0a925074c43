package commitlog

import (
	"errors"
	"fmt"
	"math"

	"kz/internal/kafkaerr"
)

// TruncateTo removes every record at or above offset. A batch that holds offset goes
// as a whole: the log then ends where that batch began. Below the log end nothing
// else happens than that epochs beginning at or above the log end are forgotten.
// Mirrors Log.truncateTo.
func (l *Log) TruncateTo(offset int64) (truncated bool, err error) {
	if offset < 0 {
		return false, kafkaerr.Wrap(kafkaerr.UnknownServerError, "truncate "+l.partition.String(),
			fmt.Errorf("negative offset %d", offset))
	}
	l.mu.Lock()
	truncated, lowered, err := l.truncateTo(offset)
	l.mu.Unlock()
	return truncated, l.afterCut(lowered, err)
}

// afterCut makes a lowered recovery point and log start durable. Else a crash after
// new appends would leave unflushed records below the checkpointed recovery point,
// which the next start trusts, or records below the checkpointed log start, which it
// deletes.
func (l *Log) afterCut(lowered bool, err error) error {
	if err == nil && lowered {
		err = l.keeper.marksLowered(l)
	}
	return l.failed("truncate", err)
}

func (l *Log) truncateTo(offset int64) (truncated, lowered bool, err error) {
	if err := l.usable("truncate"); err != nil {
		return false, false, err
	}
	s := l.state.Load()
	if offset >= s.end.Offset {
		return false, false, l.epochs.truncateFromEnd(s.end.Offset)
	}
	if s.segments[0].base > offset {
		lowered, err := l.startOver(offset)
		return true, lowered, err
	}
	keep := s.floor(offset) + 1
	last := s.segments[keep-1]
	// Readers must not be led behind the cut, so the new picture is published
	// before the files change.
	cut, end, err := last.cutPoint(offset)
	if err != nil {
		return false, false, err
	}
	lowered = l.publishCut(s.segments[:keep:keep], OffsetMetadata{end, last.base, int(cut)}, min(s.start, end))
	if err := l.retire(s.segments[keep:]); err != nil {
		return true, lowered, err
	}
	if err := last.truncate(cut, end); err != nil {
		return true, lowered, err
	}
	if err := l.epochs.truncateFromEnd(end); err != nil {
		return true, lowered, err
	}
	if err := l.snapshots.settle(min(s.start, end), end); err != nil {
		return true, lowered, err
	}
	return true, lowered, l.snapshots.take(end)
}

// publishCut shows readers the shorter log. lowered: the recovery point or the log
// start went down.
func (l *Log) publishCut(segments []*Segment, end OffsetMetadata, start int64) (lowered bool) {
	l.publish(func(s *logState) {
		lowered = s.recovery > end.Offset || s.start > start
		s.segments, s.end, s.start = segments, end, start
		s.recovery = min(s.recovery, end.Offset)
		s.cuts++
		if s.hw.Offset >= end.Offset || s.hw.Offset < start {
			s.hw = end
		}
	})
	return lowered
}

// cutPoint finds where a truncation to offset cuts: the position of the batch that
// holds it, and the log end that results.
func (s *Segment) cutPoint(offset int64) (position, end int64, err error) {
	f, err := s.file.acquire()
	if err != nil {
		return 0, 0, err
	}
	defer s.file.release()
	p, found, err := s.find(f, offset, s.size.Load())
	if err != nil {
		return 0, 0, err
	}
	if !found {
		return s.size.Load(), offset, nil
	}
	end = offset
	if p.header.magic >= 2 {
		end = min(offset, p.header.base)
	}
	return p.position, end, nil
}

// truncate cuts the segment, which is the active one from now on, at position. The
// caller holds the log's lock.
func (s *Segment) truncate(position, end int64) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	s.size.Store(position)
	if err := errors.Join(s.offsets.truncateTo(end), s.times.truncateTo(end)); err != nil {
		return err
	}
	if err := s.d.truncate(f, s.file.path, position); err != nil {
		return err
	}
	if err := truncateTxnIndex(s.d, segmentFile(dirOf(s.file.path), s.base, txnIndexSuffix), end); err != nil {
		return err
	}
	if position == 0 {
		s.created = nowMs()
		s.firstTimestamp, s.firstLoaded = -1, false
	}
	s.bytesSinceEntry = 0
	if s.maxTimestamp.Load() < 0 {
		return nil
	}
	return s.loadMaxTimestamp()
}

// loadMaxTimestamp takes the last time index entry, and looks at the batches after
// it for a larger one.
func (s *Segment) loadMaxTimestamp() error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	largest, at := s.times.lastTimestamp, s.times.lastOffset
	from, err := s.offsets.lookup(s.times.lastOffset)
	if err != nil {
		return err
	}
	err = walkBatches(s.d, f, s.file.name(), from.Position, s.size.Load(), false, func(h batchHeader, _ int64, _ []byte) error {
		if h.maxTimestamp > largest {
			largest, at = h.maxTimestamp, h.last
		}
		return nil
	})
	s.maxTimestamp.Store(largest)
	s.offsetOfMaxTimestamp = at
	return err
}

// TruncateFullyAndStartAt deletes everything and begins anew at offset, which may be
// above the old log end: a follower that fell behind its leader's log start.
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	if offset < 0 {
		return kafkaerr.Wrap(kafkaerr.UnknownServerError, "truncate "+l.partition.String(),
			fmt.Errorf("negative offset %d", offset))
	}
	l.mu.Lock()
	lowered, err := false, l.usable("truncate")
	if err == nil {
		lowered, err = l.startOver(offset)
	}
	l.mu.Unlock()
	return l.afterCut(lowered, err)
}

// startOver is TruncateFullyAndStartAt under mu.
func (l *Log) startOver(offset int64) (lowered bool, err error) {
	old := l.state.Load().segments
	if err := l.retire(old); err != nil {
		return false, err
	}
	seg, err := l.newSegment(offset)
	if err != nil {
		return false, err
	}
	lowered = l.publishCut([]*Segment{seg}, OffsetMetadata{offset, offset, 0}, offset)
	if err := l.epochs.clear(); err != nil {
		return lowered, err
	}
	if err := l.snapshots.drop(func(int64) bool { return true }); err != nil {
		return lowered, err
	}
	l.snapshots.last = offset
	return lowered, nil
}

// MaybeIncrementStartOffset raises the log start, as DeleteRecords and a leader's
// log start do. Segments below it go with the next retention run. Above the high
// watermark: OFFSET_OUT_OF_RANGE.
func (l *Log) MaybeIncrementStartOffset(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed("raise the log start of", l.raiseStart(offset))
}

func (l *Log) raiseStart(offset int64) error {
	if err := l.usable("raise the log start of"); err != nil {
		return err
	}
	raised, hw := false, int64(math.MaxInt64)
	l.publish(func(s *logState) {
		if offset > s.hw.Offset {
			hw = s.hw.Offset
			return
		}
		if raised = offset > s.start; raised {
			s.start = offset
			s.recovery = max(s.recovery, offset)
		}
	})
	if hw != math.MaxInt64 {
		return kafkaerr.Wrap(kafkaerr.OffsetOutOfRange, "raise the log start of "+l.partition.String(),
			fmt.Errorf("to %d, above the high watermark %d", offset, hw))
	}
	if !raised {
		return nil
	}
	l.snapshots.relearn(offset)
	return l.epochs.truncateFromStart(offset)
}
