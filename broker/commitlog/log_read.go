package commitlog

import (
	"errors"
	"fmt"
	"os"

	"kz/internal/kafkaerr"
)

// ReadInfo is what Read found. Mirrors kafka.server.FetchDataInfo.
type ReadInfo struct {
	Start                OffsetMetadata // the offset asked for, and where its batch begins
	Data                 Slice
	FirstEntryIncomplete bool // maxBytes cut the first batch
}

// Read returns data from the start of the batch that holds offset, up to maxBytes,
// below bound (exclusive): the log end for followers, the high watermark for
// consumers. With minOneMessage the first batch comes whole even if it is larger
// than maxBytes; otherwise it may be cut, and so may the last one. One read stays
// inside one segment. An offset at or above bound reads as empty; one outside
// [start, end] is OFFSET_OUT_OF_RANGE. The caller must release Data.
//
// No lock is taken: the read works on the state as it was when it began.
func (l *Log) Read(offset int64, maxBytes int, bound OffsetMetadata, minOneMessage bool) (ReadInfo, error) {
	for {
		if err := l.usable("read"); err != nil {
			return ReadInfo{}, err
		}
		s := l.state.Load()
		info, err := l.read(s, offset, maxBytes, bound, minOneMessage)
		if err == nil || kafkaerr.CodeOf(err) == kafkaerr.OffsetOutOfRange {
			return info, err
		}
		// A segment may have been deleted or cut since s was loaded. Then the
		// picture has changed, and the new one decides.
		if l.state.Load() != s && (errors.Is(err, os.ErrClosed) || isCorrupt(err) || errors.Is(err, os.ErrNotExist)) {
			continue
		}
		if isCorrupt(err) {
			return info, kafkaerr.Wrap(kafkaerr.CorruptMessage, "read "+l.partition.String(), err)
		}
		return info, l.failed("read", err)
	}
}

func (l *Log) read(s *logState, offset int64, maxBytes int, bound OffsetMetadata, minOneMessage bool) (ReadInfo, error) {
	i := s.floor(offset)
	if offset > s.end.Offset || offset < s.start || i < 0 {
		return ReadInfo{}, outOfRange(l, s, offset)
	}
	if bound.Offset > s.end.Offset {
		bound = s.end
	}
	if offset == s.end.Offset {
		return ReadInfo{Start: s.end}, nil
	}
	if offset == bound.Offset && bound.Known() {
		return ReadInfo{Start: bound}, nil
	}
	if offset >= bound.Offset {
		m, err := l.locate(s, offset)
		return ReadInfo{Start: m}, err
	}
	if !bound.Known() {
		var err error
		if bound, err = l.locate(s, bound.Offset); err != nil {
			return ReadInfo{}, err
		}
	}
	for ; i < len(s.segments); i++ {
		info, found, err := readSegment(s.segments[i], offset, maxBytes, s.limit(i, bound), minOneMessage)
		if found || err != nil {
			return info, err
		}
	}
	return ReadInfo{Start: s.end}, nil
}

// limit is the position in segment i before which a reader bounded by bound stays.
func (s *logState) limit(i int, bound OffsetMetadata) int64 {
	seg := s.segments[i]
	switch {
	case seg.base == bound.SegmentBase:
		return int64(bound.Position)
	case seg.base == s.end.SegmentBase:
		return int64(s.end.Position)
	case seg.base > bound.SegmentBase:
		return 0
	}
	return seg.size.Load()
}

// readSegment makes the slice. found is false when every batch of seg ends before offset.
func readSegment(seg *Segment, offset int64, maxBytes int, limit int64, minOneMessage bool) (info ReadInfo, found bool, err error) {
	f, err := seg.file.acquire()
	if err != nil {
		return info, false, err
	}
	defer func() {
		if info.Data.of == nil {
			seg.file.release()
		}
	}()
	p, found, err := seg.find(f, offset, limit)
	if err != nil || !found {
		return info, false, err
	}
	info.Start = OffsetMetadata{offset, seg.base, int(p.position)}
	want := int64(maxBytes)
	if minOneMessage {
		want = max(want, p.header.size)
	}
	if want <= 0 {
		return info, true, nil
	}
	info.FirstEntryIncomplete = want < p.header.size
	info.Data = Slice{File: f, Offset: p.position, Length: min(limit-p.position, want), of: seg.file}
	return info, true, nil
}

// OffsetMetadata resolves an offset to its place, or OFFSET_OUT_OF_RANGE.
func (l *Log) OffsetMetadata(offset int64) (OffsetMetadata, error) {
	info, err := l.Read(offset, 0, l.End(), false)
	return info.Start, err
}

// locate is OffsetMetadata within the picture s.
func (l *Log) locate(s *logState, offset int64) (OffsetMetadata, error) {
	info, err := l.read(s, offset, 0, s.end, false)
	return info.Start, err
}

func outOfRange(l *Log, s *logState, offset int64) error {
	return kafkaerr.Wrap(kafkaerr.OffsetOutOfRange, "read "+l.partition.String(),
		fmt.Errorf("offset %d is outside %d to %d", offset, s.start, s.end.Offset))
}
