package group

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// errShort: bytes that end too early, or hold a length that cannot be.
var errShort = errors.New("the bytes end too early")

// reader reads Kafka's classic (not flexible) types from the front. After the first
// failure it yields zeros; ok tells at the end.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) ok() bool { return !r.bad }

func (r *reader) err() error {
	if r.bad {
		return errShort
	}
	return nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) || r.bad {
		r.bad, r.b = true, nil
		return make([]byte, 8)[:min(max(n, 0), 8)]
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) i16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *reader) i32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) i64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) str() string {
	n := r.i16()
	if n < 0 {
		r.bad = true
	}
	return string(r.take(int(n)))
}

func (r *reader) nullableStr() *string {
	n := r.i16()
	if n == -1 {
		return nil
	}
	s := string(r.take(int(n)))
	return &s
}

// bytes copies: what is read lives as long as the group.
func (r *reader) bytes() []byte {
	n := r.i32()
	if n < 0 {
		r.bad = true
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) nullableBytes() {
	if n := r.i32(); n != -1 {
		r.take(int(n))
	}
}

func putI16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func putI32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func putI64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// maxString is the longest string that a record can hold: its length has 16 bits. Requests
// of later versions can bring longer ones.
const maxString = math.MaxInt16

// storable says whether strings can be written into a record.
func storable(all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return len(s) > maxString })
}

// putStr needs a storable string.
func putStr(b []byte, s string) []byte { return append(putI16(b, int16(len(s))), s...) }

func putNullableStr(b []byte, s *string) []byte {
	if s == nil {
		return putI16(b, -1)
	}
	return putStr(b, *s)
}

func putBytes(b, v []byte) []byte { return append(putI32(b, int32(len(v))), v...) }
