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
	f, err := os.Open(t.path)
	if err != nil {
		return nil // not there yet
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, t.at, 16<<20))
	if err != nil {
		return nil
	}
	var events []journal.Event
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		if !ended {
			return events
		}
		t.at += int64(len(line)) + 1
		b = rest
		var ev journal.Event
		if json.Unmarshal(line, &ev) == nil {
			events = append(events, ev)
		}
	}
}
