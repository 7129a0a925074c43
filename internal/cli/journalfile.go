package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"github.com/rs/zerolog"

	"kz/internal/journal"
)

// journalFile writes events as JSON lines. The subscriber only puts an event on a
// list; one goroutine writes whatever has gathered with a single write, so that a
// process killed by signal 9 has lost at most the events of the last moment, and
// half a line never stands in the file of a process that lives.
//
// What says how far a log was forced to disk is written before the act returns: who cuts
// the power (kz node power-off) reads in the file what is certain to be there.
//
// When the disk is so slow that maxPending events wait, the subscriber writes
// itself: nothing is dropped and memory stays bounded, at the price of a slow broker.
type journalFile struct {
	out    io.WriteCloser
	cancel func()
	log    zerolog.Logger
	wake   chan struct{} // one token: there is something to write
	quit   chan struct{}
	done   chan struct{}

	writing sync.Mutex // held over a write; taken before mu
	buf     bytes.Buffer
	failed  bool

	mu      sync.Mutex // guards pending; never held over a write
	pending []journal.Event
}

const maxPending = 64 << 10

func newJournalFile(out io.WriteCloser, j *journal.Journal, log zerolog.Logger) *journalFile {
	w := &journalFile{out: out, log: log, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	w.cancel = j.Subscribe(w.take)
	return w
}

func (w *journalFile) take(ev journal.Event) {
	w.mu.Lock()
	w.pending = append(w.pending, ev)
	now := len(w.pending) >= maxPending || ev.Kind == journal.Flush || ev.Kind == journal.Truncation
	w.mu.Unlock()
	if now {
		w.flush()
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *journalFile) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wake:
			w.flush()
		case <-w.quit:
			w.flush()
			return
		}
	}
}

func (w *journalFile) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	events := w.pending
	w.pending = nil
	w.mu.Unlock()
	if len(events) == 0 || w.failed {
		return
	}
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	for _, ev := range events {
		if err := enc.Encode(ev); err != nil {
			w.log.Error().Err(err).Msg("journal: an event that JSON cannot hold")
		}
	}
	if _, err := w.out.Write(w.buf.Bytes()); err != nil {
		w.failed = true // the broker goes on without its journal
		w.log.Error().Err(err).Msg("journal: cannot write; events are no longer recorded")
	}
}

// Close writes what is pending and closes the file.
func (w *journalFile) Close() error {
	w.cancel()
	close(w.quit)
	<-w.done
	return w.out.Close()
}
