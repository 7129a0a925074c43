package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"kz/internal/fidelity"
)

// dumpBatch prints a batch as kafka-dump-log does.
// Ref: Kafka 2.8 DumpLogSegments.printBatchLevel, dumpLog
func dumpBatch(b Batch, position int) string {
	return fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d"+
		" partitionLeaderEpoch: %d isTransactional: %t isControl: %t position: %d %s: %d size: %d magic: %d compresscodec: %s crc: %d isvalid: %t",
		b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), b.LastSequence(), b.ProducerID(), b.ProducerEpoch(),
		b.LeaderEpoch(), b.IsTransactional(), b.IsControl(), position, timeName(b), b.MaxTimestamp(), b.Length(), b.Magic(),
		b.Codec().Name(), b.CRC(), b.CheckCRC() == nil)
}

func timeName(b Batch) string {
	if b.IsLogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// dumpRecord prints a record as kafka-dump-log does, up to the header keys.
func dumpRecord(b Batch, r Record, position int) string {
	size := func(v []byte) int {
		if v == nil {
			return -1
		}
		return len(v)
	}
	sequence := int32(-1)
	if b.BaseSequence() >= 0 {
		sequence = NextSequence(b.BaseSequence(), int32(r.Offset-b.BaseOffset()))
	}
	var keys []string
	for _, h := range r.Headers {
		keys = append(keys, h.Key)
	}
	return fmt.Sprintf("| offset: %d isValid: true crc: null keySize: %d valueSize: %d %s: %d baseOffset: %d lastOffset: %d baseSequence: %d lastSequence: %d"+
		" producerEpoch: %d partitionLeaderEpoch: %d batchSize: %d magic: %d compressType: %s position: %d sequence: %d headerKeys: [%s]",
		r.Offset, size(r.Key), size(r.Value), timeName(b), r.Timestamp, b.BaseOffset(), b.LastOffset(), b.BaseSequence(), b.LastSequence(),
		b.ProducerEpoch(), b.LeaderEpoch(), b.Length(), b.Magic(), b.Codec().Name(), position, sequence, strings.Join(keys, ","))
}

// dumped splits the output of kafka-dump-log by file: only lines of batches and records.
func dumped(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, file := map[string][]string{}, ""
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "Dumping "):
			file = strings.TrimPrefix(line, "Dumping ")
		case strings.HasPrefix(line, "baseOffset: "), strings.HasPrefix(line, "| offset: "):
			lines[file] = append(lines[file], line)
		}
	}
	return lines
}

// TestRealSegments reads what Apache Kafka 2.8.2 wrote and says of it what
// kafka-dump-log said.
func TestRealSegments(t *testing.T) {
	files, _ := filepath.Glob("testdata/segments/*/*/*.log")
	if len(files) < 30 {
		t.Fatalf("only %d segments in testdata", len(files))
	}
	sheet := fidelity.Open(t, "files/batches")
	for _, path := range files {
		t.Run(strings.TrimPrefix(path, "testdata/segments/"), func(t *testing.T) {
			segment, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := dumped(t, filepath.Join(filepath.Dir(path), "dump.txt"))[filepath.Base(path)]
			if len(want) == 0 {
				t.Fatal("no dump of this file")
			}
			deep := strings.Contains(strings.Join(want, "\n"), "| offset: ")
			position := 0
			for b, err := range Batches(segment) {
				if err != nil {
					t.Fatal(err)
				}
				want = expect(t, want, dumpBatch(b, position), "")
				for r, err := range b.Records() {
					if err != nil {
						t.Fatal(err)
					}
					if deep {
						want = expect(t, want, dumpRecord(b, r, position), dumpData(t, b, r))
					}
				}
				checkRebuild(t, b)
				position += b.Length()
			}
			if position != len(segment) || len(want) != 0 {
				t.Errorf("read %d of %d bytes, %d lines of the dump left", position, len(segment), len(want))
			}
			sheet.Add("segments of Kafka's, read batch by batch and record by record", "", fidelity.Same, "")
		})
	}
}

// expect compares the next line of the dump with line and, if data is known, what follows it.
func expect(t *testing.T, want []string, line, data string) []string {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("the dump ends before\n%s", line)
	}
	rest, ok := strings.CutPrefix(want[0], line)
	if !ok {
		t.Fatalf("got  %s\nwant %s", line, want[0])
	}
	if data != "" && rest != data {
		t.Fatalf("%s\ngot  %q\nwant %q", line, data, rest)
	}
	return want[1:]
}

// dumpData is what the tool prints after the header keys, or "" where a decoder or a
// character set stands between.
func dumpData(t *testing.T, b Batch, r Record) string {
	if b.IsControl() {
		m, err := ParseMarker(b)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf(" endTxnMarker: %s coordinatorEpoch: %d", m.Type, m.CoordinatorEpoch)
	}
	s := ""
	if r.Key != nil {
		s += " key: " + string(r.Key)
	}
	if r.Value != nil {
		s += " payload: " + string(r.Value)
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == utf8.RuneError || c == 0x7f }) {
		return ""
	}
	return s
}

// checkRebuild writes the records of b again: the same bytes if b is not compressed,
// else the same batch around other compressed bytes.
func checkRebuild(t *testing.T, b Batch) {
	t.Helper()
	w := rebuilt(t, b)
	got := Batch(w.Bytes())
	if b.Codec() == None {
		if !bytes.Equal(got, b) {
			t.Errorf("rebuilt\n% x, want\n% x", got, b)
		}
		return
	}
	if err := got.CheckCRC(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(unfold(t, got), unfold(t, b)) || !bytes.Equal(got[posAttributes:posCount+4], b[posAttributes:posCount+4]) {
		t.Errorf("rebuilt %v batch at %d differs", b.Codec(), b.BaseOffset())
	}
}

// rebuilt feeds a Builder with what b holds. With LogAppendTime the records' own times
// are in the bytes but not in Records.
func rebuilt(t *testing.T, b Batch) *Builder {
	t.Helper()
	w := NewBuilder(b.Codec(), b.BaseOffset())
	w.SetProducer(b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.IsTransactional())
	w.SetLeaderEpoch(b.LeaderEpoch())
	if b.IsControl() {
		w.SetControl()
	}
	if b.IsLogAppendTime() {
		w.SetLogAppendTime(b.MaxTimestamp())
	}
	walk, err := newWalker(b, true)
	if err != nil {
		t.Fatal(err)
	}
	defer walk.close()
	var f fields
	for walk.left > 0 {
		if err := walk.next(&f); err != nil {
			t.Fatal(err)
		}
		w.AppendRecord(Record{Offset: b.BaseOffset() + int64(f.offsetDelta), Timestamp: b.FirstTimestamp() + f.timestampDelta,
			Key: f.key, Value: f.value, Headers: f.decodeHeaders()})
	}
	w.SetLastOffset(b.LastOffset())
	if b.Count() == 0 {
		w.SetMaxTimestamp(b.MaxTimestamp())
	}
	return w
}

// unfold is the decompressed records of b.
func unfold(t *testing.T, b Batch) []byte {
	t.Helper()
	out, err := unfoldAll(b.Codec(), b[HeaderSize:])
	if err != nil {
		t.Fatal(err)
	}
	return out
}
