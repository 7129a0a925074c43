package commitlog

import (
	"encoding/binary"
	"path/filepath"
)

// TimeIndex leads from a timestamp to an offset. Mirrors kafka.log.TimeIndex.
// Entries are 12 bytes, big-endian:
//
//	0– 7 timestamp         the largest so far in the segment, ms since 1970
//	8–11 relative offset   where that largest one is, minus the segment's base
//
// An entry says: all records at or before this offset are not younger than this.
// Timestamps rise strictly. The last slot is kept for the closing entry.
type TimeIndex struct {
	*index
	base          int64
	lastTimestamp int64 // of the last entry, -1 when there is none; guarded by the log's lock
	lastOffset    int64 // of the last entry, base when there is none
}

const timeEntrySize = 12

// full says that only the closing entry still fits.
func (x *TimeIndex) full() bool { return x.entries() >= x.maxEntries-1 }

func (x *TimeIndex) decode(b []byte) (timestamp, offset int64) {
	return int64(binary.BigEndian.Uint64(b)), x.base + int64(int32(binary.BigEndian.Uint32(b[8:])))
}

// maybeAppend adds an entry when timestamp is above the last one's.
func (x *TimeIndex) maybeAppend(timestamp, offset int64) error {
	if timestamp <= x.lastTimestamp {
		return nil
	}
	var b [timeEntrySize]byte
	binary.BigEndian.PutUint64(b[:], uint64(timestamp))
	binary.BigEndian.PutUint32(b[8:], uint32(offset-x.base))
	if err := x.append(b[:]); err != nil {
		return err
	}
	x.lastTimestamp, x.lastOffset = timestamp, offset
	return nil
}

// lookup returns the offset of the last entry at or before timestamp, or base.
func (x *TimeIndex) lookup(timestamp int64) (offset int64, err error) {
	var b [timeEntrySize]byte
	slot, err := x.search(b[:], func(e []byte) bool {
		return int64(binary.BigEndian.Uint64(e)) > timestamp
	})
	if err != nil || slot < 0 {
		return x.base, err
	}
	_, offset = x.decode(b[:])
	return offset, nil
}

// truncateTo drops the entries at or after offset.
func (x *TimeIndex) truncateTo(offset int64) error {
	var b [timeEntrySize]byte
	slot, err := x.search(b[:], func(e []byte) bool {
		return int64(int32(binary.BigEndian.Uint32(e[8:]))) >= offset-x.base
	})
	if err != nil {
		return err
	}
	if err := x.truncate(slot + 1); err != nil {
		return err
	}
	return x.loadLast()
}

func (x *TimeIndex) reset() error {
	x.lastTimestamp, x.lastOffset = -1, x.base
	return x.truncate(0)
}

func (x *TimeIndex) loadLast() error {
	x.lastTimestamp, x.lastOffset = -1, x.base
	n := x.entries()
	if n == 0 {
		return nil
	}
	var b [timeEntrySize]byte
	if err := x.at(n-1, b[:]); err != nil {
		return err
	}
	x.lastTimestamp, x.lastOffset = x.decode(b[:])
	return nil
}

// sanity looks at both ends, as OffsetIndex.sanity does.
func (x *TimeIndex) sanity(nextBase int64) error {
	n := x.entries()
	if n == 0 {
		return nil
	}
	var b [timeEntrySize]byte
	if err := x.at(0, b[:]); err != nil {
		return err
	}
	firstTime, firstOffset := x.decode(b[:])
	if err := x.at(n-1, b[:]); err != nil {
		return err
	}
	lastTime, lastOffset := x.decode(b[:])
	switch {
	case firstTime < 0 || lastTime-firstTime < int64(n-1):
		return corruptf("%s: timestamps %d to %d in %d entries", filepath.Base(x.path), firstTime, lastTime, n)
	case firstOffset < x.base || lastOffset < firstOffset || lastOffset >= nextBase:
		return corruptf("%s: offsets %d to %d of segment [%d, %d)", filepath.Base(x.path), firstOffset, lastOffset, x.base, nextBase)
	}
	x.lastTimestamp, x.lastOffset = lastTime, lastOffset
	return nil
}
