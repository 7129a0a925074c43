package up

import "errors"

// openEvents begins to merge the journals.
func (c *Cluster) openEvents() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.events != nil {
		return nil
	}
	m, err := openMerged(c.cfg.Dir, c.saw)
	c.events = m
	return err
}

// merged is nil before a start.
func (c *Cluster) merged() *merged {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// closeEvents ends the merging, after all processes.
func (c *Cluster) closeEvents() {
	c.mu.Lock()
	open := c.events != nil && !c.closed
	c.closed = true
	c.mu.Unlock()
	if open {
		_ = c.events.close() // what could not be written was lost before
	}
}

// saw is told of all events. It runs under merged.mu.
func (c *Cluster) saw(events []Event) {
	for _, f := range c.book.saw(events) {
		if f.Act == Pause {
			if p := c.process(f.Nodes[0]); p != nil {
				p.paused.Store(true)
			}
		}
	}
}

// A Stream gives the events of a cluster, those to come as well. It is for one goroutine.
type Stream struct {
	events *merged
	at     int64 // the first byte that was not read
	seq    int64 // the last event that was given
}

// errNotStarted is why there are no events.
var errNotStarted = errors.New("the cluster has not begun to start")

// Stream begins behind the event since; -1 is now.
func (c *Cluster) Stream(since int64) (*Stream, error) {
	m := c.merged()
	if m == nil {
		return nil, errNotStarted
	}
	if since < 0 {
		since = m.last()
	}
	return &Stream{events: m, at: m.offset(since), seq: since}, nil
}

// More is closed when Next may have more than it had before the call.
func (s *Stream) More() <-chan struct{} { return s.events.more() }

// Next gives events that were not given yet, perhaps none, at most a few hundred.
func (s *Stream) Next() ([]Event, error) {
	var out []Event
	err := s.lines(func(_ int64, line []byte) {
		var ev Event
		if decodeEvent(line, &ev) {
			out = append(out, ev)
		}
	})
	return out, err
}

// maxChunk and maxChunkBytes bound what one look takes into memory.
const (
	maxChunk      = 256
	maxChunkBytes = 1 << 20
)

// errChunkFull ends one look at the file; the next call of Next goes on from there.
var errChunkFull = errors.New("the chunk is full")

// lines calls each with the lines that were not given yet, as they are in the file, up to
// the bounds.
func (s *Stream) lines(each func(seq int64, line []byte)) error {
	n, size := 0, 0
	err := readEventLines(s.events.path, s.at, func(line []byte) error {
		s.at += int64(len(line)) + 1
		if seq := seqOf(line); seq > s.seq {
			s.seq = seq
			each(seq, line)
			n, size = n+1, size+len(line)
		}
		if n >= maxChunk || size >= maxChunkBytes {
			return errChunkFull
		}
		return nil
	})
	if errors.Is(err, errChunkFull) {
		err = nil
	}
	return err
}
