package commitlog

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

func dirOf(path string) string { return filepath.Dir(path) }

// DeleteOldSegments deletes what retention no longer keeps: by time and by size on
// topics whose cleanup.policy holds delete, and always what lies wholly below the
// log start. Mirrors Log.deleteOldSegments. Only cleanup.policy=compact logs keep
// growing: they are not compacted yet.
func (l *Log) DeleteOldSegments() (int, error) {
	c := l.Config()
	n := 0
	var rules []func(s *logState) int
	if c.Delete {
		now := nowMs()
		rules = append(rules,
			func(s *logState) int { return s.tooOld(now, c.RetentionMs) },
			func(s *logState) int { return s.tooMuch(c.RetentionBytes) })
	}
	rules = append(rules, (*logState).belowStart)
	for _, rule := range rules {
		k, err := l.deleteFront(rule)
		n += k
		if err != nil {
			return n, l.failed("delete old segments of", err)
		}
	}
	return n, nil
}

// deletable says how many segments from the oldest on may go, at most: those whose
// records are all below the high watermark, and not an empty active one.
func (s *logState) deletable() int {
	for i, seg := range s.segments {
		if i == len(s.segments)-1 {
			if s.hw.Offset >= s.end.Offset && seg.size.Load() > 0 {
				return i + 1
			}
			return i
		}
		if s.hw.Offset < s.segments[i+1].base {
			return i
		}
	}
	return 0
}

// The three rules: how many segments from the oldest on break it.

func (s *logState) tooOld(now, retentionMs int64) int {
	n := 0
	for limit := s.deletable(); n < limit && retentionMs >= 0; n++ {
		if now-s.segments[n].largestTimestamp() <= retentionMs {
			break
		}
	}
	return n
}

func (s *logState) tooMuch(retentionBytes int64) int {
	excess := s.size() - retentionBytes
	n := 0
	for limit := s.deletable(); n < limit && retentionBytes >= 0; n++ {
		size := s.segments[n].size.Load()
		if excess-size < 0 {
			break
		}
		excess -= size
	}
	return n
}

func (s *logState) belowStart() int {
	n := 0
	for limit := min(s.deletable(), len(s.segments)-1); n < limit; n++ {
		if s.segments[n+1].base > s.start {
			break
		}
	}
	return n
}

// deleteFront deletes as many segments as rule says. If all are to go, a new empty
// one is rolled first, so that the log keeps its end.
func (l *Log) deleteFront(rule func(*logState) int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Load() != nil {
		return 0, nil
	}
	s := l.state.Load()
	n := rule(s)
	if n == 0 {
		return 0, nil
	}
	if n == len(s.segments) {
		if _, err := l.roll(0); err != nil {
			return 0, err
		}
		s = l.state.Load()
	}
	old, rest := s.segments[:n], slices.Clone(s.segments[n:])
	l.publish(func(s *logState) {
		s.segments = rest
		s.start = max(s.start, rest[0].base)
		s.recovery = max(s.recovery, s.start)
	})
	l.log.Info().Stringer("partition", l.partition).Int("segments", n).
		Int64("logStart", l.StartOffset()).Msg("deleting old segments")
	if err := l.retire(old); err != nil {
		return 0, err
	}
	l.snapshots.relearn(l.StartOffset())
	return n, l.epochs.truncateFromStart(l.StartOffset())
}

// retire renames the files of segments to .deleted and has them removed after
// file.delete.delay.ms, with the snapshots named by their bases. The files stay open
// until then, and as long as a Slice holds them. The caller holds mu.
func (l *Log) retire(segments []*Segment) error {
	if len(segments) == 0 {
		return nil
	}
	segments = slices.Clone(segments)
	for _, seg := range segments {
		if err := l.markDeleted(seg); err != nil {
			return err
		}
	}
	delay := time.Duration(min(l.Config().FileDeleteDelayMs, int64(time.Hour/time.Millisecond)*24*365)) * time.Millisecond
	l.keeper.removeLater(delay, func(unlink bool) {
		for _, seg := range segments {
			l.remove(seg, unlink)
		}
	})
	return nil
}

func (l *Log) markDeleted(seg *Segment) error {
	if err := seg.file.rename(segmentFile(l.dir, seg.base, logSuffix+deletedSuffix)); err != nil {
		return err
	}
	if err := seg.offsets.rename(segmentFile(l.dir, seg.base, indexSuffix+deletedSuffix)); err != nil {
		return err
	}
	if err := seg.times.rename(segmentFile(l.dir, seg.base, timeIndexSuffix+deletedSuffix)); err != nil {
		return err
	}
	txn := segmentFile(l.dir, seg.base, txnIndexSuffix)
	if _, err := os.Stat(txn); err != nil {
		return nil
	}
	return l.d.rename(txn, txn+deletedSuffix)
}

// remove closes a retired segment and unlinks its files. It runs on the keeper's
// goroutine.
func (l *Log) remove(seg *Segment, unlink bool) {
	paths := append(seg.paths(), segmentFile(l.dir, seg.base, txnIndexSuffix+deletedSuffix))
	seg.close()
	if !unlink || l.gone.Load() != nil {
		return // the directory was renamed or is offline
	}
	for _, path := range paths {
		if err := l.d.remove(path); err != nil {
			l.failed("delete a segment of", err)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state.Load()
	i := s.floor(seg.base)
	if inUse := seg.base == s.end.Offset || (i >= 0 && s.segments[i].base == seg.base); inUse {
		return // a snapshot of this offset was taken anew
	}
	if err := l.snapshots.drop(func(o int64) bool { return o == seg.base }); err != nil {
		l.failed("delete a snapshot of", err)
	}
}
