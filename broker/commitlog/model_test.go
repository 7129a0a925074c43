package commitlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kz/internal/kafkaerr"
)

// The model of a log is a list of batches and four numbers. Random operations run
// against it and against a real Log in a real directory, with clean restarts, kills,
// and power failures that drop what was never fsynced. rapid prints the seed of a
// failure and shrinks it.
type model struct {
	batches []modelBatch
	start   int64
	end     int64
	hw      int64
	epoch   int32 // of the leader that appends
	ts      int64 // of the next record
}

type modelBatch struct {
	base, last int64
	epoch      int32
	ts         int64 // of the first record, then one more each
	bytes      []byte
}

// world is the real thing beside the model.
type world struct {
	t   *rapid.T
	tb  testing.TB
	dir string
	c   Config
	m   *Manager
	l   *Log
	model
}

func TestLogAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "kz-model")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := smallConfig()
		c.SegmentBytes = rapid.SampledFrom([]int{400, 700, 2048}).Draw(rt, "segment.bytes")
		c.IndexIntervalBytes = rapid.SampledFrom([]int{0, 100, 1 << 20}).Draw(rt, "index.interval.bytes")
		c.RetentionMs, c.FileDeleteDelayMs = -1, 0
		c.Compact = rapid.Bool().Draw(rt, "compact") // gaps between offsets, but no power failures
		w := &world{t: rt, tb: t, dir: dir, c: c}
		w.open()
		defer func() { w.m.Kill() }()
		rt.Repeat(map[string]func(*rapid.T){
			"append as leader":   w.appendAsLeader,
			"append as leader 2": w.appendAsLeader,
			"append as follower": w.appendAsFollower,
			"new epoch":          w.newEpoch,
			"flush":              func(*rapid.T) { w.ok(w.l.Flush()) },
			"flush rolled":       func(*rapid.T) { w.ok(w.l.flushRolled()) },
			"checkpoint":         func(*rapid.T) { w.m.checkpoint((*Manager).checkpointRecoveryPoints) },
			"checkpoint starts":  func(*rapid.T) { w.m.checkpoint((*Manager).checkpointStartOffsets) },
			"raise hw":           w.raiseHW,
			"raise start":        w.raiseStart,
			"retention":          w.retention,
			"truncate":           w.truncate,
			"truncate fully":     w.truncateFully,
			"restart":            w.restart,
			"kill":               func(rt *rapid.T) { w.crash(rt, false) },
			"power failure":      func(rt *rapid.T) { w.crash(rt, true) },
			"":                   func(*rapid.T) { w.check() },
		})
	})
}

func (w *world) ok(err error) {
	if err != nil {
		w.t.Fatalf("%v (model end %d)", err, w.end)
	}
}

func (w *world) open() {
	m, err := newManager(ManagerConfig{Dirs: []string{w.dir}, Defaults: w.c}, &disk{noSync: true}, nil, nopLogger)
	w.ok(err)
	w.ok(m.Load(func(string) (Config, bool) { return w.c, true }))
	l, err := m.GetOrCreate(orders, w.c, true)
	w.ok(err)
	w.m, w.l = m, l
}

func (w *world) draw(rt *rapid.T, n int, epoch int32) modelBatch {
	count := rapid.IntRange(1, 4).Draw(rt, "records")
	size := rapid.IntRange(0, 60).Draw(rt, "size")
	b := modelBatch{base: w.end, last: w.end + int64(count) - 1, epoch: epoch, ts: w.ts}
	b.bytes = batch(0, count, size, w.ts)
	w.ts += int64(count + rapid.IntRange(0, 2).Draw(rt, "pause"))
	return b
}

func (w *world) appendAsLeader(rt *rapid.T) {
	b := w.draw(rt, 0, w.epoch)
	info, err := w.l.AppendAsLeader(b.bytes, w.epoch, FromClient)
	w.ok(err)
	if info.FirstOffset != b.base || info.LastOffset != b.last {
		rt.Fatalf("appended %d to %d, want %d to %d", info.FirstOffset, info.LastOffset, b.base, b.last)
	}
	w.batches, w.end = append(w.batches, b), b.last+1
}

func (w *world) appendAsFollower(rt *rapid.T) {
	var all []byte
	if w.c.Compact {
		w.end += int64(rapid.SampledFrom([]int{0, 0, 0, 5}).Draw(rt, "gap"))
	}
	for range rapid.IntRange(1, 3).Draw(rt, "batches") {
		b := w.draw(rt, 0, w.epoch)
		setBaseOffset(b.bytes, b.base)
		setLeaderEpoch(b.bytes, b.epoch)
		if len(all)+len(b.bytes) > w.c.SegmentBytes {
			break
		}
		w.batches, w.end = append(w.batches, b), b.last+1
		all = append(all, b.bytes...)
	}
	_, err := w.l.AppendAsFollower(append(all, "partial tail"[:rapid.IntRange(0, 11).Draw(rt, "partial")]...))
	w.ok(err)
	w.end = w.l.EndOffset() // a gap at the end is no record
}

