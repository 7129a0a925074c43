package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"kz/internal/kafkaerr"
)

// The bounds of decompression. A hundred bytes can unfold to megabytes, so what a
// batch may become is limited, not only what it is.
const (
	// MaxDecompressed is how many bytes the records of one batch may unfold to, 1 GiB.
	// They pass through a window; they are never in memory together.
	MaxDecompressed = 1 << 30
	// MaxRecordSize is the largest record of a compressed batch that is held in memory,
	// 128 MiB: more than any request can carry uncompressed (socket.request.max.bytes
	// is 100 MiB).
	MaxRecordSize = 128 << 20
	// maxZstdWindow is the largest window a zstd frame may ask for, the limit of the
	// reference implementation too. Java producers ask for 2 MiB at the default level.
	maxZstdWindow = 128 << 20
	// keepZstdWindow is the largest window that stays allocated in the pool.
	keepZstdWindow = 8 << 20
)

// decoder unfolds one compressed blob. It reads from memory and so never blocks.
type decoder interface {
	// reset starts on a blob that stays unchanged until the last Read.
	reset(src []byte) error
	io.Reader
}

var decoders = [...]sync.Pool{
	Gzip:   {New: func() any { return new(gzipDecoder) }},
	Snappy: {New: func() any { return new(snappyDecoder) }},
	LZ4:    {New: func() any { return new(lz4Decoder) }},
	Zstd:   {New: func() any { return new(zstdDecoder) }},
}

// newDecoder takes a decoder from the pool; putDecoder gives it back.
func newDecoder(c Codec, src []byte) (decoder, error) {
	if !c.Known() || c == None {
		return nil, unknownCodec(c)
	}
	d := decoders[c].Get().(decoder)
	if err := d.reset(src); err != nil {
		putDecoder(c, d)
		return nil, damaged(c, err)
	}
	return d, nil
}

func putDecoder(c Codec, d decoder) {
	if z, ok := d.(*zstdDecoder); ok && z.window > keepZstdWindow {
		return // its window goes with it
	}
	_ = d.reset(nil) // let go of the blob
	decoders[c].Put(d)
}

// unknownCodec: Kafka answers UNKNOWN_SERVER_ERROR here, from an exception; see
// docs/divergence.md.
func unknownCodec(c Codec) error {
	return kafkaerr.New(kafkaerr.UnsupportedCompressionType,
		fmt.Sprintf("the batch says compression codec %d; there are 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) and 4 (zstd)", int8(c)))
}

// damaged: the CRC held, so the producer sent it so, and sending again is no use.
func damaged(c Codec, err error) error { return invalid("decompress %v: %w", c, err) }

var errUnfoldsTooFar = kafkaerr.Wrap(kafkaerr.MessageTooLarge, "record",
	fmt.Errorf("the compressed records unfold to more than %d bytes", MaxDecompressed))

var errRecordTooLarge = kafkaerr.Wrap(kafkaerr.MessageTooLarge, "record",
	fmt.Errorf("a compressed record unfolds to more than %d bytes", MaxRecordSize))

// gzipDecoder reads plain RFC 1952 members.
type gzipDecoder struct {
	src bytes.Reader
	z   gzip.Reader
}

func (d *gzipDecoder) reset(src []byte) error {
	d.src.Reset(src)
	if src == nil {
		return nil
	}
	return d.z.Reset(&d.src)
}

func (d *gzipDecoder) Read(p []byte) (int, error) { return d.z.Read(p) }

// zstdDecoder reads zstd frames block by block, on the caller's goroutine.
type zstdDecoder struct {
	src    bytes.Reader
	z      *zstd.Decoder
	window uint64 // what the last frame asked for
}

func (d *zstdDecoder) reset(src []byte) (err error) {
	d.src.Reset(src)
	if src == nil {
		if d.z == nil {
			return nil
		}
		return d.z.Reset(nil)
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return err
	}
	d.window = max(d.window, h.WindowSize)
	if d.z == nil {
		d.z, err = zstd.NewReader(&d.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeBuffersBelow(0), zstd.WithDecoderMaxWindow(maxZstdWindow))
		return err
	}
	return d.z.Reset(&d.src)
}

func (d *zstdDecoder) Read(p []byte) (int, error) { return d.z.Read(p) }

var errEmptyRead = errors.New("a decoder gave neither bytes nor an error")
