package consumer

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"kz/internal/record"
)

// Deserializer makes a value of bytes. nil bytes are Kafka's null: the record has no
// key, or, as a value, it is a tombstone.
type Deserializer[T any] func(topic string, b []byte) (T, error)

// Kafka's own deserializers; producer has their other halves. null becomes the zero value.

// String takes the bytes as UTF-8. Mirrors StringDeserializer.
func String(_ string, b []byte) (string, error) { return string(b), nil }

// Bytes copies. Mirrors ByteArrayDeserializer.
func Bytes(_ string, b []byte) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	return append([]byte{}, b...), nil
}

// Int32 is four bytes, big-endian. Mirrors IntegerDeserializer.
func Int32(topic string, b []byte) (int32, error) {
	v, err := number(topic, b, 4)
	return int32(v), err
}

// Int64 is eight bytes, big-endian. Mirrors LongDeserializer.
func Int64(topic string, b []byte) (int64, error) {
	v, err := number(topic, b, 8)
	return int64(v), err
}

// Float64 is eight bytes, IEEE 754. Mirrors DoubleDeserializer.
func Float64(topic string, b []byte) (float64, error) {
	v, err := number(topic, b, 8)
	return math.Float64frombits(v), err
}

func number(topic string, b []byte, size int) (uint64, error) {
	switch {
	case b == nil:
		return 0, nil
	case len(b) != size:
		return 0, fmt.Errorf("topic %s: a number of %d bytes, want %d", topic, len(b), size)
	case size == 4:
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// Typed is a record with its key and value made of the bytes.
type Typed[K, V any] struct {
	record.Record
	TypedKey   K
	TypedValue V
}

// Decode yields the records of one Fetched with keys and values of one type each. What
// cannot be read is an error that names the offset; the loop may go on after it.
func Decode[K, V any](f *Fetched, key Deserializer[K], value Deserializer[V]) iter.Seq2[Typed[K, V], error] {
	return func(yield func(Typed[K, V], error) bool) {
		for r, err := range f.Records() {
			t := Typed[K, V]{Record: r}
			if err == nil {
				if t.TypedKey, err = key(f.Partition.Topic, r.Key); err == nil {
					t.TypedValue, err = value(f.Partition.Topic, r.Value)
				}
				if err != nil {
					err = fmt.Errorf("%v at offset %d: %w", f.Partition, r.Offset, err)
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
