package record

import (
	"encoding/binary"
	"fmt"

	"kz/internal/kafkaerr"
)

// MarkerType says what a control record does.
//
// Mirrors ControlRecordType.
type MarkerType int16

const (
	Abort  MarkerType = 0
	Commit MarkerType = 1
)

// String is Kafka's name; types 2 and later belong to KRaft and are UNKNOWN here.
func (t MarkerType) String() string {
	switch t {
	case Abort:
		return "ABORT"
	case Commit:
		return "COMMIT"
	}
	return "UNKNOWN"
}

// Marker ends a transaction. It is the one record of a control batch:
//
//	key    version i16 (0), type i16
//	value  version i16 (0), coordinator epoch i32
//
// Mirrors EndTransactionMarker.
type Marker struct {
	Type             MarkerType
	CoordinatorEpoch int32 // of the transaction coordinator that decided
}

// ParseMarker reads the marker of a control batch: INVALID_RECORD if it holds none that
// ends a transaction. Versions later than ours are read by the fields we know.
func ParseMarker(b Batch) (Marker, error) {
	if !b.IsControl() {
		return Marker{}, invalid("not a control batch")
	}
	for r, err := range b.Records() {
		if err != nil {
			return Marker{}, err
		}
		return parseMarker(r.Key, r.Value)
	}
	return Marker{}, invalid("a control batch without a record")
}

func parseMarker(key, value []byte) (Marker, error) {
	be := binary.BigEndian
	if len(key) < 4 || int16(be.Uint16(key)) < 0 {
		return Marker{}, invalid("a control record with the key % x", key[:min(len(key), 16)])
	}
	m := Marker{Type: MarkerType(be.Uint16(key[2:]))}
	if m.Type != Abort && m.Type != Commit {
		return m, kafkaerr.Wrap(kafkaerr.InvalidRecord, "record", fmt.Errorf("control record type %d does not end a transaction", int16(m.Type)))
	}
	if len(value) < 6 || int16(be.Uint16(value)) < 0 {
		return m, invalid("a transaction marker with the value % x", value[:min(len(value), 16)])
	}
	m.CoordinatorEpoch = int32(be.Uint32(value[2:]))
	return m, nil
}

// NewMarker is the batch that ends a transaction of a producer, as a coordinator
// appends it; the log gives it its offset.
func NewMarker(m Marker, producerID int64, producerEpoch int16, timestamp int64) Batch {
	be := binary.BigEndian
	key := be.AppendUint16(make([]byte, 2, 4), uint16(m.Type))
	value := be.AppendUint32(make([]byte, 2, 6), uint32(m.CoordinatorEpoch))
	w := NewBuilder(None, 0)
	w.SetProducer(producerID, producerEpoch, -1, true)
	w.SetControl()
	w.Append(timestamp, key, value)
	return Batch(w.Bytes())
}
