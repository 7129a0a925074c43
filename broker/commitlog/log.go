package commitlog

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// OffsetMetadata is an offset and where it lies. Position facts are -1 when only
// the offset is known. Mirrors kafka.server.LogOffsetMetadata.
type OffsetMetadata struct {
	Offset      int64
	SegmentBase int64
	Position    int // bytes from the start of the segment
}

// OffsetOnly is an offset whose place is not known.
func OffsetOnly(offset int64) OffsetMetadata { return OffsetMetadata{offset, -1, -1} }

// Known says whether the place is known, too.
func (m OffsetMetadata) Known() bool { return m.SegmentBase >= 0 }

// OnOlderSegment says that m lies in an earlier segment than o. Both must be known.
func (m OffsetMetadata) OnOlderSegment(o OffsetMetadata) bool {
	return m.Known() && o.Known() && m.SegmentBase < o.SegmentBase
}

// Log is one partition's log on one directory. Mirrors kafka.log.Log. All methods
// are safe for concurrent use.
//
// Locks, in this order; a later one may be taken while an earlier one is held:
//
//	flushing   one flush at a time; the only lock held over an fsync
//	mu         whoever appends, rolls, truncates or deletes; guards the segments' own
//	           fields. Records are validated and written under it, as in Kafka,
//	           because their offsets are given there.
//	epochs.mu  the leader epochs
//	pub        the writer of state
//
// Readers take none of them: they load state, which never changes once published.
type Log struct {
	partition topic.Partition
	parent    string // the log.dirs entry
	dir       string // parent/<topic>-<partition>
	d         *disk
	keeper    keeper
	journal   *journal.Journal
	log       zerolog.Logger
	config    atomic.Pointer[Config]
	epochs    *epochCache

	flushing    sync.Mutex
	lastFlushed atomic.Int64 // ms, when the recovery point last moved, or creation

	mu        sync.Mutex
	snapshots snapshots
	abandoned bool // the segments were closed
	mended    bool // loading found something wrong; never changes

	pub     sync.Mutex
	state   atomic.Pointer[logState]
	watcher atomic.Pointer[func()] // Watch's

	gone atomic.Pointer[kafkaerr.Error] // why every call is refused: offline, deleted, closed
}

// logState is what readers see of a log: one consistent picture, replaced whole.
// All marks are offsets.
//
//	start ............ last stable ............ hw ............ end
//	  | read_committed may read | every consumer may | only followers may |
//
// Invariant: start <= hw <= end and recovery <= end. Without transactions the last
// stable offset is hw.
type logState struct {
	segments []*Segment // never empty, rising bases; the last is the active one
	start    int64      // first offset a reader may ask for; may lie inside the first segment
	hw       OffsetMetadata
	end      OffsetMetadata // where the next record goes
	recovery int64          // everything below was fsynced
	cuts     int64          // how often the log was truncated, so that a flush notices
}

func (s *logState) active() *Segment { return s.segments[len(s.segments)-1] }

// floor is the index of the segment that offset belongs to, -1 if it is before all.
func (s *logState) floor(offset int64) int {
	return sort.Search(len(s.segments), func(i int) bool { return s.segments[i].base > offset }) - 1
}

// publish changes the state in one step, and then tells the watcher what readers may
// have to look at again.
func (l *Log) publish(change func(*logState)) {
	l.pub.Lock()
	defer l.pub.Unlock()
	before := l.state.Load()
	s := *before
	change(&s)
	l.state.Store(&s)
	if s.start != before.start || s.hw.Offset != before.hw.Offset || s.end.Offset != before.end.Offset || s.cuts != before.cuts {
		l.changed()
	}
}

// Watch has f called after every change of what a read can give: the log start, the high
// watermark, the log end, the leader epochs, the settings. Whoever looks at the log
// because of the call sees the change. f runs under the log's locks: it must be quick and must not
// call the log. There is one watcher; a later Watch replaces it.
func (l *Log) Watch(f func()) { l.watcher.Store(&f) }

func (l *Log) changed() {
	if f := l.watcher.Load(); f != nil {
		(*f)()
	}
}

// keeper is what a log needs of its owner, the Manager.
type keeper interface {
	// dirFailed takes the directory offline. It must not call back into the log.
	dirFailed(dir string, cause error)
	// flushLater has l.flushRolled called soon, on another goroutine.
	flushLater(l *Log)
	// removeLater calls remove(true) after delay. When the broker stops first it calls
	// remove(false), which only lets go of what is open: the next start unlinks what is
	// marked deleted on disk.
	removeLater(delay time.Duration, remove func(unlink bool))
	// marksLowered makes a lower recovery point or log start durable.
	marksLowered(l *Log) error
}

// Partition says whose log it is.
func (l *Log) Partition() topic.Partition { return l.partition }

// Dir is the log.dirs entry it lives in.
func (l *Log) Dir() string { return l.parent }

// Config is the settings in force.
func (l *Log) Config() Config { return *l.config.Load() }

// SetConfig changes the settings; segments that exist keep their jitter and index size.
func (l *Log) SetConfig(c Config) {
	l.config.Store(&c)
	l.changed()
}

// Size is the bytes of all segments' .log files.
func (l *Log) Size() int64 { return l.state.Load().size() }