func (w *world) newEpoch(rt *rapid.T) {
	w.epoch++
	w.ok(w.l.AssignEpoch(w.epoch, w.l.EndOffset()))
}

func (w *world) raiseHW(rt *rapid.T) {
	to := rapid.Int64Range(w.hw, w.end).Draw(rt, "hw")
	w.l.MaybeIncrementHighWatermark(OffsetOnly(to))
	w.hw = to
}

func (w *world) raiseStart(rt *rapid.T) {
	to := rapid.Int64Range(w.start, w.end+2).Draw(rt, "start")
	err := w.l.MaybeIncrementStartOffset(to)
	if to > w.hw {
		if kafkaerr.CodeOf(err) != kafkaerr.OffsetOutOfRange {
			rt.Fatalf("start raised to %d above the high watermark %d: %v", to, w.hw, err)
		}
		return
	}
	w.ok(err)
	w.start = to
}

func (w *world) retention(rt *rapid.T) {
	c := w.c
	c.RetentionBytes = int64(rapid.IntRange(0, 4000).Draw(rt, "retention.bytes"))
	w.l.SetConfig(c)
	_, err := w.l.DeleteOldSegments()
	w.ok(err)
	w.l.SetConfig(w.c)
	if got := w.l.StartOffset(); got < w.start || got > w.hw {
		rt.Fatalf("retention moved the start from %d to %d, high watermark %d", w.start, got, w.hw)
	}
	w.start = w.l.StartOffset()
	w.batches = slices.DeleteFunc(w.batches, func(b modelBatch) bool { return b.last < w.l.DeleteHorizonFloor() })
}

func (w *world) truncate(rt *rapid.T) {
	to := rapid.Int64Range(w.start, w.end+1).Draw(rt, "to")
	cut, err := w.l.TruncateTo(to)
	w.ok(err)
	if cut != (to < w.end) {
		rt.Fatalf("truncated %v at %d of %d", cut, to, w.end)
	}
	for n := len(w.batches); n > 0 && w.batches[n-1].last >= to; n-- {
		to = min(to, w.batches[n-1].base)
		w.batches = w.batches[:n-1]
	}
	w.end = min(w.end, to)
	w.hw, w.start = min(w.hw, w.end), min(w.start, w.end)
	w.epoch++ // as a new leader would
}

func (w *world) truncateFully(rt *rapid.T) {
	to := rapid.Int64Range(0, w.end+10).Draw(rt, "to")
	w.ok(w.l.TruncateFullyAndStartAt(to))
	w.batches, w.start, w.end, w.hw = nil, to, to, to
	w.epoch++
}

func (w *world) restart(rt *rapid.T) {
	w.m.Stop()
	if _, err := os.Stat(filepath.Join(w.dir, cleanShutdownFile)); err != nil {
		rt.Fatal(err)
	}
	w.reopened(true)
	if w.l.mended {
		rt.Fatal("mended after a clean stop")
	}
}

// reopened opens what is there and takes over what a restart may change: a gap
// behind the last record is forgotten, and after a crash the tail, the log start
// (checkpointed once a minute) and the high watermark.
func (w *world) reopened(clean bool) {
	w.open()
	if clean {
		w.end = w.l.EndOffset()
	}
	w.hw = w.l.HighWatermark()
	w.start = w.l.StartOffset()
	w.m.CheckpointHighWatermarks()
}

// crash kills, and with power drops at random what was not fsynced.
func (w *world) crash(rt *rapid.T, power bool) {
	flushed, s := w.l.FlushedOffset(), w.l.state.Load()
	start := w.start
	w.m.Kill()
	if power && !w.c.Compact {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		dropUnflushed(w.tb, w.l.dir, s, flushed, rng)
	}
	w.reopened(false)
	end := w.l.EndOffset()
	if end < w.lastBelow(flushed) {
		rt.Fatalf("log ends at %d after a crash, %d was fsynced", end, flushed)
	}
	if !power && end != w.lastRecord(start) && end != w.end {
		rt.Fatalf("log ends at %d after a kill, before it at %d", end, w.end)
	}
	for n := len(w.batches); n > 0 && w.batches[n-1].last >= end; n-- {
		if w.batches[n-1].base < end {
			rt.Fatalf("log ends at %d inside batch %d to %d", end, w.batches[n-1].base, w.batches[n-1].last)
		}
		w.batches = w.batches[:n-1]
	}
	w.end = end
	w.epoch++
}

