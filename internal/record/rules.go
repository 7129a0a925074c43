package record

import (
	"fmt"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// TimestampType is a topic's message.timestamp.type.
type TimestampType int8

const (
	CreateTime    TimestampType = 0 // records keep the producer's time
	LogAppendTime TimestampType = 1 // all records of a batch get the time of the append
)

// Rules are a topic's rules for produced batches.
type Rules struct {
	Now                int64 // epoch ms
	TimestampType      TimestampType
	MaxTimestampDiffMs int64  // message.timestamp.difference.max.ms
	NeedKey            bool   // cleanup.policy holds compact
	Compression        string // topic compression.type: "producer", "uncompressed", "gzip", ...
	MaxMessageBytes    int    // max.message.bytes, of a whole batch; 0: no limit
	LeaderEpoch        int32
	FromClient         bool            // false: coordinator or replication origin
	Partition          topic.Partition // for the messages that clients show
}

// Validated is the outcome of ValidateAndAssign.
type Validated struct {
	Batches              []byte // what to append: the input itself when nothing was rewritten
	FirstOffset          int64
	LastOffset           int64
	MaxTimestamp         int64 // NoTimestamp if no record has one
	OffsetOfMaxTimestamp int64 // of the record itself, if taken as it is and not compressed; else the last
	LogAppendTime        int64 // -1 with CreateTime
	Count                int
	Rewritten            bool // recompressed: Batches is new memory
}

// RecordError names one bad record of a batch, for Produce v8+.
type RecordError struct {
	BatchIndex int32 // its place in the batch, from 0
	Message    string
}

// maxRecordErrors bounds the list: every offender of a batch of any usual size (a
// librdkafka batch holds 10,000 records at most), not of one made to fill our memory.
const maxRecordErrors = 10000

// InvalidRecords is the error that lists bad records; it carries INVALID_TIMESTAMP or
// INVALID_RECORD. errors.As finds it; kafkaerr.CodeOf gives its code and
// kafkaerr.MessageOf the message for the client.
//
// Mirrors RecordValidationException.
type InvalidRecords struct {
	Errors []RecordError // in the order of the records
	code   kafkaerr.Code
}

func (e *InvalidRecords) Error() string {
	s := e.Unwrap().Error()
	for _, r := range e.Errors[:min(3, len(e.Errors))] {
		s += fmt.Sprintf("; record %d: %s", r.BatchIndex, r.Message)
	}
	return s
}

// Unwrap gives the code and the message that stands for all of them.
func (e *InvalidRecords) Unwrap() error {
	if e.code == kafkaerr.InvalidTimestamp {
		return kafkaerr.New(e.code, "One or more records have been rejected due to invalid timestamp")
	}
	return kafkaerr.New(e.code, "One or more records have been rejected")
}

// add lists one offender. One bad timestamp makes it INVALID_TIMESTAMP for the batch.
func (e *InvalidRecords) add(code kafkaerr.Code, index int32, message string) {
	if e.code != kafkaerr.InvalidTimestamp {
		e.code = code
	}
	if len(e.Errors) < maxRecordErrors {
		e.Errors = append(e.Errors, RecordError{index, message})
	}
}

// checkRecord applies the rules for one record: nothing, or one fault of it is listed.
//
// Mirrors LogValidator.validateRecord.
func (r *Rules) checkRecord(b Batch, index int32, f *fields, timestamp int64, partial bool, bad **InvalidRecords) {
	switch {
	case r.NeedKey && f.keyLen < 0:
		listed(bad).add(kafkaerr.InvalidRecord, index,
			fmt.Sprintf("Compacted topic cannot accept message without key in topic partition %s.", r.Partition))
	case r.TimestampType == CreateTime && timestamp != NoTimestamp && distance(timestamp, r.Now) > r.MaxTimestampDiffMs:
		listed(bad).add(kafkaerr.InvalidTimestamp, index,
			fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				timestamp, b.BaseOffset()+int64(f.offsetDelta), r.Now-r.MaxTimestampDiffMs, r.Now+r.MaxTimestampDiffMs))
	case b.IsLogAppendTime():
		listed(bad).add(kafkaerr.InvalidTimestamp, index,
			fmt.Sprintf("Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime.",
				f.describe(b.BaseOffset(), timestamp, partial)))
	}
}

func listed(bad **InvalidRecords) *InvalidRecords {
	if *bad == nil {
		*bad = new(InvalidRecords)
	}
	return *bad
}

// distance wraps around at the end of int64, as Kafka's does.
func distance(a, b int64) int64 {
	d := a - b
	if d < 0 {
		return -d
	}
	return d
}

// describe shows a record as Java's toString does, since clients print it. Kafka has
// a second class for records whose bytes it skipped, and there null has -1 bytes.
func (f *fields) describe(baseOffset, timestamp int64, partial bool) string {
	name, key, value := "DefaultRecord", max(f.keyLen, 0), max(f.valueLen, 0)
	if partial {
		name, key, value = "PartialDefaultRecord", f.keyLen, f.valueLen
	}
	return fmt.Sprintf("%s(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)",
		name, baseOffset+int64(f.offsetDelta), timestamp, key, value)
}
