package up

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"kz/internal/journal"
)

// pollEvery is how often files and processes are looked at while something is awaited.
const pollEvery = 20 * time.Millisecond

// A Tail reads a journal file as it grows. It is for one goroutine.
type Tail struct {
	path string
	at   int64 // the first byte that was not handed out
}

// TailFromEnd begins behind what the file holds now; a file that does not exist yet is empty.
func TailFromEnd(path string) (*Tail, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Tail{path: path}, nil
	case err != nil:
		return nil, err
	}
	return &Tail{path: path, at: info.Size()}, nil
}

// Next gives the events that were written since the last call, perhaps none. A last line
// without its end is left for the next call; a line that is no event is passed over: it is
// what a kill in the middle of a write leaves.
func (t *Tail) Next() []journal.Event {
	var events []journal.Event
	for _, l := range t.next() {
		events = append(events, l.Event)
	}
	return events
}

// A line is an event as it was read.
type line struct {
	journal.Event
	text []byte
}

func (t *Tail) next() []line {
	f, err := os.Open(t.path)
	if err != nil {
		return nil // not there yet
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, t.at, 16<<20))
	if err != nil {
		return nil
	}
	var lines []line
	for {
		text, rest, ended := bytes.Cut(b, []byte("\n"))
		if !ended {
			return lines
		}
		t.at += int64(len(text)) + 1
		b = rest
		l := line{text: text}
		if json.Unmarshal(text, &l.Event) == nil {
			lines = append(lines, l)
		}
	}
}
