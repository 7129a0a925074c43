package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

const (
	indexEntry     = 8  // relative offset, position
	timeIndexEntry = 12 // timestamp, relative offset
	txnIndexEntry  = 34
)

// indexFile is the whole entries of an index, and how long the file really is.
type indexFile struct {
	name    string
	base    int64
	entries []byte
	width   int
	length  int
}

func readIndex(name string, base int64, width int) (*indexFile, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &indexFile{name: name, base: base, width: width, length: len(b), entries: b[:len(b)/width*width]}, nil
}

func (x *indexFile) count() int { return len(x.entries) / x.width }

// offset reads an entry's offset, which is its last field in the time index and its first in the offset index.
func (x *indexFile) offset(i, at int) int64 {
	return x.base + int64(int32(binary.BigEndian.Uint32(x.entries[i*x.width+at:])))
}

// checkLength is the part of the sanity check that both indexes share.
func (x *indexFile) checkLength(kind string) error {
	if x.length%x.width != 0 {
		return fmt.Errorf("%s file %s is corrupt, found %d bytes which is neither positive nor a multiple of %d.", kind, x.name, x.length, x.width)
	}
	return nil
}

// sibling is the file with the same base offset and another suffix.
func sibling(name, suffix string) string {
	start, _, _ := strings.Cut(filepath.Base(name), ".")
	return filepath.Join(filepath.Dir(name), start+suffix)
}

