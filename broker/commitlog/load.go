package commitlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/topic"
)

// loadParams is what the directory's checkpoints say of a log.
type loadParams struct {
	clean         bool // the last stop was clean: records are trusted
	recoveryPoint int64
	startOffset   int64
	highWatermark int64
}

// loader opens one partition's directory and mends what a crash left. Mirrors the
// loading half of kafka.log.Log. The order matters:
//
//  1. sweep: files in passing (.deleted, .cleaned, .swap, .tmp) are finished or removed
//  2. open every segment
//  3. recover: after an unclean stop, walk every segment from the recovery point on;
//     cut at the first byte that is no whole, valid batch; drop the segments after it
//  4. verify the indexes of the others, rebuild what cannot be right
//  5. settle the marks, the leader epochs and the producer snapshots
type loader struct {
	l      *Log
	p      loadParams
	config Config

	segments []*Segment
	suspect  map[*Segment][]error // why the index files cannot be used
	rebuilt  map[*Segment]bool    // recovered, or indexes rebuilt
	end      int64
	mended   []string // for people: what was not as it should be
}

// openLog loads or creates the log in dir, which exists.
func openLog(d *disk, parent, dir string, p topic.Partition, c Config, lp loadParams, k keeper, j *journal.Journal, log zerolog.Logger) (*Log, error) {
	l := &Log{partition: p, parent: parent, dir: dir, d: d, keeper: k, journal: j, log: log}
	l.config.Store(&c)
	l.lastFlushed.Store(nowMs())
	l.snapshots = snapshots{d: d, dir: dir}
	ld := &loader{l: l, p: lp, config: c, suspect: map[*Segment][]error{}, rebuilt: map[*Segment]bool{}}
	if err := ld.load(); err != nil {
		for _, seg := range ld.segments {
			seg.close()
		}
		return nil, fmt.Errorf("load %s: %w", dir, err)
	}
	ld.report()
	return l, nil
}

func (ld *loader) mend(format string, args ...any) {
	ld.mended = append(ld.mended, fmt.Sprintf(format, args...))
}

func (ld *loader) load() error {
	bases, err := ld.sweep()
	if err != nil {
		return err
	}
	for _, base := range bases {
		seg, why, err := openSegment(ld.l.d, ld.l.dir, base, ld.config)
		if err != nil {
			return err
		}
		ld.segments = append(ld.segments, seg)
		if len(why) > 0 {
			ld.suspect[seg] = why
		}
	}
	var epochsErr error
	ld.l.epochs, epochsErr = loadEpochs(ld.l.d, segmentPath(ld.l.dir, epochFile))
	if epochsErr != nil && !errors.Is(epochsErr, os.ErrNotExist) {
		if !isMalformed(epochsErr) {
			return epochsErr
		}
		ld.mend("%v: rebuilt from the batches", epochsErr)
	}
	if err := ld.recover(); err != nil {
		return err
	}
	if err := ld.verify(); err != nil {
		return err
	}
	if epochsErr != nil || ld.epochsBeginLate() {
		if err := ld.rebuildEpochs(errors.Is(epochsErr, os.ErrNotExist)); err != nil {
			return err
		}
	}
	return ld.settle()
}

// recover walks what the last run may not have flushed, and finds the log end.
func (ld *loader) recover() error {
	if len(ld.segments) == 0 {
		return nil
	}
	if ld.p.clean {
		return ld.trustActive()
	}
	first := 0
	for first+1 < len(ld.segments) && ld.segments[first+1].base <= ld.p.recoveryPoint {
		first++
	}
	return ld.recoverFrom(first)
}

// trustActive finds the log end of a cleanly closed log. If the bytes do not fit
// together after all, the active segment is recovered as after a crash.
func (ld *loader) trustActive() error {
	n := len(ld.segments) - 1
	active := ld.segments[n]
	err := errors.Join(ld.suspect[active]...)
	if err == nil {
		err = active.verifyIndexes(math.MaxInt64)
	}
	if err == nil {
		ld.end, err = active.findEnd()
	}
	if err == nil && active.size.Load() > 0 && (active.offsets.last >= ld.end || active.times.lastOffset >= ld.end) {
		err = corruptf("indexes lead to offsets %d and %d, the log ends at %d", active.offsets.last, active.times.lastOffset, ld.end)
	}
	if err == nil {
		ld.rebuilt[active] = true // nothing left to verify
		return nil
	}
	if !isCorrupt(err) {
		return err
	}
	ld.mend("segment %d is not as a clean stop leaves it (%v): recovered", active.base, err)
	return ld.recoverFrom(n)
}

