// Package commitlog is a broker's storage: segments, indexes, epochs, checkpoints, recovery.
package commitlog

import (
	"os"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/record"
	"kz/internal/topic"
)

// Config is one log's settings. Mirrors kafka.log.LogConfig. Times in ms as Kafka has them; -1 = no limit where Kafka allows it.
type Config struct {
	SegmentBytes          int
	SegmentMs             int64
	SegmentJitterMs       int64
	SegmentIndexBytes     int
	FlushMessages         int64
	FlushMs               int64
	RetentionBytes        int64
	RetentionMs           int64
	MaxMessageBytes       int
	IndexIntervalBytes    int
	FileDeleteDelayMs     int64
	DeleteRetentionMs     int64
	MinCompactionLagMs    int64
	MaxCompactionLagMs    int64
	MinCleanableRatio     float64
	Compact               bool // cleanup.policy
	Delete                bool
	UncleanLeaderElection bool
	MinInsyncReplicas     int
	CompressionType       string // producer, uncompressed, gzip, snappy, lz4, zstd
	Preallocate           bool
	MessageFormatVersion  string
	TimestampType         record.TimestampType
	TimestampDiffMaxMs    int64
	DownconversionEnable  bool
}

// DefaultConfig is Kafka 2.8's.
func DefaultConfig() Config { panic("contract") }

// OffsetMetadata is an offset and where it lies. Position facts are -1 when only the offset is known. Mirrors LogOffsetMetadata.
type OffsetMetadata struct {
	Offset      int64
	SegmentBase int64
	Position    int // bytes from the start of the segment
}

// Origin says who appends.
type Origin int8

const (
	FromClient Origin = iota
	FromCoordinator
)

// AppendInfo is the outcome of an append. Mirrors LogAppendInfo.
type AppendInfo struct {
	FirstOffset          int64 // -1 when nothing was appended
	LastOffset           int64
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64
	LogAppendTime        int64 // -1 with CreateTime
	LogStartOffset       int64
	Bytes                int
	Count                int
}

// Slice is a range of one segment's file, for sendfile or ReadAt. It holds a reference to the segment: call Release exactly
// once. A zero Slice is empty and needs no release.
type Slice struct {
	File   *os.File
	Offset int64
	Length int64
}

func (s Slice) Len() int64               { return s.Length }
func (s Slice) Release()                 { panic("contract") }
func (s Slice) ReadAll() ([]byte, error) { panic("contract") } // a copy, for callers that need bytes

// ReadInfo is what Read found. Mirrors FetchDataInfo.
type ReadInfo struct {
	Start                OffsetMetadata // where the data starts
	Data                 Slice
	FirstEntryIncomplete bool
}

// TimestampOffset is the answer to a lookup by time.
type TimestampOffset struct {
	Timestamp   int64
	Offset      int64
	LeaderEpoch int32 // -1 unknown
}

// Log is one partition's log on one directory. Mirrors kafka.log.Log. All methods are safe for concurrent use.
//
// The four marks (facts: style.md rule 4): logStart <= lastStable <= highWatermark <= logEnd.
type Log struct{}

func (l *Log) Partition() topic.Partition { panic("contract") }
func (l *Log) Dir() string                { panic("contract") } // the log.dirs entry it lives in
func (l *Log) Config() Config             { panic("contract") }
func (l *Log) SetConfig(c Config)         { panic("contract") }
func (l *Log) Size() int64                { panic("contract") }

func (l *Log) StartOffset() int64                    { panic("contract") }
func (l *Log) EndOffset() int64                      { panic("contract") }
func (l *Log) End() OffsetMetadata                   { panic("contract") }
func (l *Log) HighWatermark() int64                  { panic("contract") }
func (l *Log) HighWatermarkMetadata() OffsetMetadata { panic("contract") }
func (l *Log) LastStableOffset() int64               { panic("contract") } // = high watermark until transactions exist
func (l *Log) RecoveryPoint() int64                  { panic("contract") }
func (l *Log) FlushedOffset() int64                  { panic("contract") } // fsynced up to here (exclusive)

// SetHighWatermark clamps to [start, end] and stores; MaybeIncrement never moves back and reports the old value.
func (l *Log) SetHighWatermark(offset int64) int64 { panic("contract") }
func (l *Log) MaybeIncrementHighWatermark(m OffsetMetadata) (old OffsetMetadata, moved bool) {
	panic("contract")
}

// AppendAsLeader validates, gives offsets, stamps epochs (in records itself, which must not be touched until it returns), rolls if
// needed, writes once. Errors carry Kafka's code. An I/O error takes the directory offline: KAFKA_STORAGE_ERROR.
func (l *Log) AppendAsLeader(records []byte, leaderEpoch int32, origin Origin) (AppendInfo, error) {
	panic("contract")
}

// AppendAsFollower appends what the leader sent, offsets and epochs included; requires first offset >= log end, monotonic; checks CRC.
func (l *Log) AppendAsFollower(records []byte) (AppendInfo, error) { panic("contract") }

// Read returns data from the start of the batch holding offset, up to maxBytes, below bound (exclusive; facts 2.6). minOneMessage: the first batch
// comes whole even if larger than maxBytes. OFFSET_OUT_OF_RANGE outside [start, end]. offset == end or >= bound: empty.
func (l *Log) Read(offset int64, maxBytes int, bound OffsetMetadata, minOneMessage bool) (ReadInfo, error) {
	panic("contract")
}

