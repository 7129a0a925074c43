package commitlog

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

func newTestLog(t testing.TB, c Config) (*Manager, *Log) {
	t.Helper()
	m := newTestManager(t, nil, c)
	return m, create(t, m, orders, c)
}

// Ref: Kafka 2.8 LogSegment.shouldRoll.
func TestWhenASegmentRolls(t *testing.T) {
	big := DefaultConfig()
	for _, tc := range []struct {
		name    string
		config  func(*Config)
		batches [][]byte // each rolls or not
		rolls   []bool
	}{
		{"exactly segment.bytes still fits, one byte more does not",
			func(c *Config) { c.SegmentBytes = 2 * len(batch(0, 1, 10, 1)) },
			[][]byte{batch(0, 1, 10, 1), batch(0, 1, 10, 1), batch(0, 1, 10, 1)}, []bool{false, false, true}},
		{"segment.ms counts from the first append's time to the incoming one's",
			func(c *Config) { c.SegmentMs = 1000 },
			[][]byte{batch(0, 1, 10, 5000), batch(0, 1, 10, 6000), batch(0, 1, 10, 6001), batch(0, 1, 10, 1)}, []bool{false, false, true, false}},
		{"a compacted log rolls no later than max.compaction.lag.ms",
			func(c *Config) { c.Compact, c.MaxCompactionLagMs = true, 500 },
			[][]byte{batch(0, 1, 10, 5000), batch(0, 1, 10, 5501)}, []bool{false, true}},
		{"a full offset index rolls",
			func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 16, 0 },
			[][]byte{batch(0, 1, 10, 1), batch(0, 1, 10, 1), batch(0, 1, 10, 1), batch(0, 1, 10, 1)}, []bool{true, false, true, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := big
			tc.config(&c)
			if strings.Contains(tc.name, "offset index") {
				// 16 bytes hold two offset entries but one time entry, so the closing slot
				// alone is left from the start: even the first append rolls.
				c.SegmentIndexBytes = 24
				tc.rolls = []bool{false, false, true, false}
			}
			_, l := newTestLog(t, c)
			for i, b := range tc.batches {
				before := l.Segments()
				mustAppend(t, l, b, 0)
				if rolled := l.Segments() > before; rolled != tc.rolls[i] {
					t.Errorf("append %d rolled: %v", i, rolled)
				}
			}
		})
	}
}

