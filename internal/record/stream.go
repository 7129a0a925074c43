package record

import (
	"errors"
	"io"
	"sync"
)

// windowSize is how much of a compressed batch is unfolded at a time.
const windowSize = 64 << 10

// stream takes the records of a compressed batch off its decoder one by one. It holds
// a window of the unfolded bytes, not all of them.
//
//	buf  |....consumed....|==== r .. w, unfolded and unread ====|....free....|
//
// Invariant: 0 <= r <= w <= len(buf).
type stream struct {
	codec Codec
	dec   decoder
	buf   []byte
	r, w  int
	total int64 // bytes unfolded so far, at most MaxDecompressed
	eof   bool

	// keep: what was handed out stays as it is, so a full window is replaced rather
	// than moved. Else the next record overwrites the last.
	keep   bool
	pooled *[]byte // the window, if it came from the pool
}

var windows = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

var streams = sync.Pool{New: func() any { return new(stream) }}

// openStream starts on the records of b. With keep the fields it hands out may be held.
func openStream(b Batch, keep bool) (*stream, error) {
	dec, err := newDecoder(b.Codec(), b[HeaderSize:])
	if err != nil {
		return nil, err
	}
	s := streams.Get().(*stream)
	*s = stream{codec: b.Codec(), dec: dec, keep: keep}
	if keep {
		s.buf = make([]byte, min(windowSize, max(1<<10, 4*len(b))))
	} else {
		s.pooled = windows.Get().(*[]byte)
		s.buf = *s.pooled
	}
	return s, nil
}

func (s *stream) close() {
	putDecoder(s.codec, s.dec)
	if s.pooled != nil {
		windows.Put(s.pooled)
	}
	*s = stream{}
	streams.Put(s)
}

// more unfolds at least one more byte into the window, which must have room for it.
// At the end it sets eof and returns nil.
func (s *stream) more() error {
	for range 100 {
		n, err := s.dec.Read(s.buf[s.w:])
		s.w += n
		if s.total += int64(n); s.total > MaxDecompressed {
			return errUnfoldsTooFar
		}
		switch {
		case errors.Is(err, io.EOF):
			s.eof = true
			return nil
		case err != nil:
			return damaged(s.codec, err)
		case n > 0:
			return nil
		}
	}
	return damaged(s.codec, errEmptyRead)
}

// ensure unfolds until n bytes are unread in the window; n is at most len(buf). At the
// end of the data there may be fewer.
func (s *stream) ensure(n int) error {
	for s.w-s.r < n && !s.eof {
		if len(s.buf)-s.r < n {
			s.makeRoom(len(s.buf))
		}
		if err := s.more(); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom puts the unread bytes at the front of a window of size bytes.
func (s *stream) makeRoom(size int) {
	to := s.buf
	if s.keep || size != len(s.buf) {
		to = make([]byte, size)
	}
	s.w = copy(to, s.buf[s.r:s.w])
	s.r, s.buf = 0, to
}

// length reads the length of the next record.
func (s *stream) length() (int, error) {
	if err := s.ensure(5); err != nil {
		return 0, err
	}
	size, n := varint(s.buf[s.r:s.w])
	if n <= 0 {
		return 0, varintError(n)
	}
	if size < 0 {
		return 0, errNegative
	}
	s.r += n
	return int(size), nil
}

// next reads one whole record into f. A record larger than the window gets memory of
// its own, which grows with the bytes that really come.
func (s *stream) next(f *fields) error {
	size, err := s.length()
	if err != nil {
		return err
	}
	if size > MaxRecordSize {
		return errRecordTooLarge
	}
	for size > len(s.buf) && !s.eof {
		if err := s.ensure(len(s.buf)); err != nil {
			return err
		}
		s.makeRoom(min(size, 2*len(s.buf)))
	}
	if err := s.ensure(size); err != nil {
		return err
	}
	if s.w-s.r < size {
		return errTruncated
	}
	body := s.buf[s.r : s.r+size]
	s.r += size
	return f.parse(body)
}

// check is next for a validating walk: a record larger than the window is read piece
// by piece and forgotten, so f has its lengths but not its key, value and headers.
func (s *stream) check(f *fields) error {
	size, err := s.length()
	if err != nil {
		return err
	}
	if size > len(s.buf) {
		return s.checkLarge(size, f)
	}
	if err := s.ensure(size); err != nil {
		return err
	}
	if s.w-s.r < size {
		return errTruncated
	}
	body := s.buf[s.r : s.r+size]
	s.r += size
	return f.parse(body)
}

// end says whether the data ends where the records did.
func (s *stream) end() error {
	if err := s.ensure(1); err != nil {
		return err
	}
	if s.w > s.r {
		return errLeftOver
	}
	return nil
}
