package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Kafka's snappy is not a snappy block but the stream of the Java library by Xerial:
//
//	82 53 4E 41 50 50 59 00   magic, "SNAPPY" between 0x82 and 0
//	00 00 00 01               version
//	00 00 00 01               the oldest version that can read it
//	then, again and again:
//	    length                4 bytes, big-endian, of the block
//	    block                 a raw snappy block of up to 32 KiB of input
//
// Without the magic the Java reader takes everything for one raw block, and so do we;
// some old clients write that.
var xerialHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const (
	xerialMagicLen  = 8
	snappyBlockSize = 32 << 10
	// snappyMaxRatio bounds what a block can unfold to: its best element makes 64 bytes
	// of 3. A block that claims more is damaged, and we do not allocate for it.
	snappyMaxRatio = 22
	// keepSnappyBuffer is the largest block buffer that stays in the pool: clients that
	// write one raw block fold a whole batch into it.
	keepSnappyBuffer = 4 << 20
)

var (
	errSnappyBlock = errors.New("a snappy block is longer than the data")
	errSnappyClaim = errors.New("a snappy block claims more bytes than it can hold")
)

type snappyDecoder struct {
	src    []byte
	framed bool
	buf    []byte // the unfolded block
	out    []byte // what of it was not read yet
}

func (d *snappyDecoder) reset(src []byte) error {
	d.src, d.out = src, nil
	if len(d.buf) > keepSnappyBuffer {
		d.buf = nil
	}
	if d.framed = bytes.HasPrefix(src, xerialHeader[:xerialMagicLen]); d.framed {
		if len(src) < len(xerialHeader) {
			return errSnappyBlock
		}
		d.src = src[len(xerialHeader):]
	}
	return nil
}

func (d *snappyDecoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if err := d.block(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// block unfolds the next block into d.out.
func (d *snappyDecoder) block() error {
	if d.framed && bytes.HasPrefix(d.src, xerialHeader) { // streams glued together
		d.src = d.src[len(xerialHeader):]
	}
	if len(d.src) == 0 {
		return io.EOF
	}
	block := d.src
	d.src = nil
	if d.framed {
		if len(block) < 4 {
			return errSnappyBlock
		}
		n := int64(binary.BigEndian.Uint32(block))
		if n > int64(len(block)-4) {
			return errSnappyBlock
		}
		block, d.src = block[4:4+n], block[4+n:]
	}
	size, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	if size > snappyMaxRatio*len(block) {
		return errSnappyClaim
	}
	if size > len(d.buf) {
		d.buf = make([]byte, max(size, snappyBlockSize))
	}
	d.out, err = snappy.Decode(d.buf, block)
	return err
}

// snappyEncoder writes the Xerial stream.
type snappyEncoder struct {
	dst   *sink
	in    []byte // up to a block of input
	block []byte // scratch
}

func (e *snappyEncoder) reset(dst *sink) {
	e.dst, e.in = dst, e.in[:0]
	if dst != nil {
		dst.write(xerialHeader)
	}
}

func (e *snappyEncoder) Write(p []byte) (int, error) {
	return writeBlocks(p, &e.in, snappyBlockSize, e.flush)
}

func (e *snappyEncoder) Close() error { return e.flush() }

func (e *snappyEncoder) flush() error {
	if len(e.in) == 0 {
		return nil
	}
	if e.block == nil {
		e.block = make([]byte, snappy.MaxEncodedLen(snappyBlockSize))
	}
	block := snappy.Encode(e.block, e.in)
	e.in = e.in[:0]
	e.dst.write(binary.BigEndian.AppendUint32(nil, uint32(len(block))))
	e.dst.write(block)
	return e.dst.err
}

// writeBlocks gathers p into *in and calls flush, which empties it, at each full block.
func writeBlocks(p []byte, in *[]byte, size int, flush func() error) (int, error) {
	if *in == nil {
		*in = make([]byte, 0, size)
	}
	for n := 0; ; {
		k := min(size-len(*in), len(p)-n)
		*in = append(*in, p[n:n+k]...)
		if n += k; n == len(p) {
			return n, nil
		}
		if err := flush(); err != nil {
			return n, err
		}
	}
}