// An offset too far from the base for 32 bits begins a segment of its own.
func TestOffsetOverflowRolls(t *testing.T) {
	_, l := newTestLog(t, DefaultConfig())
	for _, base := range []int64{0, math.MaxInt32, math.MaxInt32 + 1, 1 << 40} {
		if _, err := l.AppendAsFollower(batch(base, 1, 5, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var bases []int64
	for _, s := range l.state.Load().segments {
		bases = append(bases, s.base)
	}
	if want := []int64{0, math.MaxInt32 + 1, 1 << 40}; !slices.Equal(bases, want) {
		t.Errorf("segments at %v, want %v", bases, want)
	}
	if got := readAll(t, l, 0); len(got) != 4 {
		t.Errorf("read %v", got)
	}
}

// The jitter is drawn per segment, so that many logs do not roll in the same moment.
func TestJitterShortensSegmentMs(t *testing.T) {
	c := DefaultConfig()
	c.SegmentMs, c.SegmentJitterMs = 1000, 5000
	for range 100 {
		if j := randomJitter(c); j < 0 || j >= 1000 {
			t.Fatalf("jitter %d outside [0, min(segment.jitter.ms, segment.ms))", j)
		}
	}
	_, l := newTestLog(t, c)
	l.state.Load().active().jitter = 900
	mustAppend(t, l, batch(0, 1, 1, 5000), 0)
	mustAppend(t, l, batch(0, 1, 1, 5101), 0)
	if l.Segments() != 2 {
		t.Error("not rolled 101 ms after the first record, with 900 of 1000 ms jitter")
	}
}

// Ref: Kafka 2.8 Log.read.
func TestRead(t *testing.T) {
	_, l := newTestLog(t, DefaultConfig())
	for range 3 {
		mustAppend(t, l, batch(0, 10, 20, 1), 0)
	}
	size := len(batch(0, 10, 20, 1))
	second, err := l.OffsetMetadata(10)
	if err != nil || second.Position != size {
		t.Fatalf("%+v %v", second, err)
	}
	for _, tc := range []struct {
		name          string
		offset        int64
		maxBytes      int
		bound         OffsetMetadata
		minOneMessage bool
		position, n   int
		incomplete    bool
		code          kafkaerr.Code
	}{
		{"data starts with the batch that holds the offset", 15, 1 << 20, l.End(), false, size, 2 * size, false, 0},
		{"a batch beyond maxBytes is cut", 0, size + 7, l.End(), false, 0, size + 7, false, 0},
		{"so is the first, and it is said", 0, 7, l.End(), false, 0, 7, true, 0},
		{"but not with minOneMessage", 0, 7, l.End(), true, 0, size, false, 0},
		{"maxBytes 0 reads nothing but finds the place", 12, 0, l.End(), false, size, 0, false, 0},
		{"bound cuts", 0, 1 << 20, second, false, 0, size, false, 0},
		{"bound given as an offset alone cuts at its batch", 0, 1 << 20, OffsetOnly(10), false, 0, size, false, 0},
		{"at the bound there is nothing", 10, 1 << 20, second, true, size, 0, false, 0},
		{"between bound and end there is nothing, but no error", 25, 1 << 20, second, true, 2 * size, 0, false, 0},
		{"at the end there is nothing", 30, 1 << 20, l.End(), true, 3 * size, 0, false, 0},
		{"a bound above the end is the end", 20, 1 << 20, OffsetOnly(99), true, 2 * size, size, false, 0},
		{"above the end", 31, 1, l.End(), true, 0, 0, false, kafkaerr.OffsetOutOfRange},
		{"below the start", -1, 1, l.End(), true, 0, 0, false, kafkaerr.OffsetOutOfRange},
	} {
		t.Run(tc.name, func(t *testing.T) {
			info, err := l.Read(tc.offset, tc.maxBytes, tc.bound, tc.minOneMessage)
			if kafkaerr.CodeOf(err) != tc.code {
				t.Fatal(err)
			}
			defer info.Data.Release()
			if err == nil && (info.Start != OffsetMetadata{tc.offset, 0, tc.position} ||
				info.Data.Len() != int64(tc.n) || info.FirstEntryIncomplete != tc.incomplete) {
				t.Errorf("got %+v", info)
			}
		})
	}
}

// Whoever holds a Slice reads on, whatever happens to the segment.
func TestSliceOutlivesItsSegment(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(m *Manager, l *Log) error
	}{
		{"truncated fully", func(_ *Manager, l *Log) error { return l.TruncateFullyAndStartAt(100) }},
		{"deleted with its topic", func(m *Manager, l *Log) error { return m.Delete(orders) }},
		{"its directory failed", func(m *Manager, l *Log) error { m.FailDir(l.Dir(), errors.New("test")); return nil }},
		{"the broker stopped", func(m *Manager, l *Log) error { m.Stop(); return nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := smallConfig()
			c.FileDeleteDelayMs = 0
			m, l := newTestLog(t, c)
			gone := make(chan struct{}, 1)
			m.OnDirFailure(func(string, []topic.Partition) { gone <- struct{}{} })
			m.Start()
			fill(t, l, 3)
			info, err := l.Read(0, 1<<20, l.End(), true)
			if err != nil {
				t.Fatal(err)
			}
			want, err := info.Data.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.do(m, l); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(tc.name, "failed") {
				<-gone
			}
			m.Stop()
			if got, err := info.Data.ReadAll(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the slice changed: %v", err)
			}
			info.Data.Release()
			if _, err := info.Data.File.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the file is still open after the last release: %v", err)
			}
		})
	}
}

// Readers work without a lock while everything changes under them. They may find
// that the log was cut, but never a torn batch below their bound.
func TestReadersBesideEverything(t *testing.T) {
	c := smallConfig()
	c.FileDeleteDelayMs = 0
	c.RetentionBytes = 6000
	m, l := newTestLog(t, c)
	m.Start()
	stop := make(chan struct{})
	var readers, flushers sync.WaitGroup
	for range 2 {
		readers.Go(func() { readUntil(t, l, stop) })
	}
	flushers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				l.Flush()
				m.CheckpointHighWatermarks()
				l.OffsetByTimestamp(l.EndOffset() - 3)
			}
		}
	})
	for i := range 600 {
		mustAppend(t, l, batch(0, 3, 40, l.EndOffset()), int32(i/50))
		l.MaybeIncrementHighWatermark(l.End())
		switch {
		case i%97 == 0:
			if _, err := l.TruncateTo(max(l.StartOffset(), l.EndOffset()-20)); err != nil {
				t.Fatal(err)
			}
		case i%41 == 0:
			if _, err := l.DeleteOldSegments(); err != nil {
				t.Fatal(err)
			}
		case i%250 == 249:
			if err := l.TruncateFullyAndStartAt(l.EndOffset() + 5); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	readers.Wait()
	flushers.Wait()
	readAll(t, l, l.StartOffset())
}

func readUntil(t *testing.T, l *Log, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		start, end := l.StartOffset(), l.EndOffset()
		for offset := start; offset < end; {
			cuts := l.state.Load().cuts
			info, err := l.Read(offset, 4000, l.HighWatermarkMetadata(), true)
			if kafkaerr.CodeOf(err) == kafkaerr.OffsetOutOfRange {
				break // cut or deleted meanwhile
			}
			if err != nil {
				t.Errorf("read %d of %d to %d: %v", offset, start, end, err)
				return
			}
			b, err := info.Data.ReadAll()
			info.Data.Release()
			if l.state.Load().cuts != cuts || info.Data.Len() == 0 {
				break
			}
			h, herr := parseHeader(b, int64(len(b)))
			if err != nil || herr != nil || h.checkCRC(b[:h.size]) != nil {
				if l.state.Load().cuts == cuts {
					t.Errorf("read %d: %v, %v", offset, err, herr)
				}
				break
			}
			offset = h.last + 1
		}
	}
}

