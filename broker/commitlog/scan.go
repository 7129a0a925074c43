package commitlog

import (
	"errors"
	"io"
	"os"
	"sync"
)

// scanner walks the batches of one log file from a position up to end. It reads
// ahead in chunks, so a walk over small batches is few system calls.
type scanner struct {
	d    *disk
	f    *os.File
	path string
	pos  int64 // of the next batch
	end  int64 // bytes at and after end do not exist for this walk

	whole bool   // next also brings the batch's bytes
	buf   []byte // bytes of the file from bufAt on
	bufAt int64
}

// The chunk is one page for a lookup, which reads a few headers, and much more for
// recovery, which reads everything.
const (
	lookupChunk   = 4 << 10
	recoveryChunk = 256 << 10
)

var lookupBuffers = sync.Pool{New: func() any { b := make([]byte, 0, lookupChunk); return &b }}

// next returns the header of the batch at s.pos, its position, and moves on. At the
// end it returns io.EOF; where the bytes are no batch, a *corrupt error, and stays.
// The bytes (only with whole) are valid until the following call.
func (s *scanner) next() (h batchHeader, at int64, b []byte, err error) {
	at = s.pos
	if at >= s.end {
		return h, at, nil, io.EOF
	}
	remaining := s.end - at
	if err := s.fill(at, min(headerPeek, remaining)); err != nil {
		return h, at, nil, err
	}
	b = s.buf[at-s.bufAt:]
	h, err = parseHeader(b[:min(int64(len(b)), remaining)], remaining)
	if err != nil {
		return h, at, nil, err
	}
	if s.whole {
		if err := s.fill(at, h.size); err != nil {
			return h, at, nil, err
		}
		b = s.buf[at-s.bufAt:][:h.size]
	}
	s.pos += h.size
	return h, at, b, nil
}

// fill makes buf hold at least n bytes from at on.
func (s *scanner) fill(at, n int64) error {
	if at >= s.bufAt && at+n <= s.bufAt+int64(len(s.buf)) {
		return nil
	}
	want := min(max(n, int64(cap(s.buf))), s.end-at)
	if int64(cap(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.buf = s.buf[:want]
	got, err := s.d.readAt(s.f, s.path, s.buf, at)
	s.bufAt, s.buf = at, s.buf[:got]
	switch {
	case int64(got) >= n:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return corruptf("the file ends at %d", at+int64(got)) // it was cut under us
	}
	return err
}

func isCorrupt(err error) bool {
	var c *corrupt
	return errors.As(err, &c)
}
