package up

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"kz/internal/journal"
)

// batch is the beginning of a record batch, and n bytes of what follows.
func batch(base int64, n int) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(base))
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

func TestCutSegment(t *testing.T) {
	whole := append(append(batch(0, 50), batch(10, 60)...), batch(25, 70)...)
	for _, c := range []struct {
		rule    string
		bytes   []byte
		flushed int64
		left    int
	}{
		{"nothing was flushed", whole, 0, 0},
		{"a flush ends between two batches", whole, 10, 62},
		{"up to the last but one", whole, 25, 62 + 72},
		{"all was flushed", whole, 40, len(whole)},
		{"a torn batch was never whole", whole[:len(whole)-1], 40, 62 + 72},
		{"an empty segment", nil, 5, 0},
		{"half a header", whole[:5], 40, 0},
	} {
		file := filepath.Join(t.TempDir(), "00000000000000000000.log")
		if err := os.WriteFile(file, c.bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		gone, err := cutSegment(file, c.flushed)
		info, statErr := os.Stat(file)
		if err != nil || statErr != nil || int(info.Size()) != c.left || int(gone) != len(c.bytes)-c.left {
			t.Errorf("%s: %d bytes gone, %d left, want %d left (%v, %v)", c.rule, gone, info.Size(), c.left, err, statErr)
		}
	}
}

// How far a log is on disk, from the checkpoint and from what the journal says happened since.
func TestOnDisk(t *testing.T) {
	flush := func(to int64) journal.Event { return journal.Event{Kind: journal.Flush, Topic: "t", Offset: to} }
	truncate := func(to int64) journal.Event {
		return journal.Event{Kind: journal.Truncation, Topic: "t", Offset: to}
	}
	for _, c := range []struct {
		rule       string
		checkpoint int64
		events     []journal.Event
		want       int64
	}{
		{"nothing is known", 0, nil, 0},
		{"the checkpoint", 70, nil, 70},
		{"a flush since", 70, []journal.Event{flush(90)}, 90},
		{"a checkpoint since", 95, []journal.Event{flush(90)}, 95},
		{"what was truncated is gone, flushed or not", 70, []journal.Event{flush(90), truncate(40)}, 40},
		{"a truncation behind the flush changes nothing", 0, []journal.Event{flush(90), truncate(95)}, 90},
		{"a flush after the truncation", 70, []journal.Event{truncate(40), flush(60)}, 60},
		{"the first of two truncations counts no longer", 0, []journal.Event{flush(90), truncate(40), truncate(20), flush(30)}, 30},
	} {
		d := onDisk{map[string]int64{"t-0": c.checkpoint}, map[string]int64{}, map[string]int64{}}
		for _, ev := range c.events {
			d.saw(ev)
		}
		if got := d.flushed("t-0"); got != c.want {
			t.Errorf("%s: %d, want %d", c.rule, got, c.want)
		}
	}
}