// recoverFrom checks the segments from the first-th on. What follows bytes that had
// to be cut is not trusted and goes.
func (ld *loader) recoverFrom(first int) error {
	epochs := ld.l.epochs.all()
	n := 0
	for n < len(epochs) && epochs[n].Start < ld.segments[first].base {
		n++
	}
	epochs = epochs[:n]
	for i := first; i < len(ld.segments); i++ {
		seg := ld.segments[i]
		r, err := seg.rebuild(true, epochs)
		if err != nil {
			return err
		}
		epochs = r.epochs
		ld.rebuilt[seg], ld.end = true, r.end
		if why := ld.suspect[seg]; len(why) > 0 {
			ld.mend("%v: rebuilt", errors.Join(why...))
		}
		if r.cut > 0 {
			ld.mend("segment %d: %d bytes cut off at %d (%v), the log now ends at offset %d", seg.base, r.cut, seg.size.Load(), r.why, r.end)
			if err := truncateTxnIndex(ld.l.d, segmentFile(ld.l.dir, seg.base, txnIndexSuffix), r.end); err != nil {
				return err
			}
		}
		if r.cut > 0 || ld.holeAfter(i, r.end) {
			if err := ld.dropAfter(i); err != nil {
				return err
			}
		}
	}
	return ld.l.epochs.replace(epochs)
}

// holeAfter says that records between segment i, which ends at end, and the next one
// are missing: a power failure can take the end of a rolled segment and leave the
// next. Only compaction leaves such gaps on purpose.
func (ld *loader) holeAfter(i int, end int64) bool {
	if i+1 == len(ld.segments) || ld.config.Compact || ld.segments[i+1].base <= end {
		return false
	}
	ld.mend("offsets %d to %d are missing, the log now ends at %d", end, ld.segments[i+1].base-1, end)
	return true
}

// dropAfter deletes the segments after the i-th.
func (ld *loader) dropAfter(i int) error {
	later := ld.segments[i+1:]
	ld.segments = ld.segments[:i+1]
	for _, s := range later {
		ld.mend("segment %d deleted: it follows lost records", s.base)
	}
	return ld.l.retire(later)
}

// verify looks at the indexes of the segments that were not walked.
func (ld *loader) verify() error {
	for i, seg := range ld.segments {
		if ld.rebuilt[seg] {
			continue
		}
		nextBase := int64(math.MaxInt64)
		if i+1 < len(ld.segments) {
			nextBase = ld.segments[i+1].base
		}
		err := errors.Join(ld.suspect[seg]...)
		if err == nil {
			err = seg.verifyIndexes(nextBase)
		}
		if err == nil {
			continue
		}
		if !isCorrupt(err) {
			return err
		}
		r, rerr := seg.rebuild(false, nil)
		if rerr != nil {
			return rerr
		}
		ld.rebuilt[seg] = true
		ld.mend("%v: indexes of segment %d rebuilt", err, seg.base)
		if r.cut > 0 {
			ld.mend("segment %d: %d bytes cut off at %d (%v), offsets %d to %d are lost", seg.base, r.cut, seg.size.Load(), r.why, r.end, nextBase-1)
		}
	}
	return nil
}

// epochsBeginLate: the log start went back to where it was last checkpointed, but
// the epochs had already followed the later one.
func (ld *loader) epochsBeginLate() bool {
	epochs := ld.l.epochs.all()
	if ld.p.clean || len(epochs) == 0 || len(ld.segments) == 0 {
		return false
	}
	return epochs[0].Start > max(ld.p.startOffset, ld.segments[0].base)
}

// rebuildEpochs reads the epochs out of the batches, when the file is gone. Records
// of formats 0 and 1 carry none, and such a log has no file.
func (ld *loader) rebuildEpochs(missing bool) error {
	var epochs []EpochEntry
	for _, seg := range ld.segments {
		f, err := seg.file.acquire()
		if err != nil {
			return err
		}
		err = walkBatches(ld.l.d, f, seg.file.path, 0, seg.size.Load(), false, func(h batchHeader, at int64, _ []byte) error {
			if h.magic < 2 && at == 0 {
				return errOldFormat
			}
			if n := len(epochs); h.epoch >= 0 && (n == 0 || h.epoch > epochs[n-1].Epoch) {
				epochs = assignEpoch(epochs, h.epoch, h.base)
			}
			return nil
		})
		seg.file.release()
		if err != nil && !isCorrupt(err) && !errors.Is(err, errOldFormat) {
			return err
		}
	}
	if missing && len(epochs) > 0 {
		ld.mend("%s was missing: rebuilt from the batches", epochFile)
	}
	return ld.l.epochs.replace(epochs)
}