// Ref: Kafka 2.8 Log.append for followers.
func TestFollowerAppendChecks(t *testing.T) {
	_, l := newTestLog(t, DefaultConfig())
	if _, err := l.AppendAsFollower(batch(0, 10, 5, 1)); err != nil {
		t.Fatal(err)
	}
	flipped := batch(10, 2, 5, 1)
	flipped[len(flipped)-1] ^= 1
	backwards := append(batch(20, 2, 5, 1), batch(10, 2, 5, 1)...)
	zeros := append(batch(10, 2, 5, 1), make([]byte, 40)...)
	for _, tc := range []struct {
		name string
		b    []byte
		code kafkaerr.Code
	}{
		{"below the log end", batch(9, 2, 5, 1), kafkaerr.UnknownServerError},
		{"offsets out of order", backwards, kafkaerr.UnknownServerError},
		{"a bad CRC", flipped, kafkaerr.CorruptMessage},
		{"zeros after a batch", zeros, kafkaerr.CorruptMessage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := l.AppendAsFollower(tc.b); err == nil || kafkaerr.CodeOf(err) != tc.code {
				t.Errorf("got %v, want %v", err, tc.code)
			}
			if l.EndOffset() != 10 || l.usable("") != nil {
				t.Errorf("the log ends at %d; %v", l.EndOffset(), l.usable(""))
			}
		})
	}
	var u *UnexpectedOffset
	if _, err := l.AppendAsFollower(batch(9, 2, 5, 1)); !errors.As(err, &u) || *u != (UnexpectedOffset{9, 10, 10}) {
		t.Errorf("got %v", err)
	}
	if info, err := l.AppendAsFollower(nil); err != nil || info.FirstOffset != -1 {
		t.Errorf("nothing: %+v %v", info, err)
	}
	if info, err := l.AppendAsFollower(batch(10, 2, 5, 1)[:70]); err != nil || info.FirstOffset != -1 {
		t.Errorf("a partial batch alone: %+v %v", info, err)
	}
}

