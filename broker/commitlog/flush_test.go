package commitlog

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/journal"
)

// flush.messages and flush.ms; the recovery point is what was fsynced.
func TestFlushPolicy(t *testing.T) {
	c := DefaultConfig()
	c.FlushMessages = 5
	_, l := newTestLog(t, c)
	mustAppend(t, l, batch(0, 4, 1, 1), 0)
	if l.FlushedOffset() != 0 {
		t.Errorf("flushed to %d after 4 records", l.FlushedOffset())
	}
	mustAppend(t, l, batch(0, 1, 1, 1), 0)
	if l.FlushedOffset() != 5 || l.RecoveryPoint() != 5 {
		t.Errorf("flushed to %d after 5 records", l.FlushedOffset())
	}
	c.FlushMessages, c.FlushMs = math.MaxInt64, 1000
	l.SetConfig(c)
	mustAppend(t, l, batch(0, 1, 1, 1), 0)
	l.maybeFlushByTime(l.lastFlushed.Load() + 999)
	if l.FlushedOffset() != 5 {
		t.Error("flushed before flush.ms")
	}
	l.maybeFlushByTime(l.lastFlushed.Load() + 1000)
	if l.FlushedOffset() != 6 {
		t.Error("not flushed after flush.ms")
	}
}

// A truncation during an fsync must not leave a recovery point above what was synced.
func TestTruncationDuringFlush(t *testing.T) {
	m, l := newTestLog(t, DefaultConfig())
	mustAppend(t, l, batch(0, 10, 1, 1), 0)
	disarm := m.journal.Arm(journal.MomentLogFlush, func(string) {
		if _, err := l.TruncateTo(0); err != nil {
			t.Error(err)
		}
		mustAppend(t, l, batch(0, 10, 1, 1), 1)
	})
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	disarm()
	if l.FlushedOffset() != 0 {
		t.Errorf("recovery point %d, although the records after the cut were not synced", l.FlushedOffset())
	}
}

// Rolled segments are fsynced by another goroutine, and deleted files vanish after
// file.delete.delay.ms, on the clock.
func TestBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := smallConfig()
		c.RetentionBytes, c.FileDeleteDelayMs = 0, 60_000
		m, err := newManager(ManagerConfig{Dirs: []string{t.TempDir()}, Defaults: c, InitialTaskDelay: 30 * time.Second,
			RetentionCheckInterval: 5 * time.Minute, RecoveryPointCheckpoint: time.Minute, HighWatermarkCheckpoint: 5 * time.Second},
			nil, nil, nopLogger)
		if err != nil {
			t.Fatal(err)
		}
		m.Start()
		defer m.Stop()
		l := create(t, m, orders, c)
		fill(t, l, 3)
		synctest.Wait()
		if base := l.state.Load().active().base; l.FlushedOffset() != base {
			t.Errorf("flushed to %d, rolled segments end at %d", l.FlushedOffset(), base)
		}
		l.SetHighWatermark(l.EndOffset())
		time.Sleep(29 * time.Second)
		m.dirs[0].checkpointing.Lock()
		hw := m.dirs[0].written[&m.dirs[0].highWatermarks][orders]
		m.dirs[0].checkpointing.Unlock()
		if hw != l.HighWatermark() {
			t.Errorf("high watermark %d checkpointed, is %d", hw, l.HighWatermark())
		}
		if l.Segments() != 3 {
			t.Fatal("retention ran before its delay")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if l.Segments() != 1 || l.StartOffset() != l.EndOffset() {
			t.Errorf("%d segments, start %d", l.Segments(), l.StartOffset())
		}
		count := func() (n int) {
			for name := range dirContents(t, l.dir) {
				if strings.HasSuffix(name, deletedSuffix) {
					n++
				}
			}
			return n
		}
		if count() != 9 {
			t.Errorf("%d .deleted files, want 9", count())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if count() != 0 {
			t.Errorf("%d .deleted files after the delay", count())
		}
	})
}
