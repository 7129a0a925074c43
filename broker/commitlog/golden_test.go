package commitlog

import (
	"bytes"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"kz/internal/fidelity"
	"kz/internal/topic"
)

// goldenLogs lists the .log files of a directory in order.
func goldenLogs(t *testing.T, dir string) (logs []string) {
	for name := range dirContents(t, dir) {
		if strings.HasSuffix(name, logSuffix) {
			logs = append(logs, filepath.Join(dir, name))
		}
	}
	sort.Strings(logs)
	return logs
}

// sameFiles compares a partition directory with one of Kafka's, file by file.
func sameFiles(t *testing.T, got, want string, except ...string) {
	t.Helper()
	g, w := dirContents(t, got), dirContents(t, want)
	for _, name := range append(except, "case.json") {
		delete(w, name)
		delete(g, name)
	}
	for name, b := range w {
		switch have, ok := g[name]; {
		case !ok:
			t.Errorf("%s is missing", name)
		case !bytes.Equal(have, b):
			t.Errorf("%s differs:\n got %x\nwant %x", name, clip(have), clip(b))
		}
	}
	for name := range g {
		if _, ok := w[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 200)] }

// What a Kafka broker wrote batch by batch, kz writes to the byte: logs, both
// indexes, snapshots, leader epochs.
// Ref: Kafka 2.8 LogSegment.append, Log.roll, Log.close.
func TestSameAppendsMakeKafkasFiles(t *testing.T) {
	sheet := fidelity.Open(t, "files/appends")
	for _, name := range []string{
		"segments/seg-0-clean", "segments/seg-64-clean", "segments/seg-4096-clean", "segments/seg-big-first-clean",
		"segments/seg-exact-clean", "segments/seg-index-full-clean", "segments/seg-index-full-sametime-clean",
		"segments/seg-ms-clean", "segments/seg-prealloc-clean", "segments/seg-too-large-clean", "segments/seg-empty-clean",
		"segments/seg-default-index-clean", "segments/seg-gzip-clean",
		"plain/many-batches", "plain/one-batch", "plain/acks-0-1", "plain/no-timestamp",
	} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name)
			_, c := readCase(t, filepath.Join(golden, "case.json"))
			m := newTestManager(t, nil, c)
			l := create(t, m, orders, c)
			if err := l.AssignEpoch(0, 0); err != nil {
				t.Fatal(err)
			}
			for _, path := range goldenLogs(t, golden) {
				for _, b := range batchesOf(t, path) {
					setBaseOffset(b, 0)
					mustAppend(t, l, b, 0)
				}
			}
			m.Stop()
			sameFiles(t, l.dir, golden)
			enterFiles(t, sheet, golden)
		})
	}
}

// A follower that gets several batches in one append makes one index entry for it.
func TestFollowerFilesEqualKafkas(t *testing.T) {
	sheet := fidelity.Open(t, "files/follower")
	golden := filepath.Join("testdata", "dirs", "catchup-broker-2")
	_, c := readCase(t, filepath.Join("testdata", "dirs", "catchup-broker-2", "case.json"))
	c.SegmentBytes, c.SegmentIndexBytes, c.IndexIntervalBytes = 2048, 1200, 64
	m := newTestManager(t, nil, c)
	l := create(t, m, orders, c)
	for _, path := range goldenLogs(t, golden) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.AppendAsFollower(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range goldenLogs(t, golden)[:3] {
		base := strings.TrimSuffix(filepath.Base(path), logSuffix)
		for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
			got, _ := os.ReadFile(filepath.Join(l.dir, base+suffix))
			want, _ := os.ReadFile(filepath.Join(golden, base+suffix))
			if !bytes.Equal(got, want) {
				t.Errorf("%s%s differs:\n got %x\nwant %x", base, suffix, clip(got), clip(want))
			}
			sheet.Add("segments and indexes of a follower that was behind", "", fidelity.Same, "")
		}
	}
}

// Directories that Kafka closed in order open unchanged, and are left as they were.
func TestKafkasCleanDirectoriesOpenUnchanged(t *testing.T) {
	sheet := fidelity.Open(t, "files/opened")
	dirs, err := filepath.Glob("testdata/segments/*-clean")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, golden := range dirs {
		t.Run(filepath.Base(golden), func(t *testing.T) {
			_, c := readCase(t, filepath.Join(golden, "case.json"))
			parent := t.TempDir()
			p := topic.Partition{Topic: "t", Partition: 3}
			copyDir(t, golden, filepath.Join(parent, p.String()), "case.json")
			os.WriteFile(filepath.Join(parent, cleanShutdownFile), nil, 0o644)
			m := newTestManager(t, nil, c, parent)
			load(t, m)
			l, ok := m.Get(p)
			if !ok {
				t.Fatal("not loaded")
			}
			if l.mended {
				t.Error("a good directory was reported as mended")
			}
			n := 0
			for _, path := range goldenLogs(t, golden) {
				n += len(batchesOf(t, path))
			}
			if n == 0 { // an epoch without records is forgotten by loading and assigned anew
				if err := l.AssignEpoch(0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if got := readAll(t, l, 0); len(got) != n {
				t.Errorf("read %d batches, Kafka wrote %d", len(got), n)
			}
			m.Stop()
			sameFiles(t, l.dir, golden)
			sheet.Add("directories of Kafka's, opened and left as they were", "", fidelity.Same, "")
		})
	}
}
