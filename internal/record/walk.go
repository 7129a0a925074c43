package record

import (
	"encoding/binary"
	"errors"
)

// A record, after the header of its batch. All lengths, counts and deltas are zig-zag
// varints (1 to 5 bytes, the timestamp delta up to 10).
//
//	length          of what follows
//	attributes      1 byte, unused: 0
//	timestamp delta from the batch's first timestamp
//	offset delta    from the batch's base offset
//	key length      -1: null       key
//	value length    -1: null       value
//	header count    >= 0           then for each header:
//	    key length      >= 0           key, UTF-8
//	    value length    -1: null       value
//
// The length must be exact: no byte may be left over.

// fields is one record taken apart, without memory of its own.
type fields struct {
	timestampDelta int64
	offsetDelta    int32
	keyLen         int32 // -1: null
	valueLen       int32 // -1: null
	headerCount    int32
	key, value     []byte // alias the record
	headers        []byte // the encoded headers, already checked
}

// What can be wrong with a record. They are values so that the walk allocates nothing.
var (
	errTruncated     = errors.New("incorrect declared batch size, premature EOF reached")
	errVarint        = errors.New("found invalid record structure: a variable-length integer does not end")
	errStructure     = errors.New("found invalid record structure: a field is longer than its record")
	errRecordLength  = errors.New("invalid record size: the fields do not end where the record does")
	errHeaderCount   = errors.New("found an invalid number of record headers")
	errHeaderKeyNull = errors.New("invalid negative header key size")
	errLeftOver      = errors.New("incorrect declared batch size, records still remaining in file")
	errNegative      = errors.New("negative record length")
)

// varint reads a 32-bit zig-zag varint of at most five bytes. n is 0 if b ends too
// soon, negative if the number does not end.
func varint(b []byte) (v int32, n int) {
	if len(b) > 0 && b[0] < 0x80 { // nearly every field of nearly every record
		u := b[0]
		return int32(u>>1) ^ -int32(u&1), 1
	}
	return varintSlow(b)
}

func varintSlow(b []byte) (v int32, n int) {
	var u uint32
	for i := 0; i < len(b); i++ {
		if i == 5 {
			return 0, -1
		}
		u |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + 1
		}
	}
	if len(b) >= 5 {
		return 0, -1
	}
	return 0, 0
}

// varlong is varint for 64 bits, at most ten bytes. The tenth byte has room for one
// bit; Kafka ignores what else is in it, and so do we.
func varlong(b []byte) (v int64, n int) {
	var u uint64
	for i := 0; i < len(b); i++ {
		if i == 10 {
			return 0, -1
		}
		u |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
	}
	if len(b) >= 10 {
		return 0, -1
	}
	return 0, 0
}

// cutRecord takes the length off b: the first record's body and what follows it.
func cutRecord(b []byte) (body, rest []byte, err error) {
	size, n := varint(b)
	if n <= 0 {
		return nil, nil, varintError(n)
	}
	if size < 0 {
		return nil, nil, errNegative
	}
	if int(size) > len(b)-n {
		return nil, nil, errTruncated
	}
	return b[n : n+int(size)], b[n+int(size):], nil
}

func varintError(n int) error {
	if n == 0 {
		return errTruncated
	}
	return errVarint
}

// parse takes the body of one record apart and checks every length in it. f is
// reused by the caller; nothing is allocated.
func (f *fields) parse(body []byte) error {
	if len(body) == 0 {
		return errStructure
	}
	b := body[1:] // the attributes say nothing
	var n int
	if f.timestampDelta, n = varlong(b); n <= 0 {
		return errVarint
	}
	b = b[n:]
	if f.offsetDelta, n = varint(b); n <= 0 {
		return errVarint
	}
	b = b[n:]
	var err error
	if f.key, f.keyLen, b, err = cutField(b); err != nil {
		return err
	}
	if f.value, f.valueLen, b, err = cutField(b); err != nil {
		return err
	}
	if f.headerCount, n = varint(b); n <= 0 {
		return errVarint
	}
	f.headers = b[n:]
	if f.headerCount == 0 {
		if len(f.headers) != 0 {
			return errRecordLength
		}
		return nil
	}
	return checkHeaders(f.headers, f.headerCount)
}

// cutField takes a nullable field off b. size is -1 for null, as stored: Kafka takes
// every negative length for null, and so do we.
func cutField(b []byte) (field []byte, size int32, rest []byte, err error) {
	size, n := varint(b)
	if n <= 0 {
		return nil, 0, nil, errVarint
	}
	if size < 0 {
		return nil, -1, b[n:], nil
	}
	if int(size) > len(b)-n {
		return nil, 0, nil, errStructure
	}
	end := n + int(size)
	return b[n:end:end], size, b[end:], nil
}

func checkHeaders(b []byte, count int32) error {
	if count < 0 || int(count) > len(b) {
		return errHeaderCount
	}
	var size int32
	var err error
	for range count {
		if _, size, b, err = cutField(b); err != nil {
			return err
		}
		if size < 0 {
			return errHeaderKeyNull
		}
		if _, _, b, err = cutField(b); err != nil {
			return err
		}
	}
	if len(b) != 0 {
		return errRecordLength
	}
	return nil
}

// appendRecord writes one record. size is bodySize of the same fields.
func appendRecord(b []byte, size int, f *fields) []byte {
	b = binary.AppendVarint(b, int64(size))
	b = append(b, 0)
	b = binary.AppendVarint(b, f.timestampDelta)
	b = binary.AppendVarint(b, int64(f.offsetDelta))
	b = appendField(b, f.key, f.keyLen)
	b = appendField(b, f.value, f.valueLen)
	b = binary.AppendVarint(b, int64(f.headerCount))
	return append(b, f.headers...)
}

func appendField(b, field []byte, size int32) []byte {
	b = binary.AppendVarint(b, int64(size))
	return append(b, field...)
}

// bodySize is the length of a record after its length field.
func bodySize(f *fields) int {
	return 1 + varintLen(f.timestampDelta) + varintLen(int64(f.offsetDelta)) +
		varintLen(int64(f.keyLen)) + len(f.key) + varintLen(int64(f.valueLen)) + len(f.value) +
		varintLen(int64(f.headerCount)) + len(f.headers)
}

// varintLen is the number of bytes of v as a zig-zag varint.
func varintLen(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
