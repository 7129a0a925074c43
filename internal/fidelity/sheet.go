package fidelity

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// writing says that the rows are to be written and not compared: scripts/fidelity.sh asks for it.
func writing() bool { return os.Getenv("KZ_FIDELITY") == "write" }

// A Sheet collects the rows of one test.
type Sheet struct {
	part string

	mu   sync.Mutex  // guards what follows: subtests run in parallel
	rows map[Row]int // a row without its count -> the count
}

// Open begins the sheet of a test. part is a name of its own, area/test. When the test and its
// subtests have passed, the sheet is compared with the committed one (or written); what failed, was
// skipped or was run in part says nothing.
func Open(t testing.TB, part string) *Sheet {
	t.Helper()
	s := &Sheet{part: part, rows: map[Row]int{}}
	t.Cleanup(func() {
		if !t.Failed() && !t.Skipped() && !inPart() {
			s.close(t)
		}
	})
	return s
}

// inPart says whether the command line chose among the subtests, so that some may be missing.
func inPart() bool {
	run, skip := flag.Lookup("test.run"), flag.Lookup("test.skip")
	return run != nil && strings.Contains(run.Value.String(), "/") || skip != nil && skip.Value.String() != ""
}

// Add counts one comparison.
func (s *Sheet) Add(what, where string, v Verdict, why string) { s.AddN(what, where, v, why, 1) }

// AddN counts n comparisons.
func (s *Sheet) AddN(what, where string, v Verdict, why string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[Row{What: what, Where: where, Verdict: v, Why: why}] += n
}

func (s *Sheet) sorted() []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Row
	for r, n := range s.rows {
		r.Count = n
		out = append(out, r)
	}
	slices.SortFunc(out, compareRows)
	return out
}

func (s *Sheet) close(t testing.TB) {
	path, err := measured(s.part)
	if err != nil {
		t.Error(err)
		return
	}
	rows := s.sorted()
	if writing() {
		b, err := encode(rows)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
	committed, err := read(path)
	if err != nil {
		t.Errorf("fidelity: %v (scripts/fidelity.sh measures anew)", err)
		return
	}
	for _, r := range missing(committed, rows) {
		t.Errorf("fidelity, %s: committed, but not seen in this run: %v", s.part, r)
	}
	for _, r := range missing(rows, committed) {
		t.Errorf("fidelity, %s: seen in this run, but not committed: %v", s.part, r)
	}
	if t.Failed() {
		t.Log("if that is meant: scripts/fidelity.sh measures anew and writes docs/fidelity.md")
	}
}
