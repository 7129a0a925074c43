package commitlog

import (
	"encoding/binary"
	"path/filepath"
)

// OffsetIndex leads from an offset to a place in the segment's .log file near it.
// Mirrors kafka.log.OffsetIndex. Entries are 8 bytes, big-endian:
//
//	0–3 relative offset   last offset of one append, minus the segment's base
//	4–7 position          byte in the .log where that append starts
//
// It is sparse: one entry per index.interval.bytes. Offsets rise strictly.
type OffsetIndex struct {
	*index
	base int64
	last int64 // offset of the last entry, base when there is none; guarded by the log's lock
}

const offsetEntrySize = 8

// OffsetPosition is an entry of an OffsetIndex, made absolute.
type OffsetPosition struct {
	Offset   int64
	Position int64
}

func (x *OffsetIndex) decode(b []byte) OffsetPosition {
	return OffsetPosition{
		Offset:   x.base + int64(int32(binary.BigEndian.Uint32(b))),
		Position: int64(int32(binary.BigEndian.Uint32(b[4:]))),
	}
}

// full says that no further entry fits; the log rolls before that.
func (x *OffsetIndex) full() bool { return x.entries() >= x.maxEntries }

// append adds an entry; offset must be above the last one's.
func (x *OffsetIndex) append(offset, position int64) error {
	if x.entries() > 0 && offset <= x.last {
		return corruptf("%s: offset %d is not above the last, %d", filepath.Base(x.path), offset, x.last)
	}
	var b [offsetEntrySize]byte
	binary.BigEndian.PutUint32(b[:], uint32(offset-x.base))
	binary.BigEndian.PutUint32(b[4:], uint32(position))
	if err := x.index.append(b[:]); err != nil {
		return err
	}
	x.last = offset
	return nil
}

// lookup returns the last entry at or before offset, or the segment's start.
func (x *OffsetIndex) lookup(offset int64) (OffsetPosition, error) {
	var b [offsetEntrySize]byte
	relative := offset - x.base
	slot, err := x.search(b[:], func(e []byte) bool {
		return int64(int32(binary.BigEndian.Uint32(e))) > relative
	})
	if err != nil || slot < 0 {
		return OffsetPosition{Offset: x.base}, err
	}
	return x.decode(b[:]), nil
}

// truncateTo drops the entries at or after offset.
func (x *OffsetIndex) truncateTo(offset int64) error {
	var b [offsetEntrySize]byte
	slot, err := x.search(b[:], func(e []byte) bool {
		return int64(int32(binary.BigEndian.Uint32(e))) >= offset-x.base
	})
	if err != nil {
		return err
	}
	if err := x.truncate(slot + 1); err != nil {
		return err
	}
	return x.loadLast()
}

func (x *OffsetIndex) reset() error {
	x.last = x.base
	return x.truncate(0)
}

func (x *OffsetIndex) loadLast() error {
	x.last = x.base
	n := x.entries()
	if n == 0 {
		return nil
	}
	var b [offsetEntrySize]byte
	if err := x.at(n-1, b[:]); err != nil {
		return err
	}
	x.last = x.decode(b[:]).Offset
	return nil
}

// sanity looks at both ends, which is enough to tell entries from garbage: the
// offsets must lie in [base, nextBase) and the positions inside a .log of size bytes.
func (x *OffsetIndex) sanity(nextBase, size int64) error {
	n := x.entries()
	if n == 0 {
		return nil
	}
	var b [offsetEntrySize]byte
	if err := x.at(0, b[:]); err != nil {
		return err
	}
	first := x.decode(b[:])
	if err := x.at(n-1, b[:]); err != nil {
		return err
	}
	last := x.decode(b[:])
	switch {
	case first.Offset < x.base || last.Offset >= nextBase || last.Offset-first.Offset < int64(n-1):
		return corruptf("%s: offsets %d to %d in %d entries of segment [%d, %d)", filepath.Base(x.path), first.Offset, last.Offset, n, x.base, nextBase)
	case first.Position < 0 || last.Position < first.Position || last.Position >= size:
		return corruptf("%s: positions %d to %d in a log of %d bytes", filepath.Base(x.path), first.Position, last.Position, size)
	}
	x.last = last.Offset
	return nil
}
