package up

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kz/internal/journal"
)

// A kill leaves the page cache: what the broker wrote to its files is there when it comes
// back. A machine that loses its power keeps what was forced to disk, and perhaps more. So
// a power-off is a kill, and then every log is cut where its last known flush ended. What
// is known:
//
//	recovery-point-offset-checkpoint   written every minute, and forced to disk itself
//	log.flushed in the journal         written before the flush returns, hence before
//	                                   anybody is told anything that relies on it
//	log.truncated in the journal       what was flushed behind it is not there any more
//
// It is the worst that can happen: a kernel would have written some of the rest.

// A cut is what a log lost.
type cut struct {
	Partition string
	At        int64 // its end now: the flushed offset
	Bytes     int64 // that are gone
}

func tellCuts(cuts []cut) string {
	if len(cuts) == 0 {
		return "every log was on disk whole"
	}
	var parts []string
	for _, c := range cuts[:min(len(cuts), 8)] {
		parts = append(parts, fmt.Sprintf("%s at offset %d (%d bytes gone)", c.Partition, c.At, c.Bytes))
	}
	if more := len(cuts) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "cut where they were last flushed: " + strings.Join(parts, ", ")
}

// cutLogs cuts the logs of a broker that has ended, and tells what that took.
func (c *Cluster) cutLogs(p *child, f *Fault) error {
	cuts, err := c.cut(p)
	if err != nil {
		c.tell(f, "%s was killed, but its logs could not be cut: %v", p.name, err)
		return err
	}
	c.tell(f, "cut the power of %s: %s", p.name, tellCuts(cuts))
	return nil
}

// cut cuts every log of a broker that has ended to what is known to be on disk.
func (c *Cluster) cut(p *child) ([]cut, error) {
	dir := filepath.Join(c.cfg.Dir, p.name)
	known, err := readRecoveryPoints(filepath.Join(dir, "recovery-point-offset-checkpoint"))
	if err != nil {
		return nil, err
	}
	tail := &Tail{path: c.JournalFile(p.name), at: p.birth}
	for events := tail.Next(); len(events) > 0; events = tail.Next() {
		for _, ev := range events {
			known.saw(ev)
		}
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*-*", "*.log"))
	if err != nil {
		return nil, err
	}
	slices.Sort(logs) // a partition's segments together, by base offset: names have 20 digits
	var cuts []cut
	for _, file := range logs {
		partition := filepath.Base(filepath.Dir(file))
		gone, err := cutSegment(file, known.flushed(partition))
		if err != nil {
			return cuts, err
		}
		switch {
		case gone == 0:
		case len(cuts) > 0 && cuts[len(cuts)-1].Partition == partition:
			cuts[len(cuts)-1].Bytes += gone
		default:
			cuts = append(cuts, cut{partition, known.flushed(partition), gone})
		}
	}
	return cuts, nil
}

// onDisk is how far each partition's log is known to be on disk.
type onDisk struct {
	checkpoint map[string]int64
	events     map[string]int64 // by the journal
	below      map[string]int64 // a truncation: the checkpoint counts no further
}

func (d onDisk) saw(ev journal.Event) {
	p := fmt.Sprintf("%s-%d", ev.Topic, ev.Partition)
	below, cut := d.below[p]
	switch ev.Kind {
	case journal.Flush:
		d.events[p] = max(d.events[p], ev.Offset)
		if cut {
			d.below[p] = max(below, ev.Offset)
		}
	case journal.Truncation:
		d.events[p] = min(d.events[p], ev.Offset)
		if !cut {
			below = math.MaxInt64
		}
		d.below[p] = min(below, ev.Offset)
	}
}

func (d onDisk) flushed(partition string) int64 {
	point := d.checkpoint[partition]
	if below, cut := d.below[partition]; cut {
		point = min(point, below)
	}
	return max(point, d.events[partition])
}

// readRecoveryPoints reads Kafka's checkpoint: version, count, then "topic partition
// offset" a line. No file: nothing is known.
func readRecoveryPoints(path string) (onDisk, error) {
	d := onDisk{map[string]int64{}, map[string]int64{}, map[string]int64{}}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Fields(line); len(f) == 3 {
			offset, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				return d, fmt.Errorf("%s: %w", path, err)
			}
			d.checkpoint[f[0]+"-"+f[1]] = offset
		}
	}
	return d, nil
}

// cutSegment ends a segment before the first batch that is not known to be on disk, and
// says how many bytes that took. A flush ends between two batches. Whatever its magic, a
// batch begins so:
//
//	0– 7  base offset
//	8–11  length of what follows
func cutSegment(file string, flushed int64) (gone int64, err error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	at, r := int64(0), bufio.NewReader(f)
	for {
		var head [12]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			break // the end, or a torn batch
		}
		length := int64(int32(binary.BigEndian.Uint32(head[8:])))
		if int64(binary.BigEndian.Uint64(head[:])) >= flushed || length < 0 || at+12+length > info.Size() {
			break
		}
		if _, err := r.Discard(int(length)); err != nil {
			break
		}
		at += 12 + length
	}
	if gone = info.Size() - at; gone == 0 {
		return 0, nil
	}
	return gone, errors.Join(f.Truncate(at), f.Sync())
}
