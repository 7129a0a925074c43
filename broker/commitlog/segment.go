package commitlog

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"
)

// Segment is one stretch of a log: a .log file and the two indexes into it. Mirrors
// kafka.log.LogSegment.
//
// The log's lock is held by whoever changes a segment; readers hold nothing, they
// stay below size. What both sides touch is atomic.
type Segment struct {
	base    int64 // offset the file is named by; no record is below it
	d       *disk
	file    *logFile
	offsets *OffsetIndex
	times   *TimeIndex

	// size is where the next batch goes: the bytes of whole batches. The file itself
	// is longer only while an append is under way, or when preallocated.
	size atomic.Int64
	// maxTimestamp is the largest in the segment, -1 when no record has one.
	maxTimestamp atomic.Int64
	// indexBad says that an index entry led to bytes that are no batch: readers walk
	// from the start of the segment instead, until the next start rebuilds the index.
	indexBad atomic.Bool
	// nameDurable says that the directory entry was fsynced.
	nameDurable atomic.Bool

	// Guarded by the log's lock.
	offsetOfMaxTimestamp int64
	bytesSinceEntry      int64 // appended since the last index entry, or since loading
	indexInterval        int64
	created              int64 // ms; when this object was made, so a restart resets it
	jitter               int64 // ms; drawn once, so that logs do not roll all at once
	firstTimestamp       int64 // of the first append (after a restart: batch); -1 none
	firstLoaded          bool
}

func nowMs() int64 { return time.Now().UnixMilli() }

func randomJitter(c Config) int64 {
	if limit := min(c.SegmentJitterMs, c.SegmentMs); limit > 0 {
		return rand.Int64N(limit)
	}
	return 0
}

// createSegment makes the files of a new, empty segment.
func createSegment(d *disk, dir string, base int64, c Config) (*Segment, error) {
	s := &Segment{base: base, d: d, created: nowMs(), jitter: randomJitter(c), indexInterval: int64(c.IndexIntervalBytes)}
	s.file = newLogFile(d, segmentFile(dir, base, logSuffix))
	f, err := s.file.open(true)
	if err != nil {
		return nil, err
	}
	want := int64(0)
	if c.Preallocate {
		want = int64(c.SegmentBytes)
	}
	if err := d.truncate(f, s.file.path, want); err != nil {
		s.file.release()
		return nil, err
	}
	oi, err := createIndex(d, segmentFile(dir, base, indexSuffix), offsetEntrySize, c.SegmentIndexBytes)
	if err == nil {
		s.offsets = &OffsetIndex{index: oi, base: base, last: base}
		var ti *index
		ti, err = createIndex(d, segmentFile(dir, base, timeIndexSuffix), timeEntrySize, c.SegmentIndexBytes)
		s.times = &TimeIndex{index: ti, base: base, lastTimestamp: -1, lastOffset: base}
	}
	if err != nil {
		s.file.release()
		return nil, err
	}
	s.maxTimestamp.Store(-1)
	s.offsetOfMaxTimestamp, s.firstTimestamp, s.firstLoaded = base, -1, false
	return s, nil
}

// append writes records at the end, in one write, and adds index entries when
// index.interval.bytes have gone by since the last. The rule is Kafka's, per append
// and not per batch: the entry is (last offset, start of this append), and the bytes
// count only afterwards, so a segment's first append never gets one.
func (s *Segment) append(records []byte, lastOffset, maxTimestamp, offsetOfMax int64) error {
	position := s.size.Load()
	if position == 0 {
		s.firstTimestamp, s.firstLoaded = maxTimestamp, true
	}
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	path := s.file.path // only the log's lock holder renames, and that is us
	if err := s.d.writeAt(f, path, records, position); err != nil {
		// Part of the records may be in the file. The directory goes offline either
		// way; cut them off so that its next start finds a clean end.
		return errors.Join(err, s.d.truncate(f, path, position))
	}
	if maxTimestamp > s.maxTimestamp.Load() {
		s.offsetOfMaxTimestamp = offsetOfMax
		s.maxTimestamp.Store(maxTimestamp)
	}
	if s.bytesSinceEntry > s.indexInterval {
		if err := s.addEntries(lastOffset, position); err != nil {
			return err
		}
		s.bytesSinceEntry = 0
	}
	s.bytesSinceEntry += int64(len(records))
	s.size.Store(position + int64(len(records)))
	return nil
}

func (s *Segment) addEntries(lastOffset, position int64) error {
	if err := s.offsets.append(lastOffset, position); err != nil {
		return err
	}
	return s.times.maybeAppend(s.maxTimestamp.Load(), s.offsetOfMaxTimestamp)
}