var errOldFormat = errors.New("batches of an old format carry no epochs")

// settle fixes the marks and publishes the first state.
func (ld *loader) settle() error {
	l, p := ld.l, ld.p
	if len(ld.segments) > 0 && ld.end < p.startOffset {
		ld.mend("the log ends at offset %d, below its checkpointed start %d: all segments deleted", ld.end, p.startOffset)
		if err := l.retire(ld.segments); err != nil {
			return err
		}
		ld.segments = nil
		if err := l.epochs.clear(); err != nil {
			return err
		}
		if err := l.snapshots.drop(func(int64) bool { return true }); err != nil {
			return err
		}
	}
	if len(ld.segments) == 0 {
		seg, err := l.newSegment(p.startOffset)
		if err != nil {
			return err
		}
		ld.segments = []*Segment{seg}
		ld.end = p.startOffset
	}
	s := &logState{segments: ld.segments, start: max(p.startOffset, ld.segments[0].base)}
	active := s.active()
	s.end = OffsetMetadata{ld.end, active.base, int(active.size.Load())}
	s.recovery = max(min(p.recoveryPoint, ld.end), min(s.start, ld.end))
	if p.clean {
		s.recovery = ld.end
	}
	s.hw = OffsetOnly(-1)
	s.setHighWatermark(OffsetOnly(p.highWatermark))
	l.state.Store(s)
	if err := l.epochs.truncateFromEnd(ld.end); err != nil {
		return err
	}
	if err := l.epochs.truncateFromStart(s.start); err != nil {
		return err
	}
	l.epochs.changed = l.changed
	for _, seg := range s.segments {
		seg.offsets.rest()
		seg.times.rest()
		seg.file.rest()
	}
	if _, err := active.file.acquire(); err != nil { // the one file that stays open
		return err
	}
	active.file.release()
	return ld.settleSnapshots(s)
}

// settleSnapshots leaves the snapshot files that Kafka would: one for each of the
// last segments and one for the log end.
func (ld *loader) settleSnapshots(s *logState) error {
	sn := &ld.l.snapshots
	var bases []int64
	for _, seg := range s.segments {
		bases = append(bases, seg.base)
	}
	if err := sn.dropStray(bases); err != nil {
		return err
	}
	had := len(sn.offsets) > 0
	bad, err := sn.dropInvalid()
	if err != nil {
		return err
	}
	for _, o := range bad {
		ld.mend("producer snapshot %d cannot be read: deleted", o)
	}
	if err := sn.settle(s.start, s.end.Offset); err != nil {
		return err
	}
	// Kafka writes anew what it could not read, what recovery walked past, and, when
	// there was none at all, one for each of the last two segments.
	wanted := bad
	for i, seg := range s.segments[1:] {
		if ld.rebuilt[s.segments[i]] {
			wanted = append(wanted, seg.base)
		}
	}
	if !had {
		wanted = append(wanted, bases[max(0, len(bases)-2):]...)
		if ld.p.clean {
			sn.last = 0
		}
	}
	wanted = slices.DeleteFunc(wanted, func(o int64) bool { _, ok := slices.BinarySearch(bases, o); return !ok })
	slices.Sort(wanted)
	for _, o := range append(wanted, s.end.Offset) {
		if err := sn.take(o); err != nil {
			return err
		}
	}
	return nil
}

// report says what was mended: one event, one line.
func (ld *loader) report() {
	if len(ld.mended) == 0 {
		return
	}
	ld.l.mended = true
	text := strings.Join(ld.mended, "; ")
	ld.l.log.Warn().Stringer("partition", ld.l.partition).Str("dir", ld.l.dir).
		Int64("logStart", ld.l.StartOffset()).Int64("logEnd", ld.l.EndOffset()).Msg("mended while loading: " + text)
	if ld.l.journal.On() {
		ld.l.journal.Emit(journal.Event{Kind: journal.Recovery, Source: "commitlog", Topic: ld.l.partition.Topic,
			Partition: ld.l.partition.Partition, Offset: ld.l.StartOffset(), EndOffset: ld.l.EndOffset(), Path: ld.l.dir, Text: text})
	}
}
