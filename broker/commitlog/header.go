package commitlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// batchHeader is what storage must know of one batch on disk, whatever its format.
// Formats 0 and 1 are never appended by kz, but a directory that an old Kafka wrote
// must still be walked, so the three layouts are read here (docs/formats/batch.md):
//
//	       0– 7      8–11    12–15   16     17–…
//	v0, v1 offset    length  CRC-32  magic  attributes(1) [v1: timestamp(8)] …
//	v2     base      length  epoch   magic  CRC-32C(4) attributes(2) lastOffsetDelta(4) first(8) max timestamp(8) …
type batchHeader struct {
	base         int64 // for v0 and v1 the same as last: the first offset is not in the header
	last         int64
	size         int64 // whole batch, the 12 bytes before length's end included
	epoch        int32 // -1 in v0 and v1
	magic        int8
	maxTimestamp int64 // -1 in v0
}

const (
	logOverhead  = 12 // offset and length
	minBatchV0   = 14 // the smallest length field there is
	minBatchV2   = 61 // a batch without records
	headerPeek   = 43 // bytes that hold everything in batchHeader
	smallestPeek = 26 // the same for a v0 batch of the smallest size
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// corrupt says why bytes in a log are no batch. It is never an I/O error.
type corrupt struct{ why string }

func (c *corrupt) Error() string { return c.why }

func corruptf(format string, args ...any) error { return &corrupt{fmt.Sprintf(format, args...)} }

// parseHeader reads the header at the start of b, which may end early: remaining is
// how many bytes the file holds from here on.
func parseHeader(b []byte, remaining int64) (batchHeader, error) {
	var h batchHeader
	if len(b) < smallestPeek {
		return h, corruptf("%d bytes, fewer than the smallest batch", len(b))
	}
	h.base = int64(binary.BigEndian.Uint64(b))
	length := int64(int32(binary.BigEndian.Uint32(b[8:])))
	h.size = length + logOverhead
	h.magic = int8(b[16])
	switch {
	case length < minBatchV0:
		return h, corruptf("length field %d is below the smallest, %d", length, minBatchV0)
	case h.magic < 0 || h.magic > 2:
		return h, corruptf("magic %d", h.magic)
	case h.size > remaining:
		return h, corruptf("batch of %d bytes, only %d left", h.size, remaining)
	case h.base < 0:
		return h, corruptf("negative offset %d", h.base)
	}
	h.last, h.epoch, h.maxTimestamp = h.base, -1, -1
	switch h.magic {
	case 1:
		h.maxTimestamp = int64(binary.BigEndian.Uint64(b[18:]))
	case 2:
		if h.size < minBatchV2 || len(b) < headerPeek {
			return h, corruptf("batch of %d bytes, fewer than its header", h.size)
		}
		delta := int32(binary.BigEndian.Uint32(b[23:]))
		if delta < 0 || h.base+int64(delta) < 0 {
			return h, corruptf("last offset delta %d", delta)
		}
		h.last = h.base + int64(delta)
		h.epoch = int32(binary.BigEndian.Uint32(b[12:]))
		h.maxTimestamp = int64(binary.BigEndian.Uint64(b[35:]))
	}
	return h, nil
}

// checkCRC checks the whole batch b, whose header h was parsed from it.
func (h batchHeader) checkCRC(b []byte) error {
	stored, sum := binary.BigEndian.Uint32(b[12:]), uint32(0)
	if h.magic == 2 {
		stored, sum = binary.BigEndian.Uint32(b[17:]), crc32.Checksum(b[21:h.size], castagnoli)
	} else {
		sum = crc32.ChecksumIEEE(b[16:h.size])
	}
	if stored != sum {
		return corruptf("stored CRC %d, computed %d", stored, sum)
	}
	return nil
}