func TestLeaderRefusesWhatCannotFit(t *testing.T) {
	c := DefaultConfig()
	c.SegmentBytes, c.MaxMessageBytes = 200, 300
	_, l := newTestLog(t, c)
	for want, b := range map[kafkaerr.Code][]byte{
		kafkaerr.RecordListTooLarge: batch(0, 1, 180, 1),
		kafkaerr.MessageTooLarge:    batch(0, 1, 280, 1),
	} {
		if _, err := l.AppendAsLeader(b, 0, FromClient); kafkaerr.CodeOf(err) != want {
			t.Errorf("%d bytes: %v, want %v", len(b), err, want)
		}
	}
	if l.EndOffset() != 0 || l.usable("") != nil {
		t.Error("a refusal changed the log")
	}
}

// Clients show the message; a topic of many partitions needs the partition in it.
// Ref: Kafka 2.8 LogValidator.validateKey.
func TestRefusalsNameThePartition(t *testing.T) {
	c := DefaultConfig()
	c.Compact = true
	_, l := newTestLog(t, c)
	w := record.NewBuilder(record.None, 0)
	w.Append(1, nil, []byte("no key"))
	_, err := l.AppendAsLeader(w.Bytes(), 0, FromClient)
	var bad *record.InvalidRecords
	if !errors.As(err, &bad) {
		t.Fatalf("%v does not list the record", err)
	}
	if want := "Compacted topic cannot accept message without key in topic partition orders-0."; bad.Errors[0].Message != want {
		t.Errorf("%q, want %q", bad.Errors[0].Message, want)
	}
}

// A lookup must survive an index that lies: the log itself is the truth.
func TestWrongIndexEntryDoesNotMislead(t *testing.T) {
	_, l := newTestLog(t, smallConfig())
	for range 8 {
		mustAppend(t, l, batch(0, 2, 60, 1), 0)
	}
	seg := l.state.Load().active()
	places := func() (all []OffsetMetadata) {
		for offset := int64(0); offset < l.EndOffset(); offset++ {
			m, err := l.OffsetMetadata(offset)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
		return all
	}
	want := places()
	for i := 0; i+8 <= len(seg.offsets.tail); i += 8 {
		seg.offsets.tail[i+7] += 3 // positions point into the middle of batches
	}
	if got := places(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if !seg.indexBad.Load() {
		t.Error("the index is still trusted")
	}
}

// Old formats are walked and kept, but a time lookup in one says what is missing.
func TestOldFormatsAreNamed(t *testing.T) {
	if _, _, err := firstSince(batchHeader{magic: 1}, nil, 0, 0); kafkaerr.CodeOf(err) != kafkaerr.UnsupportedForMessageFormat {
		t.Error(err)
	}
}

// LogAppendTime is the broker's clock, in the answer and in the index.
func TestLogAppendTime(t *testing.T) {
	c := DefaultConfig()
	c.TimestampType = record.LogAppendTime
	_, l := newTestLog(t, c)
	info := mustAppend(t, l, batch(0, 3, 1, 1), 0)
	if info.LogAppendTime < 1e12 || info.MaxTimestamp != info.LogAppendTime {
		t.Errorf("got %+v", info)
	}
	got, found, err := l.OffsetByTimestamp(info.LogAppendTime)
	if err != nil || !found || got.Offset != 0 || got.Timestamp != info.LogAppendTime {
		t.Errorf("got %+v %v %v", got, found, err)
	}
}
