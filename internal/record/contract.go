package record

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
