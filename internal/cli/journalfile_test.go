package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"kz/internal/journal"
)

// Every event is in the file, in the journal's order, one whole line each; a second
// life of the broker appends.
func TestJournalFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const writers, each = 4, 500
	for range 2 {
		j := journal.New(1)
		w, err := openJournal(path, j, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					j.Emit(journal.Event{Kind: journal.Fault})
				}
			})
		}
		wg.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if j.On() {
			t.Error("the closed file still listens")
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := int64(0)
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var ev journal.Event
		if err := json.Unmarshal(s.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		if want := lines%(writers*each) + 1; ev.Seq != want {
			t.Fatalf("line %d has seq %d, want %d", lines+1, ev.Seq, want)
		}
	}
	if lines != 2*writers*each {
		t.Errorf("%d lines, want %d", lines, 2*writers*each)
	}
}

// When the writer cannot keep up the subscriber writes itself: bounded, and nothing lost.
func TestJournalFileIsBounded(t *testing.T) {
	out := &slowFile{gate: make(chan struct{})}
	j := journal.New(1)
	w := newJournalFile(out, j, zerolog.Nop())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2 * maxPending {
			j.Emit(journal.Event{Kind: journal.Fault})
		}
	}()
	close(out.gate) // only now does the disk answer
	<-done
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if out.lines != 2*maxPending {
		t.Errorf("%d lines, want %d", out.lines, 2*maxPending)
	}
}

type slowFile struct {
	gate  chan struct{}
	lines int
}

func (f *slowFile) Write(p []byte) (int, error) {
	<-f.gate
	for _, c := range p {
		if c == '\n' {
			f.lines++
		}
	}
	return len(p), nil
}

func (f *slowFile) Close() error { return nil }
