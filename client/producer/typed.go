package producer

import (
	"context"
	"encoding/binary"
	"math"
)

// Serializer makes bytes of a key or a value. Kafka itself knows only bytes.
type Serializer[T any] func(topic string, v T) ([]byte, error)

// Kafka's own serializers, byte for byte: numbers are big-endian.

// String is UTF-8 as it is. Mirrors StringSerializer.
func String(_ string, v string) ([]byte, error) { return []byte(v), nil }

// Bytes is what it is. Mirrors ByteArraySerializer.
func Bytes(_ string, v []byte) ([]byte, error) { return v, nil }

// Int32 is four bytes. Mirrors IntegerSerializer.
func Int32(_ string, v int32) ([]byte, error) {
	return binary.BigEndian.AppendUint32(nil, uint32(v)), nil
}

// Int64 is eight bytes. Mirrors LongSerializer.
func Int64(_ string, v int64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(v)), nil
}

// Float64 is eight bytes, IEEE 754. Mirrors DoubleSerializer.
func Float64(_ string, v float64) ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)), nil
}

// Typed sends keys and values of one type each.
type Typed[K, V any] struct {
	Producer *Producer
	Key      Serializer[K]
	Value    Serializer[V]
}

// Send serializes and sends; the partition is chosen by the key. A value that cannot be
// serialized is an error, and callback does not run.
func (t Typed[K, V]) Send(ctx context.Context, topic string, key K, value V, callback Callback) error {
	k, err := t.Key(topic, key)
	if err != nil {
		return err
	}
	if k == nil {
		k = []byte{} // an empty key is a key: it has a hash
	}
	v, err := t.Value(topic, value)
	if err != nil {
		return err
	}
	return t.Producer.Send(ctx, Record{Topic: topic, Partition: AnyPartition, Key: k, Value: v}, callback)
}
