package commitlog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// walkBatches calls visit for each batch in [from, to) of a log file. It ends at the
// first bytes that are no batch, with a *corrupt error. whole: visit gets the bytes.
func walkBatches(d *disk, f *os.File, path string, from, to int64, whole bool, visit func(h batchHeader, at int64, b []byte) error) error {
	chunk := lookupChunk
	if whole {
		chunk = recoveryChunk
	}
	sc := scanner{d: d, f: f, path: path, pos: from, end: to, whole: whole, bufAt: -1, buf: make([]byte, 0, min(int64(chunk), max(to-from, 1)))}
	for {
		h, at, b, err := sc.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(h, at, b); err != nil {
			return err
		}
	}
}

// openSegment takes over the files of a segment as they are. Nothing is checked yet;
// why says what is wrong with an index file that cannot be used as it is.
func openSegment(d *disk, dir string, base int64, c Config) (s *Segment, why []error, err error) {
	s = &Segment{base: base, d: d, created: nowMs(), jitter: randomJitter(c), indexInterval: int64(c.IndexIntervalBytes)}
	s.file = newLogFile(d, segmentFile(dir, base, logSuffix))
	st, err := os.Stat(s.file.path)
	if err != nil {
		return nil, nil, err
	}
	s.size.Store(st.Size())
	s.nameDurable.Store(true)
	load := func(suffix string, entrySize int) (*index, error) {
		path := segmentFile(dir, base, suffix)
		x, err := loadIndex(d, path, entrySize, c.SegmentIndexBytes)
		if errors.Is(err, os.ErrNotExist) {
			why = append(why, corruptf("%s is missing", filepath.Base(path)))
			return createIndex(d, path, entrySize, c.SegmentIndexBytes)
		}
		if isCorrupt(err) {
			why = append(why, err)
			err = nil
		}
		return x, err
	}
	oi, err := load(indexSuffix, offsetEntrySize)
	if err != nil {
		return nil, nil, err
	}
	ti, err := load(timeIndexSuffix, timeEntrySize)
	if err != nil {
		return nil, nil, err
	}
	s.offsets = &OffsetIndex{index: oi, base: base, last: base}
	s.times = &TimeIndex{index: ti, base: base, lastTimestamp: -1, lastOffset: base}
	s.maxTimestamp.Store(-1)
	s.offsetOfMaxTimestamp, s.firstTimestamp = base, -1
	return s, why, nil
}

// suspectEmpty is the size from which a log with an empty offset index is worth
// a rebuild: a lookup would walk all of it.
const suspectEmpty = 4 << 20

// verifyIndexes checks the indexes of a segment whose records are trusted, by a few
// small reads. It returns why they must be rebuilt, as a *corrupt error.
func (s *Segment) verifyIndexes(nextBase int64) error {
	size := s.size.Load()
	if err := s.offsets.sanity(nextBase, size); err != nil {
		return err
	}
	if err := s.times.sanity(nextBase); err != nil {
		return err
	}
	s.maxTimestamp.Store(s.times.lastTimestamp)
	s.offsetOfMaxTimestamp = s.times.lastOffset
	if size == 0 {
		return nil
	}
	if s.offsets.entries() == 0 && size > suspectEmpty {
		return corruptf("%s is empty beside a log of %d bytes", filepath.Base(s.offsets.name()), size)
	}
	return s.verifyEnds(size)
}

// verifyEnds looks into the log where the last index entry points, and for the
// timestamp that an empty time index denies.
func (s *Segment) verifyEnds(size int64) error {
	f, err := s.file.acquire()
	if err != nil {
		return err
	}
	defer s.file.release()
	if s.times.entries() == 0 {
		p, found, err := s.walkTo(f, 0, -1, size)
		if err == nil && found && p.header.maxTimestamp >= 0 {
			err = corruptf("%s is empty although the records have timestamps", filepath.Base(s.times.name()))
		}
		if err != nil {
			return err
		}
	}
	if s.offsets.entries() == 0 {
		return nil
	}
	last, err := s.offsets.lookup(s.offsets.last)
	if err != nil {
		return err
	}
	p, found, err := s.walkTo(f, last.Position, -1, size)
	if err == nil && (!found || p.header.base > last.Offset) {
		err = corruptf("%s: the last entry (offset %d, position %d) points to no batch of it", filepath.Base(s.offsets.name()), last.Offset, last.Position)
	}
	return err
}

