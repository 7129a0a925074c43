package commitlog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// addGolden seeds a fuzzer with files that Kafka wrote.
func addGolden(f *testing.F, suffix string) {
	f.Helper()
	n := 0
	filepath.WalkDir("testdata", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) && n < 40 {
			if b, err := os.ReadFile(path); err == nil && len(b) < 4096 {
				f.Add(b)
				n++
			}
		}
		return nil
	})
	if n == 0 {
		f.Fatal("no seeds")
	}
}

// What is read out of a checkpoint is written as it was read.
func FuzzCheckpoint(f *testing.F) {
	addGolden(f, "checkpoint")
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseCheckpoint(text)
		if err != nil {
			return
		}
		lines := make([]string, len(entries))
		for i, e := range entries {
			lines[i] = joinFields(e)
			parseOffsetEntry(e)
			parseEpoch(e)
		}
		again, err := parseCheckpoint(checkpointText(lines))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func FuzzMetaProperties(f *testing.F) {
	addGolden(f, metaPropertiesFile)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parseMetaProperties(text)
		if err == nil && (p.Version != 0 || p.BrokerID < -1) {
			t.Fatalf("%q gives %+v", text, p)
		}
	})
}

// A segment file of any bytes: recovery keeps whole valid batches from its start,
// cuts the rest, and does nothing when it runs again.
func FuzzSegmentRecovery(f *testing.F) {
	addGolden(f, logSuffix)
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		os.WriteFile(segmentFile(dir, 0, logSuffix), b, 0o644)
		c := smallConfig()
		recover := func() (*Segment, rebuilt) {
			seg, _, err := openSegment(nil, dir, 0, c)
			if err != nil {
				t.Fatal(err)
			}
			r, err := seg.rebuild(true, nil)
			if err != nil {
				t.Fatal(err)
			}
			return seg, r
		}
		seg, first := recover()
		kept, _ := os.ReadFile(seg.file.path)
		if !bytes.HasPrefix(b, kept) || int64(len(kept)) != seg.size.Load() || first.cut != int64(len(b)-len(kept)) {
			t.Fatalf("kept %d of %d bytes", len(kept), len(b))
		}
		index := dirContents(t, dir)
		seg.close()
		seg, second := recover()
		defer seg.close()
		if second.cut != 0 || second.end != first.end || !slices.Equal(second.epochs, first.epochs) {
			t.Fatalf("first %+v, then %+v", first, second)
		}
		for name, want := range index {
			if got := dirContents(t, dir)[name]; !bytes.Equal(got, want) {
				t.Fatalf("%s changed", name)
			}
		}
		if end, err := seg.findEnd(); err != nil || end != first.end {
			t.Fatalf("end %d, %v; recovery said %d", end, err, first.end)
		}
	})
}

// An index file of any bytes: a lookup finds what is there or fails, and a log
// beside it stays readable.
func FuzzIndexLoad(f *testing.F) {
	addGolden(f, indexSuffix)
	addGolden(f, timeIndexSuffix)
	records, err := os.ReadFile("testdata/segments/seg-64-clean/00000000000000000000.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		part := filepath.Join(dir, "orders-0")
		os.Mkdir(part, 0o755)
		os.WriteFile(segmentFile(part, 0, logSuffix), records, 0o644)
		os.WriteFile(segmentFile(part, 0, indexSuffix), b, 0o644)
		os.WriteFile(segmentFile(part, 0, timeIndexSuffix), b, 0o644)
		os.WriteFile(filepath.Join(dir, cleanShutdownFile), nil, 0o644)
		m, err := newManager(ManagerConfig{Dirs: []string{dir}, Defaults: smallConfig()}, &disk{noSync: true}, nil, nopLogger)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Kill()
		load(t, m)
		l, ok := m.Get(orders)
		if !ok || l.EndOffset() != 15 {
			t.Fatalf("log ends at %d", l.EndOffset())
		}
		for offset := range int64(15) {
			if bases := readAll(t, l, offset); bases[0] > offset {
				t.Fatalf("offset %d reads from %v", offset, bases)
			}
		}
	})
}