func (s *logState) size() (n int64) {
	for _, seg := range s.segments {
		n += seg.size.Load()
	}
	return n
}

// Segments is how many segments there are, the active one included.
func (l *Log) Segments() int { return len(l.state.Load().segments) }

// StartOffset is the first offset that can be read.
func (l *Log) StartOffset() int64 { return l.state.Load().start }

// EndOffset is the offset that the next record gets.
func (l *Log) EndOffset() int64 { return l.state.Load().end.Offset }

// End is EndOffset and its place.
func (l *Log) End() OffsetMetadata { return l.state.Load().end }

// RecoveryPoint is the offset at which the next unclean start begins to check.
func (l *Log) RecoveryPoint() int64 { return l.state.Load().recovery }

// FlushedOffset is the offset up to which (exclusive) records were fsynced.
func (l *Log) FlushedOffset() int64 { return l.state.Load().recovery }

// DeleteHorizonFloor is the first segment's base: the lowest offset on disk.
func (l *Log) DeleteHorizonFloor() int64 { return l.state.Load().segments[0].base }

// HighWatermark is the offset below which every record is on all in-sync replicas.
func (l *Log) HighWatermark() int64 { return l.state.Load().hw.Offset }

// HighWatermarkMetadata is HighWatermark and its place.
func (l *Log) HighWatermarkMetadata() OffsetMetadata {
	hw := l.state.Load().hw
	if hw.Known() {
		return hw
	}
	found, err := l.OffsetMetadata(hw.Offset)
	if err != nil {
		return hw
	}
	l.publish(func(s *logState) {
		if s.hw == hw {
			s.hw = found
		}
	})
	return found
}

// LastStableOffset is the high watermark until transactions exist.
func (l *Log) LastStableOffset() int64 { return l.HighWatermark() }

// SetHighWatermark clamps to [start, end], stores, and returns what it stored. It
// may move back: a follower takes its leader's.
func (l *Log) SetHighWatermark(offset int64) int64 {
	l.publish(func(s *logState) { s.setHighWatermark(OffsetOnly(offset)) })
	return l.HighWatermark()
}

func (s *logState) setHighWatermark(m OffsetMetadata) {
	switch {
	case m.Offset >= s.end.Offset:
		s.hw = s.end
	case m.Offset < s.start:
		s.hw = OffsetOnly(s.start)
	case m.Offset != s.hw.Offset || m.Known():
		s.hw = m
	}
}

// MaybeIncrementHighWatermark moves the high watermark up, or on to the same offset
// in a newer segment; never back, and never beyond the log end.
func (l *Log) MaybeIncrementHighWatermark(m OffsetMetadata) (old OffsetMetadata, moved bool) {
	l.publish(func(s *logState) {
		old = s.hw
		if m.Offset > s.end.Offset {
			return
		}
		if m.Offset > old.Offset || (m.Offset == old.Offset && old.OnOlderSegment(m)) {
			s.hw, moved = m, true
		}
	})
	return old, moved
}

// ---- leader epochs ----------------------------------------------------------------

// LatestEpoch is the epoch of the last leader that wrote, or became leader, here.
func (l *Log) LatestEpoch() (epoch int32, ok bool) {
	e, ok := l.epochs.latest()
	return e.Epoch, ok
}

// EpochStart is where exactly this epoch began.
func (l *Log) EpochStart(epoch int32) (start int64, ok bool) { return l.epochs.startOf(epoch) }

// EndOffsetForEpoch is the largest known epoch at or below epoch, and where it ended.
func (l *Log) EndOffsetForEpoch(epoch int32) (largest int32, end int64, ok bool) {
	return l.epochs.endOffsetFor(epoch, l.EndOffset())
}

// AssignEpoch records that this broker became leader in epoch with the log end at start.
func (l *Log) AssignEpoch(epoch int32, start int64) error {
	if err := l.usable("assign epoch"); err != nil {
		return err
	}
	return l.failed("assign epoch", l.epochs.assign(epoch, start))
}

// ---- errors -----------------------------------------------------------------------

var errDeleted = errors.New("the log was deleted")

// usable refuses work on a log that is offline, deleted or closed.
func (l *Log) usable(op string) error {
	if why := l.gone.Load(); why != nil {
		return kafkaerr.Wrap(why.Code, op+" "+l.partition.String(), why)
	}
	return nil
}

// shut makes every later call fail with code.
func (l *Log) shut(code kafkaerr.Code, cause error) {
	l.gone.CompareAndSwap(nil, kafkaerr.Wrap(code, "log "+l.partition.String(), cause))
}

// failed sorts an error: what carries a code of Kafka's passes, anything else is the
// disk's and takes the directory offline.
func (l *Log) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	var code kafkaerr.Code
	if errors.As(err, &code) {
		return err
	}
	op += " " + l.partition.String()
	if errors.Is(err, os.ErrClosed) { // deleted or taken offline under us
		if why := l.gone.Load(); why != nil {
			return kafkaerr.Wrap(why.Code, op, why)
		}
	}
	l.shut(kafkaerr.KafkaStorageError, err)
	l.keeper.dirFailed(l.parent, fmt.Errorf("%s: %w", op, err))
	return kafkaerr.Wrap(kafkaerr.KafkaStorageError, op, err)
}