// rebuilt is what a walk over a whole segment found.
type rebuilt struct {
	cut    int64 // bytes taken off the end, 0 if all are whole batches
	why    error // what was wrong with the first of them
	end    int64 // offset after the last record; the base if there is none
	epochs []EpochEntry
}

// rebuild walks the segment from its start, makes both indexes anew and cuts the
// file where the first bytes are that are no batch. With checkCRC every batch's CRC
// counts too: that is recovery. Without it the records are trusted, and only their
// sizes and offsets must fit. Mirrors LogSegment.recover.
//
// The index rule differs from append's, as in Kafka: per batch, an entry when more
// than index.interval.bytes lie between it and the last one.
func (s *Segment) rebuild(checkCRC bool, epochs []EpochEntry) (r rebuilt, err error) {
	f, err := s.file.acquire()
	if err != nil {
		return r, err
	}
	defer s.file.release()
	if err := errors.Join(s.offsets.reset(), s.times.reset()); err != nil {
		return r, err
	}
	s.maxTimestamp.Store(-1)
	s.offsetOfMaxTimestamp, s.bytesSinceEntry = s.base, 0
	s.firstLoaded = false
	s.indexBad.Store(false)

	st, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.end, r.epochs = s.base, epochs
	valid, lastEntry := int64(0), int64(0)
	err = walkBatches(s.d, f, s.file.path, 0, st.Size(), checkCRC, func(h batchHeader, at int64, b []byte) error {
		if checkCRC {
			if err := h.checkCRC(b); err != nil {
				return err
			}
		}
		if h.last < r.end || !s.holds(h.last) || (h.magic == 2 && h.base < r.end) {
			return corruptf("batch of offsets %d to %d, expected %d or more", h.base, h.last, r.end)
		}
		if h.maxTimestamp > s.maxTimestamp.Load() {
			s.maxTimestamp.Store(h.maxTimestamp)
			s.offsetOfMaxTimestamp = h.last
		}
		if at-lastEntry > s.indexInterval {
			if err := s.addEntries(h.last, at); err != nil {
				return err
			}
			lastEntry = at
		}
		if n := len(r.epochs); h.epoch >= 0 && (n == 0 || h.epoch > r.epochs[n-1].Epoch) {
			r.epochs = assignEpoch(r.epochs, h.epoch, h.base)
		}
		valid, r.end = at+h.size, h.last+1
		return nil
	})
	if err != nil && !isCorrupt(err) {
		return r, err
	}
	r.cut, r.why = st.Size()-valid, err
	if r.cut > 0 {
		if err := s.d.truncate(f, s.file.path, valid); err != nil {
			return r, err
		}
	}
	s.size.Store(valid)
	if err := s.times.maybeAppend(s.maxTimestamp.Load(), s.offsetOfMaxTimestamp); err != nil {
		return r, err
	}
	return r, errors.Join(s.offsets.flush(false, true), s.times.flush(false, true))
}

// findEnd reads the log end of a segment that was closed in order: the batches from
// the last index entry to the end of the file must be whole.
func (s *Segment) findEnd() (end int64, err error) {
	end = s.base
	if s.size.Load() == 0 {
		return end, nil
	}
	f, err := s.file.acquire()
	if err != nil {
		return 0, err
	}
	defer s.file.release()
	from, err := s.offsets.lookup(s.offsets.last)
	if err != nil {
		return 0, err
	}
	err = walkBatches(s.d, f, s.file.path, from.Position, s.size.Load(), false, func(h batchHeader, _ int64, _ []byte) error {
		if h.last < end || !s.holds(h.last) {
			return corruptf("batch of offsets %d to %d, expected %d or more", h.base, h.last, end)
		}
		end = h.last + 1
		return nil
	})
	return end, err
}
