package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// Kafka's lz4 is the LZ4 frame format, the one little-endian thing in a batch:
//
//	04 22 4D 18   magic
//	60            FLG: version 01, independent blocks; no checksums, no content size
//	40            BD: blocks of up to 64 KiB
//	82            HC: second byte of the xxh32 of what stands between magic and HC
//	then, again and again:
//	    length    4 bytes, little-endian; the top bit says "stored, not compressed"
//	    block
//	00 00 00 00   end mark
//
// That is what Kafka writes, and what we write. The reader takes bigger blocks, block
// checksums (verified), a content size (skipped) and a content checksum (not verified),
// and wants independent blocks, as KafkaLZ4BlockInputStream does.
var lz4Header = []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}

const (
	lz4BlockSize       = 64 << 10
	lz4Stored          = 1 << 31
	lz4FlagIndependent = 0x20
	lz4FlagBlockSum    = 0x10
	lz4FlagContentSize = 0x08
	lz4FlagDict        = 0x01
)

var (
	errLZ4Magic  = errors.New("not an lz4 frame")
	errLZ4Header = errors.New("lz4 frame header checksum mismatch")
	errLZ4Linked = errors.New("dependent lz4 blocks are not supported")
	errLZ4Sum    = errors.New("lz4 block checksum mismatch")
	errLZ4Size   = errors.New("lz4 block longer than the frame allows")
)

type lz4Decoder struct {
	src       []byte
	maxBlock  int
	blockSums bool
	ended     bool
	buf       []byte // the unfolded block; at most 4 MiB, which stay in the pool with the decoder
	out       []byte // what of it was not read yet
}

func (d *lz4Decoder) reset(src []byte) error {
	d.src, d.out, d.ended = src, nil, false
	if src == nil {
		return nil
	}
	if len(src) < len(lz4Header) || binary.LittleEndian.Uint32(src) != binary.LittleEndian.Uint32(lz4Header) {
		return errLZ4Magic
	}
	flg, bd := src[4], src[5]
	if flg>>6 != 1 || flg&lz4FlagDict != 0 || flg&0x02 != 0 {
		return fmt.Errorf("lz4 frame flags %#x are not supported", flg)
	}
	if flg&lz4FlagIndependent == 0 {
		return errLZ4Linked
	}
	size := bd >> 4 & 7
	if size < 4 || bd&0x8f != 0 {
		return fmt.Errorf("lz4 block size byte %#x is not supported", bd)
	}
	end := 6
	if flg&lz4FlagContentSize != 0 {
		end += 8
	}
	if len(src) <= end {
		return io.ErrUnexpectedEOF
	}
	if byte(xxh32(src[4:end])>>8) != src[end] {
		return errLZ4Header
	}
	d.blockSums = flg&lz4FlagBlockSum != 0
	d.maxBlock = 1 << (8 + 2*size) // 64 KiB, 256 KiB, 1 MiB, 4 MiB
	d.src = src[end+1:]
	return nil
}

func (d *lz4Decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.ended {
			return 0, io.EOF
		}
		if err := d.block(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// block unfolds the next block into d.out, or finds the end mark.
func (d *lz4Decoder) block() error {
	if len(d.src) < 4 {
		return io.ErrUnexpectedEOF
	}
	length := binary.LittleEndian.Uint32(d.src)
	d.src = d.src[4:]
	if length == 0 {
		d.ended = true
		return nil
	}
	n := int(length &^ lz4Stored)
	if n > d.maxBlock {
		return errLZ4Size
	}
	sum := 0
	if d.blockSums {
		sum = 4
	}
	if n+sum > len(d.src) {
		return io.ErrUnexpectedEOF
	}
	block := d.src[:n]
	if d.blockSums && xxh32(block) != binary.LittleEndian.Uint32(d.src[n:]) {
		return errLZ4Sum
	}
	d.src = d.src[n+sum:]
	if length&lz4Stored != 0 {
		d.out = block
		return nil
	}
	return d.unfold(block)
}

// unfold decompresses into d.buf. The frame's block size is a claim: a batch of franz-go
// or sarama always claims blocks of 4 MiB. So the buffer begins with what is likely, and
// grows while the block does not fit, up to what it can hold: a byte of it makes at most
// 255.
func (d *lz4Decoder) unfold(block []byte) error {
	limit := min(d.maxBlock, 255*len(block)+64)
	for need := max(lz4BlockSize, 4*len(block)); ; need *= 2 {
		if need = min(need, limit); len(d.buf) < need {
			d.buf = make([]byte, need)
		}
		size, err := lz4.UncompressBlock(block, d.buf[:min(len(d.buf), d.maxBlock)])
		if err == nil {
			d.out = d.buf[:size]
			return nil
		}
		if len(d.buf) >= limit {
			return err
		}
	}
}

// lz4Encoder writes frames as Kafka's KafkaLZ4BlockOutputStream does.
type lz4Encoder struct {
	dst   *sink
	in    []byte // up to a block of input
	block []byte // scratch: length and compressed block
	c     lz4.Compressor
}

func (e *lz4Encoder) reset(dst *sink) {
	e.dst, e.in = dst, e.in[:0]
	if dst != nil {
		dst.write(lz4Header)
	}
}

func (e *lz4Encoder) Write(p []byte) (int, error) {
	return writeBlocks(p, &e.in, lz4BlockSize, e.flush)
}

func (e *lz4Encoder) Close() error {
	if err := e.flush(); err != nil {
		return err
	}
	e.dst.write([]byte{0, 0, 0, 0})
	return e.dst.err
}

func (e *lz4Encoder) flush() error {
	if len(e.in) == 0 {
		return nil
	}
	if e.block == nil {
		e.block = make([]byte, 4+lz4.CompressBlockBound(lz4BlockSize))
	}
	n, err := e.c.CompressBlock(e.in, e.block[4:])
	if err != nil {
		return err
	}
	if n == 0 || n >= len(e.in) {
		binary.LittleEndian.PutUint32(e.block, uint32(len(e.in))|lz4Stored)
		n = copy(e.block[4:], e.in)
	} else {
		binary.LittleEndian.PutUint32(e.block, uint32(n))
	}
	e.in = e.in[:0]
	e.dst.write(e.block[:4+n])
	return e.dst.err
}