// index dumps an offset index and compares it with the log beside it.
func (d *dump) index(name string, base int64) error {
	log, err := openBatches(sibling(name, ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	x, err := readIndex(name, base, indexEntry)
	if err != nil {
		return err
	}
	empty := x.count() == 0 || log.size == 0 && x.offset(0, 0) == base // an active segment's index is zeros until used
	if empty {
		return d.note(name, "empty", "%s is empty.\n", name)
	}
	if d.sanityOnly {
		if last := x.offset(x.count()-1, 0); last < base {
			return fmt.Errorf("Corrupt index found, index file (%s) has non-zero size but the last offset is %d which is less than the base offset %d.", name, last, base)
		}
		if err := x.checkLength("Index"); err != nil {
			return err
		}
		return d.note(name, "sane", "%s passed sanity check.\n", name)
	}
	for i := range x.count() {
		offset := x.offset(i, 0)
		if offset == base && i > 0 {
			return nil // the zeros behind the last entry
		}
		position := int64(int32(binary.BigEndian.Uint32(x.entries[i*indexEntry+4:])))
		b, err := log.at(position, d.maxMessageSize)
		if err != nil {
			return err
		}
		if b == nil {
			return fmt.Errorf("%s: entry %d points to position %d of the log, where no whole batch of at most %d bytes is", name, i, position, d.maxMessageSize)
		}
		if last := b.LastOffset(); last != offset {
			d.mismatches.add(name, offset, last)
		}
		if err := d.indexLine(name, offset, position); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) indexLine(name string, offset, position int64) error {
	switch {
	case d.verifyOnly:
		return nil
	case d.asJSON:
		return d.object(map[string]any{"type": "indexEntry", "file": name, "offset": offset, "position": position})
	}
	_, err := fmt.Fprintf(d.out, "offset: %d position: %d\n", offset, position)
	return err
}

// note prints one sentence about a file.
func (d *dump) note(name, kind, format string, args ...any) error {
	if d.asJSON {
		return d.object(map[string]any{"type": kind, "file": name})
	}
	_, err := fmt.Fprintf(d.out, format, args...)
	return err
}

// timeIndex dumps a time index and compares it with log and offset index beside it.
func (d *dump) timeIndex(name string, base int64) error {
	log, err := openBatches(sibling(name, ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	t, err := readIndex(name, base, timeIndexEntry)
	if err != nil {
		return err
	}
	if d.sanityOnly {
		return d.timeIndexSane(t)
	}
	x, err := readIndex(sibling(name, ".index"), base, indexEntry)
	if errors.Is(err, fs.ErrNotExist) {
		x, err = &indexFile{name: name, base: base, width: indexEntry}, nil // look from the start of the log
	}
	if err != nil {
		return err
	}
	previous := int64(-1)
	for i := range t.count() {
		timestamp, offset := t.timestamp(i), t.offset(i, 8)
		if offset == base && i > 0 {
			return nil
		}
		if log.size == 0 && offset == base {
			return nil // zeros only: nothing was ever indexed
		}
		if err := d.compareTime(name, log, x.lookup(offset), timestamp, offset, previous); err != nil {
			return err
		}
		if err := d.timeIndexLine(name, timestamp, offset); err != nil {
			return err
		}
		previous = timestamp
	}
	return nil
}

func (x *indexFile) timestamp(i int) int64 {
	return int64(binary.BigEndian.Uint64(x.entries[i*x.width:]))
}

func (d *dump) timeIndexSane(t *indexFile) error {
	if n := t.count(); n > 0 {
		if last, first := t.timestamp(n-1), t.timestamp(0); last < first {
			return fmt.Errorf("Corrupt time index found, time index file (%s) has non-zero size but the last timestamp is %d which is less than the first timestamp %d", t.name, last, first)
		}
		if last := t.offset(n-1, 8); last < t.base {
			return fmt.Errorf("Corrupt time index found, time index file (%s) has non-zero size but the last offset is %d which is less than the first offset %d", t.name, last, t.base)
		}
	}
	if err := t.checkLength("Time index"); err != nil {
		return err
	}
	return d.note(t.name, "sane", "%s passed sanity check.\n", t.name)
}

// lookup is the position of the last entry at or below an offset, 0 without one.
func (x *indexFile) lookup(offset int64) int64 {
	used := x.count()
	for i := 1; i < used; i++ { // zeros behind the last entry do not count
		if x.offset(i, 0) == x.base {
			used = i
		}
	}
	i := sort.Search(used, func(i int) bool { return x.offset(i, 0) > offset })
	if i == 0 {
		return 0
	}
	return int64(int32(binary.BigEndian.Uint32(x.entries[(i-1)*indexEntry+4:])))
}

// compareTime finds the batch that holds the entry's offset and notes what differs.
func (d *dump) compareTime(name string, log *batchFile, from, timestamp, offset, previous int64) error {
	g := &batchFile{File: log.File, size: log.size, position: from}
	for {
		b, _, err := g.next()
		if err != nil {
			return err
		}
		if b == nil {
			d.notFound.add(name, offset, -1)
			return nil
		}
		if b.LastOffset() < offset {
			continue
		}
		if b.LastOffset() != offset {
			d.notFound.add(name, offset, b.LastOffset())
			return nil
		}
		newest := int64(-1)
		for r, err := range b.Records() {
			if err != nil {
				return err
			}
			newest = max(newest, r.Timestamp)
		}
		if newest != timestamp {
			d.timeMismatches.add(name, timestamp, newest)
		}
		if previous >= timestamp {
			d.outOfOrder.add(name, timestamp, previous)
		}
		return nil
	}
}

func (d *dump) timeIndexLine(name string, timestamp, offset int64) error {
	switch {
	case d.verifyOnly:
		return nil
	case d.asJSON:
		return d.object(map[string]any{"type": "timeIndexEntry", "file": name, "timestamp": timestamp, "offset": offset})
	}
	_, err := fmt.Fprintf(d.out, "timestamp: %d offset: %d\n", timestamp, offset)
	return err
}

// txnIndex dumps the aborted transactions of a segment.
func (d *dump) txnIndex(name string, base int64) error {
	x, err := readIndex(name, base, txnIndexEntry)
	if err != nil {
		return err
	}
	for i := range x.count() {
		e := x.entries[i*txnIndexEntry:]
		version := int16(binary.BigEndian.Uint16(e))
		n := func(at int) int64 { return int64(binary.BigEndian.Uint64(e[at:])) }
		if d.asJSON {
			err = d.object(map[string]any{"type": "abortedTxn", "file": name, "version": version, "producerId": n(2), "firstOffset": n(10), "lastOffset": n(18), "lastStableOffset": n(26)})
		} else {
			_, err = fmt.Fprintf(d.out, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n", version, n(2), n(10), n(18), n(26))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
