package commitlog

import (
	"math"

	"kz/internal/record"
)

// Config is one log's settings: the topic's own over the broker's. Mirrors
// kafka.log.LogConfig. Times are in ms as Kafka has them; -1 means no limit where
// Kafka allows that.
type Config struct {
	SegmentBytes      int   // segment.bytes: a segment is rolled before it would grow beyond
	SegmentMs         int64 // segment.ms: or when it has been active for so long
	SegmentJitterMs   int64 // segment.jitter.ms: less a random part of this, drawn per segment
	SegmentIndexBytes int   // segment.index.bytes: or when an index is full
	FlushMessages     int64 // flush.messages: fsync after so many records; the default never does
	FlushMs           int64 // flush.ms: fsync records this old; the default never does
	RetentionBytes    int64 // retention.bytes: -1 no limit
	RetentionMs       int64 // retention.ms: -1 no limit
	MaxMessageBytes   int   // max.message.bytes: of one batch
	// IndexIntervalBytes (index.interval.bytes) is how many bytes go by between two
	// index entries.
	IndexIntervalBytes int
	FileDeleteDelayMs  int64 // file.delete.delay.ms: between .deleted and gone

	// The five that compaction goes by. Logs are not compacted yet: of a log with
	// cleanup.policy=compact only what lies below the log start is deleted.
	DeleteRetentionMs  int64
	MinCompactionLagMs int64
	MaxCompactionLagMs int64 // also bounds SegmentMs, see rollMs
	MinCleanableRatio  float64
	Compact            bool // cleanup.policy holds compact
	Delete             bool // cleanup.policy holds delete

	UncleanLeaderElection bool
	MinInsyncReplicas     int
	CompressionType       string // producer, uncompressed, gzip, snappy, lz4, zstd
	Preallocate           bool   // preallocate: size a new segment's file in advance
	MessageFormatVersion  string
	TimestampType         record.TimestampType
	TimestampDiffMaxMs    int64
	DownconversionEnable  bool
}

// DefaultConfig is what Kafka 2.8 gives a topic when nothing is set anywhere.
func DefaultConfig() Config {
	const day = 24 * 60 * 60 * 1000
	return Config{
		SegmentBytes:         1 << 30,
		SegmentMs:            7 * day,
		SegmentIndexBytes:    10 << 20,
		FlushMessages:        math.MaxInt64,
		FlushMs:              math.MaxInt64,
		RetentionBytes:       -1,
		RetentionMs:          7 * day,
		MaxMessageBytes:      1<<20 + 12,
		IndexIntervalBytes:   4096,
		FileDeleteDelayMs:    60_000,
		DeleteRetentionMs:    day,
		MaxCompactionLagMs:   math.MaxInt64,
		MinCleanableRatio:    0.5,
		Delete:               true,
		MinInsyncReplicas:    1,
		CompressionType:      "producer",
		MessageFormatVersion: "2.6-IV0",
		TimestampDiffMaxMs:   math.MaxInt64,
		DownconversionEnable: true,
	}
}

// rollMs is the time after which a segment rolls: on a compacted topic no later
// than compaction must be able to see its records.
func (c Config) rollMs() int64 {
	if c.Compact {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}
