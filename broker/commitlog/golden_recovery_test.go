package commitlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kz/internal/fidelity"
	"kz/internal/topic"
)

// checkpointOf is the offset that a captured checkpoint ("topic partition offset"
// lines) has for partition 0 of the case's topic.
func checkpointOf(lines []string) int64 {
	for _, line := range lines {
		f := strings.Fields(line)
		n, err := strconv.ParseInt(f[len(f)-1], 10, 64)
		if len(f) == 3 && err == nil {
			return n
		}
	}
	return 0
}

// Where docs/divergence.md speaks of recovery.
const (
	cleanEnd      = "after a clean stop the log end is read through the last index entry"
	brokenIndexes = "garbage, odd-sized or emptied `.index` and `.timeindex` stay as they are"
	lostEpochs    = "a lost `leader-epoch-checkpoint` is rebuilt only from segments that are recovered"
	noTxnIndexes  = "producer snapshots, transaction indexes"
)

// Each case is a directory that was damaged while its broker was down, and what a
// Kafka broker left of it after one start and stop. kz must leave the same, or
// better; better is named here (and in docs/divergence.md).
// Ref: Kafka 2.8 Log.loadSegments, Log.recoverLog, LogSegment.recover.
func TestRecoveryOfDamagedDirectories(t *testing.T) {
	better := map[string]struct {
		row    string // a piece of docs/divergence.md
		why    string
		except []string
		end    int64 // the log end, when it is not Kafka's
	}{
		"clean/empty-log":           {brokenIndexes, "indexes of an emptied log are emptied, too", []string{idx(16), tidx(16)}, 0},
		"clean/garbage-index":       {cleanEnd, "a garbage index is rebuilt, and does not hide records", []string{idx(8), idx(16), snap(24)}, 24},
		"clean/garbage-timeindex":   {brokenIndexes, "a garbage time index is rebuilt", []string{tidx(8), tidx(16)}, 0},
		"clean/no-epochs":           {lostEpochs, "lost epochs are read out of the batches", []string{epochFile}, 0},
		"clean/no-timeindex":        {brokenIndexes, "a missing time index is rebuilt", []string{tidx(8), tidx(16)}, 0},
		"clean/odd-index":           {brokenIndexes, "an index with half an entry is rebuilt", []string{idx(8)}, 0},
		"clean/torn":                {cleanEnd, "a torn last batch is cut off, and hides no other", []string{logf(16), idx(16), tidx(16), snap(22), snap(24)}, 22},
		"clean/zero-tail":           {cleanEnd, "zeros at the end are cut off; Kafka's broker ends", []string{logf(16)}, 0},
		"clean/zero-timeindex":      {brokenIndexes, "an empty time index is rebuilt", []string{tidx(8), tidx(16)}, 0},
		"unclean/garbage-index":     {brokenIndexes, "a garbage index is rebuilt below the recovery point, too", []string{idx(8)}, 0},
		"unclean/garbage-timeindex": {brokenIndexes, "a garbage time index is rebuilt below the recovery point, too", []string{tidx(8)}, 0},
		"unclean/no-epochs":         {lostEpochs, "lost epochs are read out of the batches", []string{epochFile}, 0},
		"unclean/no-timeindex":      {brokenIndexes, "a missing time index is rebuilt", []string{tidx(8)}, 0},
		"unclean/odd-index":         {brokenIndexes, "an index with half an entry is rebuilt", []string{idx(8)}, 0},
		"unclean/zero-timeindex":    {brokenIndexes, "an empty time index is rebuilt", []string{tidx(8)}, 0},
		"unclean/txn":               {noTxnIndexes, "not better: transaction indexes come with transactions", []string{"00000000000000000000.txnindex"}, 0},
	}
	sheet := fidelity.Open(t, "files/recovery")
	dirs, err := filepath.Glob("testdata/recovery/*clean/*")
	if err != nil || len(dirs) < 40 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		name := strings.TrimPrefix(dir, "testdata/recovery/")
		t.Run(name, func(t *testing.T) {
			cf, c := readCase(t, filepath.Join(dir, "case.json"))
			parent := t.TempDir()
			p := topic.Partition{Topic: "t", Partition: 0}
			if before := filepath.Join(dir, "before"); name == "unclean/all-files-gone" { // git keeps no empty directory
				os.Mkdir(filepath.Join(parent, p.String()), 0o755)
			} else {
				copyDir(t, before, filepath.Join(parent, p.String()))
			}
			for file, lines := range cf.Checkpoints {
				if len(lines) > 0 {
					text := "0\n1\nt 0 " + strconv.FormatInt(checkpointOf(lines), 10) + "\n"
					os.WriteFile(filepath.Join(parent, file), []byte(text), 0o644)
				}
			}
			if strings.HasPrefix(name, "clean/") {
				os.WriteFile(filepath.Join(parent, cleanShutdownFile), nil, 0o644)
			}
			m := newTestManager(t, nil, c, parent)
			load(t, m)
			l, ok := m.Get(p)
			if !ok {
				t.Fatal("not loaded")
			}
			if len(cf.EarliestLatest) == 2 {
				want := cf.EarliestLatest
				if better[name].end > 0 {
					want[1] = better[name].end
				}
				if l.StartOffset() != want[0] || l.EndOffset() != want[1] {
					t.Errorf("log is [%d %d], want %v", l.StartOffset(), l.EndOffset(), want)
				}
			}
			if err := l.AssignEpoch(0, l.EndOffset()); err != nil {
				t.Fatal(err)
			}
			after := filepath.Join(t.TempDir(), "after")
			copyDir(t, filepath.Join(dir, "after"), after)
			normalize(t, l.dir, c)
			normalize(t, after, c)
			sameFiles(t, l.dir, after, better[name].except...)
			switch row := better[name].row; row {
			case "":
				sheet.Add("recovery of a damaged directory", "", fidelity.Same, "")
			case noTxnIndexes:
				sheet.Add("recovery of a damaged directory", name, fidelity.Refused, row)
			default:
				sheet.Add("recovery of a damaged directory", name, fidelity.Differs, row)
			}
		})
	}
}

// normalize makes a live directory comparable: Kafka's active indexes are
// preallocated, and its snapshots hold the producers that kz does not track yet.
func normalize(t *testing.T, dir string, c Config) {
	for name, b := range dirContents(t, dir) {
		path := filepath.Join(dir, name)
		switch filepath.Ext(name) {
		case deletedSuffix:
			os.Remove(path)
		case snapshotSuffix:
			os.WriteFile(path, nil, 0o644)
		case indexSuffix, timeIndexSuffix:
			if len(b) == c.SegmentIndexBytes {
				os.WriteFile(path, bytes.TrimRight(b, "\x00"), 0o644)
			}
		}
	}
}

func logf(base int64) string { return filepath.Base(segmentFile("", base, logSuffix)) }
func idx(base int64) string  { return filepath.Base(segmentFile("", base, indexSuffix)) }
func tidx(base int64) string { return filepath.Base(segmentFile("", base, timeIndexSuffix)) }
func snap(base int64) string { return filepath.Base(segmentFile("", base, snapshotSuffix)) }
