package up

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kz/internal/journal"
)

// eventsFile holds the events of all processes of a directory, in one total order, over
// all its lives: the order in which the supervisor read them, see arranger.
const eventsFile = "journal.jsonl"

// holdAtMost is how long events wait for ZooKeeper's word before they.
const holdAtMost = time.Second

// merged reads the journals of all processes and writes the one of the cluster. Nothing of
// it is kept in memory: who wants events reads the file.
type merged struct {
	path string
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex // guards what follows; held over reads and writes of journals, never over a process
	file    *os.File
	seq     int64
	opened  int64   // seq when this run began
	tails   []*Tail // in the order of queues
	queues  []*queue
	arrange arranger
	held    time.Time        // since when something waits in a queue; zero: nothing does
	marks   marks            // where in the file which Seq is
	grown   chan struct{}    // closed and replaced when there is more
	watch   func(ev []Event) // told of all that is merged, under mu
	err     error            // the first write that failed; nothing is merged after it
}

// openMerged goes on where the file ends. A torn last line is cut.
func openMerged(dir string, watch func([]Event)) (*merged, error) {
	m := &merged{path: filepath.Join(dir, eventsFile), quit: make(chan struct{}), done: make(chan struct{}), grown: make(chan struct{}), watch: watch}
	var err error
	if m.seq, err = repairEvents(m.path, &m.marks); err != nil {
		return nil, err
	}
	m.opened = m.seq
	if m.file, err = os.OpenFile(m.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	go m.run()
	return m, nil
}

func (m *merged) run() {
	defer close(m.done)
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			m.mu.Lock()
			m.poll(false)
			m.mu.Unlock()
		case <-m.quit:
			return
		}
	}
}

// follow adds a process's journal, from its end on. One that is followed already goes on.
func (m *merged) follow(src string, node int32, file string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.queues, func(q *queue) bool { return q.src == src }) {
		return nil
	}
	tail, err := TailFromEnd(file)
	if err != nil {
		return err
	}
	q := &queue{src: src, node: node}
	m.tails, m.queues = append(m.tails, tail), append(m.queues, q)
	if node < 0 {
		m.arrange.zoo = q
	} else {
		m.arrange.brokers = append(m.arrange.brokers, q)
	}
	return nil
}

// record adds an event of the supervisor's own, behind all that had happened, and returns its Seq.
func (m *merged) record(ev journal.Event) Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.poll(false)
	ev.Source = "supervisor"
	all := []Event{{Event: ev, Src: SourceSupervisor}}
	m.append(all)
	return all[0]
}

// poll merges what has been written since the last one. The caller holds mu.
func (m *merged) poll(force bool) {
	for i, q := range slices.Backward(m.queues) { // ZooKeeper last: what brokers have heard of it, it has told by then
		q.events = append(q.events, m.tails[i].next()...)
	}
	late := !m.held.IsZero() && time.Since(m.held) > holdAtMost
	m.append(m.arrange.arrange(force || late))
	waiting := slices.ContainsFunc(m.queues, func(q *queue) bool { return len(q.events) > 0 })
	switch {
	case !waiting:
		m.held = time.Time{}
	case m.held.IsZero():
		m.held = time.Now()
	}
}

// append numbers events and writes them. The caller holds mu.
func (m *merged) append(events []Event) {
	if len(events) == 0 || m.err != nil {
		return
	}
	now := time.Now().UnixMilli()
	var buf bytes.Buffer
	for i := range events {
		ev := &events[i]
		m.seq++
		ev.Seq, ev.At = m.seq, now
		before := buf.Len()
		if err := ev.appendLine(&buf); err != nil {
			buf.Truncate(before)
			continue // there is no such event
		}
		m.marks.add(m.seq, buf.Len()-before)
	}
	if _, m.err = m.file.Write(buf.Bytes()); m.err != nil {
		return
	}
	m.watch(events)
	close(m.grown)
	m.grown = make(chan struct{})
}

// more is closed when the file has grown; marks says where to begin to read.
func (m *merged) more() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grown
}

// offset is where in the file the events behind since begin, or a little before.
func (m *merged) offset(since int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.marks.offset(since)
}

func (m *merged) last() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq
}

// close merges the rest and ends.
func (m *merged) close() error {
	close(m.quit)
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	m.poll(true)
	return errors.Join(m.err, m.file.Close())
}

// marks is a sparse index of the file: where every markEvery-th event begins.
type marks struct {
	seqs, offsets []int64
	size          int64 // of the file
	n             int64
}

const markEvery = 1024

func (x *marks) add(seq int64, length int) {
	if x.n%markEvery == 0 {
		x.seqs, x.offsets = append(x.seqs, seq), append(x.offsets, x.size)
	}
	x.n++
	x.size += int64(length)
}

func (x *marks) offset(since int64) int64 {
	i, _ := slices.BinarySearch(x.seqs, since+1)
	if i < len(x.seqs) && x.seqs[i] == since+1 {
		return x.offsets[i]
	}
	if i == 0 {
		return 0
	}
	return x.offsets[i-1]
}

// repairEvents finds the last Seq of a file, indexes it, and cuts a last line without its
// end, which a kill left. No file is an empty one.
func repairEvents(path string, x *marks) (last int64, err error) {
	err = readEventLines(path, 0, func(line []byte) error {
		last = max(last, seqOf(line))
		x.add(last, len(line)+1)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return last, os.Truncate(path, x.size)
}
