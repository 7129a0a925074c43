// Package record reads, checks, stamps and writes Kafka's record batches.
package record

import "iter"

// Codec is the compression in bits 0-2 of a batch's attributes.
type Codec int8

const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// HeaderSize is the length of a magic 2 batch header; LogOverhead the prefix
// (offset, length) that every format shares.
const (
	HeaderSize  = 61
	LogOverhead = 12
	Magic2      = 2
	NoTimestamp = int64(-1)
)

// Batch is the bytes of one whole magic 2 batch, header included. Methods read and
// patch it in place; nothing is copied.
type Batch []byte

func (b Batch) BaseOffset() int64      { panic("contract") }
func (b Batch) Length() int            { panic("contract") } // whole size, 12-byte prefix included
func (b Batch) LeaderEpoch() int32     { panic("contract") }
func (b Batch) Magic() int8            { panic("contract") }
func (b Batch) CRC() uint32            { panic("contract") }
func (b Batch) Attributes() int16      { panic("contract") }
func (b Batch) Codec() Codec           { panic("contract") }
func (b Batch) IsLogAppendTime() bool  { panic("contract") }
func (b Batch) IsTransactional() bool  { panic("contract") }
func (b Batch) IsControl() bool        { panic("contract") }
func (b Batch) LastOffsetDelta() int32 { panic("contract") }
func (b Batch) LastOffset() int64      { panic("contract") }
func (b Batch) FirstTimestamp() int64  { panic("contract") }
func (b Batch) MaxTimestamp() int64    { panic("contract") }
func (b Batch) ProducerID() int64      { panic("contract") }
func (b Batch) ProducerEpoch() int16   { panic("contract") }
func (b Batch) BaseSequence() int32    { panic("contract") }
func (b Batch) Count() int32           { panic("contract") }
func (b Batch) SetBaseOffset(v int64)  { panic("contract") } // outside the CRC
func (b Batch) SetLeaderEpoch(v int32) { panic("contract") } // outside the CRC
func (b Batch) CheckCRC() error        { panic("contract") } // CORRUPT_MESSAGE
// Records decompresses when needed and yields each record; a malformed one yields an error and ends.
func (b Batch) Records() iter.Seq2[Record, error] { panic("contract") }

// Record is one record. Key and Value alias the batch (or its decompressed body); nil means null.
type Record struct {
	Offset    int64
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []Header
}

type Header struct {
	Key   string
	Value []byte
}

// Next cuts the first whole batch off b, checking only sizes and magic.
// A partial tail gives ErrPartial; a size below the minimum or an unknown magic CORRUPT_MESSAGE.
// Length bounds are checked before anything is allocated.
func Next(b []byte) (first Batch, rest []byte, err error) { panic("contract") }

// Batches yields each whole batch of b, ending silently at a partial tail, with an error at a corrupt one.
func Batches(b []byte) iter.Seq2[Batch, error] { panic("contract") }

// ErrPartial: the bytes end inside a batch.
var ErrPartial error

// TimestampType is a topic's message.timestamp.type.
type TimestampType int8

const (
	CreateTime    TimestampType = 0
	LogAppendTime TimestampType = 1
)

// Rules are a topic's rules for produced batches (facts/broker.md 1.6).
type Rules struct {
	Now                int64 // epoch ms
	TimestampType      TimestampType
	MaxTimestampDiffMs int64  // message.timestamp.difference.max.ms
	NeedKey            bool   // cleanup.policy holds compact
	Compression        string // topic compression.type: "producer", "uncompressed", "gzip", ...
	MaxMessageBytes    int
	LeaderEpoch        int32
	FromClient         bool // false: coordinator or replication origin
}

// Validated is the outcome of ValidateAndAssign.
type Validated struct {
	Batches              []byte // what to append: the input itself when nothing was rewritten
	FirstOffset          int64
	LastOffset           int64
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64 // Kafka's rule, see corrections.md
	LogAppendTime        int64 // -1 with CreateTime
	Count                int
	Rewritten            bool // recompressed: Batches is new memory
}

// RecordError names one bad record of a batch, for Produce v8+.
type RecordError struct {
	BatchIndex int32
	Message    string
}

// InvalidRecords is the error that lists bad records; it carries INVALID_TIMESTAMP or INVALID_RECORD.
// errors.As finds it; kafkaerr.CodeOf gives its code.
type InvalidRecords struct {
	Errors []RecordError
	// ...
}

// ValidateAndAssign checks produced bytes by every rule of 1.6, gives offsets from
// nextOffset on and stamps the leader epoch, in place where Kafka does.
func ValidateAndAssign(b []byte, nextOffset int64, r Rules) (Validated, error) { panic("contract") }

// Builder writes one magic 2 batch (clients, tests).
type Builder struct{}

func NewBuilder(codec Codec, baseOffset int64) *Builder                         { panic("contract") }
func (w *Builder) Append(timestamp int64, key, value []byte, headers ...Header) { panic("contract") }
func (w *Builder) SetProducer(id int64, epoch int16, baseSequence int32, transactional bool) {
	panic("contract")
}
func (w *Builder) Len() int      { panic("contract") } // bytes if closed now, before compression
func (w *Builder) Count() int    { panic("contract") }
func (w *Builder) Bytes() []byte { panic("contract") } // closes: header, CRC
func (w *Builder) Reset()        { panic("contract") }
