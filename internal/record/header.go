package record

import "encoding/binary"

// A batch header is 61 bytes, big-endian; positions count from its first byte.
//
//	 0– 7 base offset        the leader overwrites the producer's 0
//	 8–11 length             of what follows byte 11
//	12–15 leader epoch       set by the leader, hence outside the CRC
//	16    magic              2
//	17–20 CRC-32C            of bytes 21 to the end
//	21–22 attributes         bits 0–2 codec, 3 timestamp type, 4 transactional, 5 control
//	23–26 last offset delta  last offset = base offset + this
//	27–34 first timestamp    what the records' deltas are added to
//	35–42 max timestamp      with LogAppendTime: the time of the append, of every record
//	43–50 producer id        -1: none
//	51–52 producer epoch     -1: none
//	53–56 base sequence      -1: none
//	57–60 count              of records; 0 only where compaction removed them all
//	61–   records            compressed as one blob if the codec is not 0
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posFirstTimestamp  = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

// HeaderSize is the length of a magic 2 batch header; LogOverhead the prefix
// (offset, length) that every format shares.
const (
	HeaderSize  = 61
	LogOverhead = 12
	Magic2      = 2
	NoTimestamp = int64(-1)
)

// The bits of the attributes. Kafka 2.8 knows no others.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrKnown         = attrCodec | attrLogAppendTime | attrTransactional | attrControl
)

// Batch is the bytes of one whole magic 2 batch, header included, as Next cuts them.
// Methods read and patch it in place; nothing is copied. They need at least HeaderSize
// bytes, which Next has checked.
//
// Mirrors DefaultRecordBatch.
type Batch []byte

// BaseOffset is the offset of the first record the batch was written with.
func (b Batch) BaseOffset() int64 { return b.i64(posBaseOffset) }

// Length is the whole size in bytes, the 12-byte prefix included.
func (b Batch) Length() int { return LogOverhead + int(b.i32(posLength)) }

// LeaderEpoch is the epoch of the leader that appended the batch, -1 before that.
func (b Batch) LeaderEpoch() int32 { return b.i32(posLeaderEpoch) }

// Magic is the format, always 2.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the stored CRC-32C; see CheckCRC.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the flag bits as stored.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[posAttributes:])) }

// Codec says how the records are compressed; it may be a value that no Codec names.
func (b Batch) Codec() Codec { return Codec(b[posAttributes+1] & attrCodec) }

// IsLogAppendTime says that MaxTimestamp is the time of every record.
func (b Batch) IsLogAppendTime() bool { return b[posAttributes+1]&attrLogAppendTime != 0 }

// IsTransactional says that the records belong to a transaction.
func (b Batch) IsTransactional() bool { return b[posAttributes+1]&attrTransactional != 0 }

// IsControl says that the one record is a marker for the broker, not for applications.
func (b Batch) IsControl() bool { return b[posAttributes+1]&attrControl != 0 }

// LastOffsetDelta is the distance of the last offset from the base offset.
func (b Batch) LastOffsetDelta() int32 { return b.i32(posLastOffsetDelta) }

// LastOffset is the offset of the last record the batch was written with; compaction
// may have removed that record, but not the offset.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// FirstTimestamp is what the records' timestamp deltas count from, in epoch ms. It is
// the producer's time even with LogAppendTime.
func (b Batch) FirstTimestamp() int64 { return b.i64(posFirstTimestamp) }

// MaxTimestamp is the greatest timestamp in the batch, or the time of the append.
func (b Batch) MaxTimestamp() int64 { return b.i64(posMaxTimestamp) }

// ProducerID is -1 unless the producer is idempotent or transactional.
func (b Batch) ProducerID() int64 { return b.i64(posProducerID) }

// ProducerEpoch is -1 without a producer id.
func (b Batch) ProducerEpoch() int16 {
	return int16(binary.BigEndian.Uint16(b[posProducerEpoch:]))
}

// BaseSequence is the sequence number of the first record, -1 without a producer id
// and in control batches.
func (b Batch) BaseSequence() int32 { return b.i32(posBaseSequence) }

// LastSequence is the sequence number of the last record, -1 if there is none.
func (b Batch) LastSequence() int32 {
	if b.BaseSequence() == -1 {
		return -1
	}
	return NextSequence(b.BaseSequence(), b.LastOffsetDelta())
}

// Count is the number of records the header claims.
func (b Batch) Count() int32 { return b.i32(posCount) }

// SetBaseOffset moves the batch; the field lies outside the CRC.
func (b Batch) SetBaseOffset(v int64) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(v))
}

// SetLeaderEpoch says who appended the batch; the field lies outside the CRC.
func (b Batch) SetLeaderEpoch(v int32) {
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(v))
}

// SetMaxTimestamp sets timestamp type and max timestamp, and the CRC if either of
// them changed.
func (b Batch) SetMaxTimestamp(t TimestampType, v int64) {
	if b.IsLogAppendTime() == (t == LogAppendTime) && b.MaxTimestamp() == v {
		return
	}
	attributes := uint16(b.Attributes()) & attrKnown &^ attrLogAppendTime
	if t == LogAppendTime {
		attributes |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[posAttributes:], attributes)
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(v))
	b.setCRC()
}

// NextSequence is the sequence number n after s: after 2147483647 comes 0.
func NextSequence(s, n int32) int32 { return int32((int64(s) + int64(n)) & 0x7fffffff) }

func (b Batch) i32(pos int) int32 { return int32(binary.BigEndian.Uint32(b[pos:])) }
func (b Batch) i64(pos int) int64 { return int64(binary.BigEndian.Uint64(b[pos:])) }
