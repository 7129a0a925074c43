package commitlog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kz/internal/fidelity"
)

// deletionCase is what a case.json says of the log after the retention task.
type deletionCase struct {
	LogStartAndEnd     [2]int64 `json:"logStartAndEnd"`
	LogStartCheckpoint []string `json:"logStartCheckpoint"`
}

// Deletion of the oldest records, by request, size and age: which segments go, which
// names their files wait under, what stays in the epoch cache and the checkpoint; and the
// same after a clean stop. Ref: Kafka 2.8 Log.deleteOldSegments, deleteRecordsOnLeader.
func TestDeletionLeavesKafkasFiles(t *testing.T) {
	const t0 = 1600000000000
	sheet := fidelity.Open(t, "files/deletion")
	for _, tt := range []struct {
		name    string
		ask     func(t *testing.T, l *Log)
		lowered func(c *Config)
	}{
		{"del-records", func(t *testing.T, l *Log) { raise(t, l, 7); raise(t, l, 3) }, nil},
		{"del-all", func(t *testing.T, l *Log) { raise(t, l, l.HighWatermark()) }, nil},
		{"del-size", nil, func(c *Config) { c.RetentionBytes = 1000 }},
		{"del-time", nil, func(c *Config) { c.RetentionMs = 1000 }},
		{"del-time-part", nil, func(c *Config) { c.RetentionMs = nowMs() - t0 - 9000*1000 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live, stopped := filepath.Join("testdata/deletion", tt.name, "2-after-retention"), filepath.Join("testdata/deletion", tt.name, "3-clean-stop")
			cf, c := readCase(t, filepath.Join(live, "case.json"))
			if c.FileDeleteDelayMs = 600_000; cf.TopicConfigs["retention.ms"] == "" {
				c.RetentionMs = -1 // the broker's
			}
			m := newTestManager(t, nil, c)
			l := create(t, m, orders, c)
			if err := l.AssignEpoch(0, 0); err != nil {
				t.Fatal(err)
			}
			for _, b := range deletedBatches(t, live) {
				mustAppend(t, l, b, 0)
			}
			l.SetHighWatermark(l.EndOffset())
			if tt.ask != nil {
				tt.ask(t, l)
			}
			if tt.lowered != nil {
				tt.lowered(&c)
				l.SetConfig(c)
			}
			if _, err := l.DeleteOldSegments(); err != nil {
				t.Fatal(err)
			}
			checkDeletion(t, m, l, live)
			sameNames(t, l.dir, live)
			m.Stop()
			sameFiles(t, l.dir, stopped, unwrittenIndex)
			sheet.Add("deletion of the oldest records: files, names, checkpoint", "", fidelity.Same, "")
		})
	}
}

// A partition that is deleted waits in a directory of another name, with its files as they were.
// Ref: golden 09-broker-files/delete-dir; Kafka 2.8 Log.renameDir, LogManager.asyncDelete.
func TestDeletedDirectoryIsKafkas(t *testing.T) {
	golden := filepath.Join("testdata", "dirs", "delete-dir")
	c := smallConfig()
	c.SegmentIndexBytes = 1200
	m := newTestManager(t, nil, c)
	l := create(t, m, orders, c)
	if err := l.AssignEpoch(0, 0); err != nil {
		t.Fatal(err)
	}
	for _, b := range batchesOf(t, filepath.Join(golden, logf(0))) {
		mustAppend(t, l, b, 0)
	}
	if err := m.Delete(orders); err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob(filepath.Join(l.parent, "*-delete"))
	if err != nil || len(dirs) != 1 || !regexp.MustCompile(`^orders-0\.[0-9a-f]{32}-delete$`).MatchString(filepath.Base(dirs[0])) {
		t.Fatalf("%v, %v", dirs, err)
	}
	want := filepath.Join(t.TempDir(), "delete-dir")
	copyDir(t, golden, want)
	normalize(t, want, c)
	normalize(t, dirs[0], c)
	sameFiles(t, dirs[0], want)
	fidelity.Open(t, "files/delete-dir").Add("the directory of a deleted partition: name and files", "", fidelity.Same, "")
}

// unwrittenIndex is of a segment that retention rolled and nobody wrote to: Kafka makes
// none, kz an empty one (docs/divergence.md).
const unwrittenIndex = "00000000000000000024.index"

func raise(t *testing.T, l *Log, offset int64) {
	t.Helper()
	if err := l.MaybeIncrementStartOffset(offset); err != nil {
		t.Fatal(err)
	}
}

// deletedBatches is all batches that Kafka's log ever had: those of deleted segments first.
func deletedBatches(t *testing.T, dir string) (batches [][]byte) {
	t.Helper()
	for base := 0; base < 24; base += 4 {
		path := segmentFile(dir, int64(base), logSuffix)
		if _, err := os.Stat(path); err != nil {
			path += deletedSuffix
		}
		for _, b := range batchesOf(t, path) {
			setBaseOffset(b, 0)
			batches = append(batches, b)
		}
	}
	if len(batches) != 12 {
		t.Fatalf("%d batches in %s", len(batches), dir)
	}
	return batches
}

func checkDeletion(t *testing.T, m *Manager, l *Log, golden string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want deletionCase
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if got := [2]int64{l.StartOffset(), l.EndOffset()}; got != want.LogStartAndEnd {
		t.Errorf("log start and end %v, want %v", got, want.LogStartAndEnd)
	}
	if err := m.checkpointStartOffsets(m.dirOf(l.parent)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(l.parent, "log-start-offset-checkpoint"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, orders.Topic+" ") {
			lines = append(lines, strings.Replace(line, orders.Topic, filepath.Base(filepath.Dir(golden)), 1))
		}
	}
	if strings.Join(lines, "|") != strings.Join(want.LogStartCheckpoint, "|") {
		t.Errorf("log-start-offset-checkpoint has %q, want %q", lines, want.LogStartCheckpoint)
	}
}

// sameNames compares the names of the files, and the epochs; Kafka's live index files
// are preallocated.
func sameNames(t *testing.T, got, want string) {
	t.Helper()
	g, w := dirContents(t, got), dirContents(t, want)
	for _, name := range []string{"case.json", unwrittenIndex} {
		delete(g, name)
		delete(w, name)
	}
	for name := range w {
		if _, ok := g[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range g {
		if _, ok := w[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
	if name := "leader-epoch-checkpoint"; !bytes.Equal(g[name], w[name]) {
		t.Errorf("%s: %q, want %q", name, g[name], w[name])
	}
}
