package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is an int32 size, big-endian, and as many bytes. Requests and answers are both
// framed so; nothing else is ever on a connection.

// Memory for a frame is taken in steps: firstStep at once, and growStep times what has
// arrived whenever that is full. So a claimed 100 MB costs 64 KiB until bytes come, while
// the common frame is read into its final place without being copied.
const (
	firstStep  = 64 << 10
	growStep   = 16
	secondStep = firstStep * growStep
)

// FrameSizeError is a size that is negative or above the limit. The stream cannot be
// used any further.
type FrameSizeError struct{ Size, Max int32 }

func (e *FrameSizeError) Error() string {
	s := fmt.Sprintf("frame of %d bytes: allowed are 0 to %d", e.Size, e.Max)
	switch size := uint32(e.Size); { // read as the first bytes of something else
	case size>>16 == 0x1603:
		s += ": it is a TLS handshake, and this listener speaks PLAINTEXT"
	case size == 0x47455420 || size == 0x504F5354: // "GET ", "POST"
		s += ": it is HTTP"
	}
	return s
}

// ReadFrame reads one size-prefixed frame of at most max bytes; the size is checked before
// allocating. io.EOF means the stream ended between two frames, io.ErrUnexpectedEOF inside one.
func ReadFrame(r io.Reader, max int32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n, err := checkSize(head[:], max)
	if err != nil {
		return nil, err
	}
	frame, have := make([]byte, min(n, firstStep)), 0
	for {
		if err := readAll(r, frame[have:]); err != nil {
			return nil, err
		}
		if have = len(frame); have == n {
			return frame, nil
		}
		frame = append(make([]byte, 0, nextStep(have, n)), frame...)
		frame = frame[:cap(frame)]
	}
}

// FrameReader reads the frames of one connection into buffers of the pool. One goroutine
// uses it.
type FrameReader struct {
	r *bufio.Reader
	// credit is the first step of the next frame: a peer that has sent much gets as much
	// at once, up to the second step, and its frames are not copied on the way.
	credit int
}

// NewFrameReader reads from r.
func NewFrameReader(r *bufio.Reader) *FrameReader { return &FrameReader{r: r, credit: firstStep} }

// Next is ReadFrame into a buffer that the caller frees.
func (f *FrameReader) Next(limit int32) (*Buffer, error) {
	head, err := f.r.Peek(4)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	n, err := checkSize(head, limit)
	if err != nil {
		return nil, err
	}
	f.r.Discard(4) // cannot fail: it was peeked
	buf, have := GetBuffer(min(n, f.credit)), 0
	for {
		if err := readAll(f.r, buf.B[have:]); err != nil {
			buf.Free()
			return nil, err
		}
		if have = len(buf.B); have == n {
			f.credit = min(secondStep, max(f.credit, n))
			return buf, nil
		}
		bigger := GetBuffer(nextStep(have, n))
		copy(bigger.B, buf.B)
		buf.Free()
		buf = bigger
	}
}

func nextStep(have, want int) int { return min(want, have*growStep) }

func checkSize(head []byte, max int32) (int, error) {
	size := int32(binary.BigEndian.Uint32(head))
	if size < 0 || size > max {
		return 0, &FrameSizeError{size, max}
	}
	return int(size), nil
}

// readAll fills p; the end of the stream is an unexpected one here.
func readAll(r io.Reader, p []byte) error {
	_, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