// holds says whether offset fits the 32-bit relative offsets of the indexes.
func (s *Segment) holds(offset int64) bool {
	return offset >= s.base && offset-s.base <= math.MaxInt32
}

// largestTimestamp is what retention by time and lookup by time go by: the largest
// record timestamp, or when no record has one the file's time of modification.
func (s *Segment) largestTimestamp() int64 {
	if ts := s.maxTimestamp.Load(); ts >= 0 {
		return ts
	}
	if st, err := os.Stat(s.file.name()); err == nil {
		return st.ModTime().UnixMilli()
	}
	return -1
}

// place is where a batch lies in a segment.
type place struct {
	position int64
	header   batchHeader
}

// find returns the first batch whose last offset is at or after offset, looking
// below limit. found is false when the segment ends before. The caller holds a
// reference to f.
func (s *Segment) find(f *os.File, offset, limit int64) (p place, found bool, err error) {
	from, err := s.offsets.lookup(offset)
	if err != nil {
		return p, false, err
	}
	if s.indexBad.Load() {
		from.Position = 0
	}
	p, found, err = s.walkTo(f, from.Position, offset, limit)
	plausible := from.Position < limit && (!found || p.position > from.Position || p.header.base <= offset)
	if from.Position == 0 || (err == nil && plausible) {
		return p, found, err
	}
	if err != nil && !isCorrupt(err) {
		return p, false, err
	}
	// The entry led behind limit, to bytes that are no batch, or to a batch beyond the
	// offset. If the batches before it are whole, the index is wrong and not the log.
	p, found, err = s.walkTo(f, 0, offset, limit)
	if err == nil {
		s.indexBad.Store(true)
	}
	return p, found, err
}

func (s *Segment) walkTo(f *os.File, from, offset, limit int64) (p place, found bool, err error) {
	buf := lookupBuffers.Get().(*[]byte)
	defer lookupBuffers.Put(buf)
	sc := scanner{d: s.d, f: f, path: s.file.name(), pos: from, end: limit, buf: (*buf)[:0], bufAt: -1}
	for {
		h, at, _, err := sc.next()
		if errors.Is(err, io.EOF) {
			return p, false, nil
		}
		if err != nil {
			return p, false, err
		}
		if h.last >= offset {
			return place{at, h}, true, nil
		}
	}
}

// timeWaited is how long the segment has been the active one, by the records' own
// clock if its first append had a timestamp, else by ours.
func (s *Segment) timeWaited(now, maxTimestamp int64) (int64, error) {
	if !s.firstLoaded && s.size.Load() > 0 {
		f, err := s.file.acquire()
		if err != nil {
			return 0, err
		}
		defer s.file.release()
		p, found, err := s.walkTo(f, 0, math.MinInt64, s.size.Load())
		if err != nil {
			return 0, err
		}
		if found {
			s.firstTimestamp, s.firstLoaded = p.header.maxTimestamp, true
		}
	}
	if s.firstLoaded && s.firstTimestamp >= 0 {
		return maxTimestamp - s.firstTimestamp, nil
	}
	return now - s.created, nil
}

// finish makes the segment a closed one: the closing time index entry, indexes
// written out and let go, a preallocated file trimmed. No fsync here.
func (s *Segment) finish() error {
	if err := s.times.maybeAppend(s.maxTimestamp.Load(), s.offsetOfMaxTimestamp); err != nil {
		return err
	}
	if err := s.trim(); err != nil {
		return err
	}
	return errors.Join(s.offsets.flush(false, true), s.times.flush(false, true))
}

// trim cuts the file to the batches it holds.
func (s *Segment) trim() error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	path := s.file.name()
	st, err := f.Stat()
	if err != nil || st.Size() == s.size.Load() {
		return err
	}
	return s.d.truncate(f, path, s.size.Load())
}

// flush forces what was appended so far to disk: log, indexes, and once the name.
// It takes no lock of the log.
func (s *Segment) flush(dir string) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	if err := s.d.sync(f, s.file.name()); err != nil {
		return err
	}
	if err := s.offsets.flush(true, false); err != nil {
		return err
	}
	if err := s.times.flush(true, false); err != nil {
		return err
	}
	if s.nameDurable.Load() {
		return nil
	}
	if err := s.d.syncDir(dir); err != nil {
		return err
	}
	s.nameDurable.Store(true)
	return nil
}

// close lets go of everything; what is not written out yet is lost. Slices of the
// segment stay readable until they are released.
func (s *Segment) close() {
	s.offsets.close()
	s.times.close()
	s.file.release()
}

// paths are the files of the segment as they are named now.
func (s *Segment) paths() []string {
	return []string{s.file.name(), s.offsets.name(), s.times.name()}
}