// lastBelow is the end of the last batch that lies below offset: the end of a gap is
// not remembered by any record.
func (w *world) lastBelow(offset int64) (end int64) {
	for _, b := range w.batches {
		if b.last < offset {
			end = b.last + 1
		}
	}
	return end
}

// lastRecord is the log end by the records alone.
func (w *world) lastRecord(start int64) int64 {
	if n := len(w.batches); n > 0 {
		return w.batches[n-1].last + 1
	}
	return start
}

// check compares everything that can be asked of the log with the model.
func (w *world) check() {
	t, l := w.t, w.l
	if got := [3]int64{l.StartOffset(), l.HighWatermark(), l.EndOffset()}; got != [3]int64{w.start, w.hw, w.end} {
		t.Fatalf("start, high watermark, end are %v, want %v", got, [3]int64{w.start, w.hw, w.end})
	}
	s := l.state.Load()
	if s.recovery > s.end.Offset || s.start > s.hw.Offset || s.hw.Offset > s.end.Offset {
		t.Fatalf("marks out of order: %+v", s)
	}
	for _, b := range w.batches {
		if b.last < w.start {
			continue
		}
		w.checkBatch(b)
	}
	if _, err := l.Read(w.end+1, 1, l.End(), true); kafkaerr.CodeOf(err) != kafkaerr.OffsetOutOfRange {
		t.Fatalf("read behind the end: %v", err)
	}
	if w.start > 0 {
		if _, err := l.Read(w.start-1, 1, l.End(), true); kafkaerr.CodeOf(err) != kafkaerr.OffsetOutOfRange {
			t.Fatalf("read before the start: %v", err)
		}
	}
	w.checkEpochs()
	w.checkTimes()
}

func (w *world) checkBatch(b modelBatch) {
	for offset := max(b.base, w.start); offset <= b.last; offset++ {
		info, err := w.l.Read(offset, 1, w.l.End(), true)
		w.ok(err)
		got, err := info.Data.ReadAll()
		info.Data.Release()
		w.ok(err)
		h, err := parseHeader(got, int64(len(got)))
		w.ok(err)
		if h.base != b.base || h.last != b.last || !bytes.Equal(got[minBatchV2:], b.bytes[minBatchV2:]) || h.epoch != b.epoch {
			w.t.Fatalf("offset %d: got batch %+v, want %d to %d of epoch %d", offset, h, b.base, b.last, b.epoch)
		}
	}
}

// checkEpochs: every epoch with records begins and ends where its records do.
func (w *world) checkEpochs() {
	for i, b := range w.batches {
		if b.last < w.start || (i > 0 && w.batches[i-1].epoch == b.epoch && w.batches[i-1].last >= w.start) {
			continue
		}
		want := max(b.base, w.start)
		if start, ok := w.l.EpochStart(b.epoch); !ok || start > want {
			w.t.Fatalf("epoch %d starts at %d (%v), its first record is %d; cache %v", b.epoch, start, ok, want, w.l.epochs.all())
		}
		if got, ok := w.l.epochs.epochAt(want); !ok || got != b.epoch {
			w.t.Fatalf("offset %d belongs to epoch %d, cache %v", want, b.epoch, w.l.epochs.all())
		}
	}
	entries := w.l.epochs.all()
	for i := 1; i < len(entries); i++ {
		if entries[i].Epoch <= entries[i-1].Epoch || entries[i].Start <= entries[i-1].Start {
			w.t.Fatalf("epochs out of order: %v", entries)
		}
	}
}

// checkTimes: record times rise in the model, so the first record at or after a
// time is unique.
func (w *world) checkTimes() {
	for _, b := range w.batches {
		if b.base < w.start {
			continue
		}
		got, found, err := w.l.OffsetByTimestamp(b.ts)
		w.ok(err)
		if !found || got.Offset != b.base || got.Timestamp != b.ts || got.LeaderEpoch != b.epoch {
			w.t.Fatalf("time %d: got %+v (%v), want offset %d of epoch %d", b.ts, got, found, b.base, b.epoch)
		}
	}
	if got, found, err := w.l.OffsetByTimestamp(w.ts + 10); err != nil || found {
		w.t.Fatalf("time after all: %+v %v %v", got, found, err)
	}
}

func (b modelBatch) String() string { return fmt.Sprintf("%d-%d@%d", b.base, b.last, b.epoch) }
