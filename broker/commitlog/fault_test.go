package commitlog

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// faults makes a disk fail from a moment on.
type faults struct {
	mu    sync.Mutex
	op    diskOp
	part  string // of the path
	after int    // bytes that a write still takes
	err   error
}

func (f *faults) disk() *disk {
	return &disk{fault: func(op diskOp, path string, n int) (int, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err == nil || op != f.op || !strings.Contains(path, f.part) {
			return n, nil
		}
		return f.after, f.err
	}}
}

func (f *faults) set(op diskOp, part string, after int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.op, f.part, f.after, f.err = op, part, after, err
}

// A failing disk takes its directory offline, whatever was being done; the other
// directory goes on.
// Ref: Kafka 2.8 Log.maybeHandleIOException, LogManager.handleLogDirFailure.
func TestDiskErrorTakesTheDirectoryOffline(t *testing.T) {
	for _, tc := range []struct {
		name string
		op   diskOp
		part string
		do   func(l *Log) error
	}{
		{"disk full while appending", opWrite, logSuffix, func(l *Log) error {
			_, err := l.AppendAsLeader(batch(0, 2, 100, 1), 0, FromClient)
			return err
		}},
		{"disk full while a follower appends", opWrite, logSuffix, func(l *Log) error {
			_, err := l.AppendAsFollower(batch(l.EndOffset(), 2, 100, 1))
			return err
		}},
		{"fsync fails", opSync, logSuffix, (*Log).Flush},
		{"index cannot be written", opWrite, indexSuffix, (*Log).Flush},
		{"read fails", opRead, logSuffix, func(l *Log) error {
			_, err := l.Read(1, 100, l.End(), true)
			return err
		}},
		{"new segment cannot be made", opCreate, logSuffix, func(l *Log) (err error) {
			for range 40 {
				if _, err = l.AppendAsLeader(batch(0, 2, 100, 1), 0, FromClient); err != nil {
					break
				}
			}
			return err
		}},
		{"epochs cannot be written", opWrite, epochFile, func(l *Log) error { return l.AssignEpoch(7, l.EndOffset()) }},
		{"truncation fails", opTruncate, logSuffix, func(l *Log) error {
			_, err := l.TruncateTo(2)
			return err
		}},
		{"rename fails", opRename, logSuffix, func(l *Log) error { return l.TruncateFullyAndStartAt(50) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &faults{}
			bad, good := t.TempDir(), t.TempDir()
			m := newTestManager(t, f.disk(), smallConfig(), bad, good)
			failed := make(chan []topic.Partition, 2)
			m.OnDirFailure(func(dir string, logs []topic.Partition) {
				if dir != bad {
					t.Errorf("%s failed", dir)
				}
				failed <- logs
			})
			l := create(t, m, orders, smallConfig())
			other := create(t, m, topic.Partition{Topic: "other"}, smallConfig())
			for range 4 {
				mustAppend(t, l, batch(0, 2, 100, 1), 0)
			}
			f.set(tc.op, tc.part, 30, syscall.ENOSPC)
			if err := tc.do(l); kafkaerr.CodeOf(err) != kafkaerr.KafkaStorageError {
				t.Fatalf("got %v, want KAFKA_STORAGE_ERROR", err)
			}
			f.set("", "", 0, nil)
			if logs := <-failed; len(logs) != 1 || logs[0] != orders {
				t.Errorf("announced %v", logs)
			}
			if _, ok := m.Get(orders); ok {
				t.Error("Get still finds the log")
			}
			if got := m.OfflineDirs(); len(got) != 1 || got[0] != bad {
				t.Errorf("offline: %v", got)
			}
			if _, err := l.Read(0, 100, OffsetOnly(1), true); kafkaerr.CodeOf(err) != kafkaerr.KafkaStorageError {
				t.Errorf("read after the failure: %v", err)
			}
			mustAppend(t, other, batch(0, 1, 10, 1), 0)
			if _, err := m.GetOrCreate(topic.Partition{Topic: "new"}, smallConfig(), false); kafkaerr.CodeOf(err) != kafkaerr.KafkaStorageError {
				t.Errorf("a log that may be on the offline directory was made anew: %v", err)
			}
			create(t, m, topic.Partition{Topic: "new"}, smallConfig())
		})
	}
}

// A short write leaves nothing behind the log end: what is acknowledged before it is
// there after a restart, the failed records are not, in part or whole.
func TestShortWriteLeavesNoGarbage(t *testing.T) {
	f := &faults{}
	dir := t.TempDir()
	m := newTestManager(t, f.disk(), smallConfig(), dir)
	l := create(t, m, orders, smallConfig())
	mustAppend(t, l, batch(0, 3, 50, 1), 0)
	f.set(opWrite, logSuffix, 70, syscall.ENOSPC)
	if _, err := l.AppendAsLeader(batch(0, 2, 100, 1), 0, FromClient); err == nil {
		t.Fatal("no error")
	}
	st, err := os.Stat(segmentFile(filepath.Join(dir, "orders-0"), 0, logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if end := l.End(); st.Size() != int64(end.Position) || end.Offset != 3 {
		t.Errorf("file has %d bytes, the log ends at %+v", st.Size(), end)
	}
	m.Kill()
	m = newTestManager(t, nil, smallConfig(), dir)
	load(t, m)
	l, _ = m.Get(orders)
	if l.EndOffset() != 3 || l.mended {
		t.Errorf("after the restart the log ends at %d, mended %v", l.EndOffset(), l.mended)
	}
}

// The broker must know when nothing is left.
func TestNoLiveDirectoryIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o644)
	if _, err := NewManager(ManagerConfig{Dirs: []string{filepath.Join(file, "logs")}, Defaults: DefaultConfig()}, nil, nopLogger); err == nil {
		t.Error("a directory below a file was accepted")
	}
	dir := t.TempDir()
	m := newTestManager(t, nil, DefaultConfig(), filepath.Join(file, "logs"), dir)
	if got := m.LiveDirs(); len(got) != 1 || got[0] != dir {
		t.Errorf("live: %v", got)
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	m := newTestManager(t, nil, DefaultConfig(), dir)
	if _, err := NewManager(ManagerConfig{Dirs: []string{dir}, Defaults: DefaultConfig()}, nil, nopLogger); err == nil || !strings.Contains(err.Error(), "using this directory") {
		t.Errorf("second manager: %v", err)
	}
	m.Stop()
	newTestManager(t, nil, DefaultConfig(), dir)
}
