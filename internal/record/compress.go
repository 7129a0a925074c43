package record

import (
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zstdWindow is what Kafka's frames ask for at their default level, 2 MiB.
const zstdWindow = 2 << 20

// errSinkFull: the output would pass its limit.
var errSinkFull = errors.New("record: the compressed batch passes its limit")

// sink gathers output in memory, up to a limit.
type sink struct {
	b     []byte
	limit int
	err   error
}

func (s *sink) Write(p []byte) (int, error) {
	s.write(p)
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

func (s *sink) write(p []byte) {
	if s.err == nil && len(p) > s.limit-len(s.b) {
		s.err = errSinkFull
	}
	if s.err == nil {
		s.b = append(s.b, p...)
	}
}

// encoder folds what is written to it into its sink; Close ends the blob.
type encoder interface {
	reset(dst *sink)
	io.WriteCloser
}

var encoders = [...]sync.Pool{
	None:   {New: func() any { return new(plainEncoder) }},
	Gzip:   {New: func() any { return new(gzipEncoder) }},
	Snappy: {New: func() any { return new(snappyEncoder) }},
	LZ4:    {New: func() any { return new(lz4Encoder) }},
	Zstd:   {New: func() any { return new(zstdEncoder) }},
}

// newEncoder takes an encoder from the pool; putEncoder gives it back.
func newEncoder(c Codec, dst *sink) encoder {
	e := encoders[c].Get().(encoder)
	e.reset(dst)
	return e
}

func putEncoder(c Codec, e encoder) {
	e.reset(nil)
	encoders[c].Put(e)
}

// compress appends src, folded with c, to dst.
func compress(c Codec, dst, src []byte) []byte {
	out := &sink{b: dst, limit: int(^uint(0) >> 1)}
	e := newEncoder(c, out)
	defer putEncoder(c, e)
	_, err := e.Write(src)
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		panic("record: compressing into memory failed: " + err.Error()) // no limit, no I/O
	}
	return out.b
}

type plainEncoder struct{ dst *sink }

func (e *plainEncoder) reset(dst *sink)             { e.dst = dst }
func (e *plainEncoder) Write(p []byte) (int, error) { return e.dst.Write(p) }
func (e *plainEncoder) Close() error                { return nil }

type gzipEncoder struct {
	z *gzip.Writer
}

func (e *gzipEncoder) reset(dst *sink) {
	switch {
	case dst == nil:
		e.z.Reset(io.Discard)
	case e.z == nil:
		e.z = gzip.NewWriter(dst)
	default:
		e.z.Reset(dst)
	}
}

func (e *gzipEncoder) Write(p []byte) (int, error) { return e.z.Write(p) }
func (e *gzipEncoder) Close() error                { return e.z.Close() }

type zstdEncoder struct {
	z *zstd.Encoder
}

func (e *zstdEncoder) reset(dst *sink) {
	if e.z == nil {
		var err error
		e.z, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(false))
		if err != nil {
			panic("record: zstd options: " + err.Error())
		}
	}
	if dst == nil {
		e.z.Reset(nil)
		return
	}
	e.z.Reset(dst)
}

func (e *zstdEncoder) Write(p []byte) (int, error) { return e.z.Write(p) }
func (e *zstdEncoder) Close() error                { return e.z.Close() }
