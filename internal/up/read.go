package up

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ReadEvents calls each for every event behind since that a directory holds, whether its
// cluster runs or not; fs.ErrNotExist when there never was one. A line that is no event is
// passed over: a kill can leave half of one.
func ReadEvents(dir string, since int64, each func(Event) error) error {
	return readEventLines(filepath.Join(dir, eventsFile), 0, func(line []byte) error {
		var ev Event
		if seqOf(line) <= since || !decodeEvent(line, &ev) {
			return nil
		}
		return each(ev)
	})
}

// readEventLines reads whole lines from an offset to the end.
func readEventLines(path string, from int64, each func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil // without its end
		case err != nil:
			return err
		}
		if err := each(line[:len(line)-1]); err != nil {
			return err
		}
	}
}

func decodeEvent(line []byte, ev *Event) bool { return json.Unmarshal(line, ev) == nil }

// seqOf reads the number with which every line begins, and nothing else of it; 0: it is
// no event.
func seqOf(line []byte) int64 {
	number, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return 0
	}
	seq := int64(0)
	for _, c := range number {
		if c < '0' || c > '9' || seq > maxSeq {
			break
		}
		seq = seq*10 + int64(c-'0')
	}
	return seq
}

// maxSeq is far beyond what a cluster does.
const maxSeq = 1 << 56
