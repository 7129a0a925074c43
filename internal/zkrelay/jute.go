package zkrelay

import (
	"encoding/binary"
	"io"
)

// jute reads ZooKeeper's encoding, big-endian; the first read past the end sticks in err, and what is
// read from then on is zero.
type jute struct {
	b   []byte
	err error
}

func (j *jute) take(n int) []byte {
	if j.err != nil || n < 0 || n > len(j.b) {
		j.err = io.ErrUnexpectedEOF
		return nil
	}
	out := j.b[:n]
	j.b = j.b[n:]
	return out
}

func (j *jute) int() int32 {
	if b := j.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (j *jute) long() int64 {
	if b := j.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (j *jute) bool() bool {
	b := j.take(1)
	return len(b) == 1 && b[0] != 0
}

// bytes is a length and that many bytes; length -1 is null, which is not the same as empty.
func (j *jute) bytes() []byte {
	n := j.int()
	if n < 0 || j.err != nil {
		return nil
	}
	return append([]byte{}, j.take(int(n))...)
}

func (j *jute) string() string { return string(j.bytes()) }

// count is the length of a vector. What follows holds at least one byte for each member, so a larger
// number is a lie and ends the reading.
func (j *jute) count() int {
	n := int(j.int())
	if n > len(j.b) {
		j.err = io.ErrUnexpectedEOF
		return 0
	}
	return max(n, 0)
}

func (j *jute) strings() []string {
	var out []string
	for range j.count() {
		out = append(out, j.string())
	}
	return out
}

func appendInt(b []byte, n int32) []byte  { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func appendLong(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func appendString(b []byte, s string) []byte {
	return append(appendInt(b, int32(len(s))), s...)
}