// OffsetMetadata resolves an offset to its place, or OFFSET_OUT_OF_RANGE.
func (l *Log) OffsetMetadata(offset int64) (OffsetMetadata, error) { panic("contract") }

// OffsetByTimestamp: the first record with timestamp >= ts; found=false when none. -1/-2 are handled by the caller.
func (l *Log) OffsetByTimestamp(ts int64) (t TimestampOffset, found bool, err error) {
	panic("contract")
}

// Leader epochs (leader-epoch-checkpoint).
func (l *Log) LatestEpoch() (epoch int32, ok bool)                               { panic("contract") }
func (l *Log) EpochStart(epoch int32) (start int64, ok bool)                     { panic("contract") } // entry of exactly this epoch
func (l *Log) EndOffsetForEpoch(epoch int32) (largest int32, end int64, ok bool) { panic("contract") } // facts 3.3
func (l *Log) AssignEpoch(epoch int32, start int64) error                        { panic("contract") } // become leader

func (l *Log) TruncateTo(offset int64) (truncated bool, err error) { panic("contract") }
func (l *Log) TruncateFullyAndStartAt(offset int64) error          { panic("contract") }
func (l *Log) MaybeIncrementStartOffset(offset int64) error        { panic("contract") }
func (l *Log) Flush() error                                        { panic("contract") }
func (l *Log) DeleteOldSegments() (int, error)                     { panic("contract") } // retention by time, size, log start
func (l *Log) DeleteHorizonFloor() int64                           { panic("contract") } // first segment's base

// ManagerConfig is the storage's part of server.properties.
type ManagerConfig struct {
	Dirs                    []string
	Defaults                Config
	RecoveryThreadsPerDir   int
	RetentionCheckInterval  time.Duration
	FlushCheckInterval      time.Duration // log.flush.scheduler.interval.ms
	RecoveryPointCheckpoint time.Duration
	StartOffsetCheckpoint   time.Duration
	InitialTaskDelay        time.Duration // 30 s in Kafka
	HighWatermarkCheckpoint time.Duration // replica.high.watermark.checkpoint.interval.ms
}

// MetaProperties is meta.properties.
type MetaProperties struct {
	Version   int
	BrokerID  int32 // -1 absent
	ClusterID string
}

// Manager holds every log of a broker. Mirrors kafka.log.LogManager, and ReplicaManager's high watermark checkpoints.
type Manager struct{}

// NewManager checks and locks the directories. A directory that cannot be used is offline from the start; none left is an error.
func NewManager(cfg ManagerConfig, j *journal.Journal, log zerolog.Logger) (*Manager, error) {
	panic("contract")
}

// MetaProperties reads meta.properties of every live directory; contents that differ are an error; nil when no directory has one.
func (m *Manager) MetaProperties() (*MetaProperties, error)   { panic("contract") }
func (m *Manager) WriteMetaProperties(p MetaProperties) error { panic("contract") }

// Load recovers all logs on all cores. overrides gives the topic's full Config (false: defaults).
func (m *Manager) Load(overrides func(topic string) (Config, bool)) error { panic("contract") }

// Start runs retention, flush and checkpoint tasks until Stop. Stop flushes, checkpoints, writes the clean-shutdown marker, unlocks.
func (m *Manager) Start() { panic("contract") }
func (m *Manager) Stop()  { panic("contract") }

func (m *Manager) Get(p topic.Partition) (*Log, bool) { panic("contract") }
func (m *Manager) All() []*Log                        { panic("contract") }

// GetOrCreate opens or makes the log in the live dir with the fewest logs. With isNew=false and an offline dir that may hold it: KAFKA_STORAGE_ERROR
// (Kafka: a partition is not recreated while a directory is offline unless it is new).
func (m *Manager) GetOrCreate(p topic.Partition, cfg Config, isNew bool) (*Log, error) {
	panic("contract")
}

// Delete renames the directory to …-delete and unlinks it after file.delete.delay.ms.
func (m *Manager) Delete(p topic.Partition) error { panic("contract") }

// CheckpointedHighWatermark is what replication-offset-checkpoint said at start (0 when absent).
func (m *Manager) CheckpointedHighWatermark(p topic.Partition) int64 { panic("contract") }

// CheckpointHighWatermarks writes replication-offset-checkpoint in every live dir, from the logs' marks.
func (m *Manager) CheckpointHighWatermarks() { panic("contract") }

func (m *Manager) LiveDirs() []string    { panic("contract") }
func (m *Manager) OfflineDirs() []string { panic("contract") }

// OnDirFailure registers the one listener: called once per failed directory, on a goroutine of its own, with the partitions whose logs were there
// (already removed from Get/All).
func (m *Manager) OnDirFailure(f func(dir string, logs []topic.Partition)) { panic("contract") }

// FailDir takes a directory offline (also called internally on I/O errors).
func (m *Manager) FailDir(dir string, cause error) { panic("contract") }

// SetDefaults changes the defaults of logs without overrides (dynamic broker config).
func (m *Manager) SetDefaults(c Config) { panic("contract") }
