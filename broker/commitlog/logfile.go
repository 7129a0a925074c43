package commitlog

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// logFile is one segment's .log, shared by the log and by everybody who holds a
// Slice of it. It is counted: the log holds one reference for as long as the segment
// exists, each Slice one more, and the descriptor closes when the last is let go. So
// truncation, retention and deletion never close a file under a sender.
//
// A rolled segment's file is opened by its first reader, so that a start with many
// segments opens only the active ones.
type logFile struct {
	d    *disk
	refs atomic.Int32 // 0: closed for good

	mu   sync.Mutex // guards path and opening
	path string
	f    atomic.Pointer[os.File]
}

func newLogFile(d *disk, path string) *logFile {
	lf := &logFile{d: d, path: path}
	lf.refs.Store(1)
	return lf
}

// acquire takes a reference and returns the open file. os.ErrClosed: it is gone.
func (lf *logFile) acquire() (*os.File, error) {
	for {
		n := lf.refs.Load()
		if n == 0 {
			return nil, os.ErrClosed
		}
		if lf.refs.CompareAndSwap(n, n+1) {
			break
		}
	}
	if f := lf.f.Load(); f != nil {
		return f, nil
	}
	f, err := lf.open(false)
	if err != nil {
		lf.release()
	}
	return f, err
}

// open opens the file; the caller holds a reference.
func (lf *logFile) open(create bool) (*os.File, error) {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if f := lf.f.Load(); f != nil {
		return f, nil
	}
	f, err := lf.d.open(lf.path, create)
	if err != nil {
		return nil, err
	}
	lf.f.Store(f)
	return f, nil
}

func (lf *logFile) release() {
	if lf.refs.Add(-1) > 0 {
		return
	}
	if f := lf.f.Load(); f != nil {
		f.Close()
	}
}

// rest closes the descriptor until the next acquire. Only loading calls it, while
// nobody else knows of the segment.
func (lf *logFile) rest() {
	if f := lf.f.Swap(nil); f != nil {
		f.Close()
	}
}

func (lf *logFile) name() string {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return lf.path
}

func (lf *logFile) rename(to string) error {
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if err := lf.d.rename(lf.path, to); err != nil {
		return err
	}
	lf.path = to
	return nil
}

// Slice is a range of one segment's file, for sendfile or ReadAt. It holds a
// reference to the segment: call Release exactly once. A zero Slice is empty and
// needs no release. If the log is truncated meanwhile, the file may end inside the
// range: a sender then finds the end of the file early and must give up the
// connection, since it has already announced Length bytes.
type Slice struct {
	File   *os.File
	Offset int64 // byte in File
	Length int64 // bytes

	of *logFile
}

// Len is Length.
func (s Slice) Len() int64 { return s.Length }

// Release lets the segment's file go.
func (s Slice) Release() {
	if s.of != nil {
		s.of.release()
	}
}

// ReadAll copies the range into memory. io.ErrUnexpectedEOF: the log was truncated.
func (s Slice) ReadAll() ([]byte, error) {
	if s.Length == 0 {
		return nil, nil
	}
	b := make([]byte, s.Length)
	n, err := s.of.d.readAt(s.File, s.File.Name(), b, s.Offset)
	if err == io.EOF && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	return b[:n], err
}
