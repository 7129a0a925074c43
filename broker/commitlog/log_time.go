package commitlog

import (
	"errors"
	"fmt"
	"io"
	"os"

	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// TimestampOffset is the answer to a lookup by time.
type TimestampOffset struct {
	Timestamp   int64
	Offset      int64
	LeaderEpoch int32 // -1 unknown
}

// OffsetByTimestamp finds the first record whose timestamp is at or after ts. found
// is false when there is none. The special times -1 and -2 are the caller's.
// Mirrors Log.fetchOffsetByTimestamp.
func (l *Log) OffsetByTimestamp(ts int64) (t TimestampOffset, found bool, err error) {
	for {
		if err := l.usable("look up a time in"); err != nil {
			return t, false, err
		}
		s := l.state.Load()
		t, found, err = s.offsetByTimestamp(ts)
		switch {
		case err == nil:
			return t, found, nil
		case l.state.Load() != s && (errors.Is(err, os.ErrClosed) || isCorrupt(err)):
			continue // deleted or cut meanwhile
		case isCorrupt(err):
			return t, false, kafkaerr.Wrap(kafkaerr.CorruptMessage, "look up a time in "+l.partition.String(), err)
		}
		return t, false, l.failed("look up a time in", err)
	}
}

func (s *logState) offsetByTimestamp(ts int64) (t TimestampOffset, found bool, err error) {
	for i, seg := range s.segments {
		if seg.largestTimestamp() < ts {
			continue
		}
		limit := seg.size.Load()
		if i == len(s.segments)-1 {
			limit = int64(s.end.Position)
		}
		return seg.findByTimestamp(ts, s.start, limit)
	}
	return t, false, nil
}

// findByTimestamp walks the batches from the last index entry at or before ts on.
func (s *Segment) findByTimestamp(ts, logStart, limit int64) (t TimestampOffset, found bool, err error) {
	f, err := s.file.acquire()
	if err != nil {
		return t, false, err
	}
	defer s.file.release()
	offset, err := s.times.lookup(ts)
	if err != nil {
		return t, false, err
	}
	p, found, err := s.find(f, max(offset, logStart), limit)
	if err != nil || !found {
		return t, false, err
	}
	sc := scanner{d: s.d, f: f, path: s.file.name(), pos: p.position, end: limit, bufAt: -1,
		buf: make([]byte, 0, lookupChunk)}
	for {
		h, at, _, err := sc.next()
		if errors.Is(err, io.EOF) {
			return t, false, nil
		}
		if err != nil {
			return t, false, err
		}
		if h.maxTimestamp < ts {
			continue
		}
		b := make([]byte, h.size)
		if _, err := s.d.readAt(f, sc.path, b, at); err != nil {
			return t, false, err
		}
		if t, found, err = firstSince(h, b, ts, logStart); found || err != nil {
			return t, found, err
		}
	}
}

// firstSince is the first record of the batch that is young enough.
func firstSince(h batchHeader, b []byte, ts, logStart int64) (t TimestampOffset, found bool, err error) {
	if h.magic != record.Magic2 {
		return t, false, kafkaerr.New(kafkaerr.UnsupportedForMessageFormat,
			fmt.Sprintf("The log holds batches of message format %d, which kz does not read yet", h.magic))
	}
	for r, err := range record.Batch(b).Records() {
		if err != nil {
			return t, false, corruptf("batch at offset %d: %v", h.base, err)
		}
		if r.Timestamp >= ts && r.Offset >= logStart {
			return TimestampOffset{r.Timestamp, r.Offset, h.epoch}, true, nil
		}
	}
	return t, false, nil
}
