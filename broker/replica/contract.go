// Package replica is what a broker does with its replicas: leader, follower, ISR, high watermark, delayed produce and fetch.
package replica

import (
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/metadata"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/zk"
)

// Config is the replication part of server.properties.
type Config struct {
	BrokerID             int32
	LagTimeMax           time.Duration // replica.lag.time.max.ms
	FetchMaxBytes        int           // fetch.max.bytes, caps every fetch
	ProducePurgeInterval int
	FetchPurgeInterval   int
	InterBrokerListener  string
	ISRPropagationCheck  time.Duration // 2500 ms in Kafka
	ISRPropagationQuiet  time.Duration // 5000 ms
	ISRPropagationMax    time.Duration // 60000 ms
}

// Fetchers is what the manager needs of broker/fetcher (which imports this package).
type Fetchers interface {
	// Add starts fetching these partitions; it replaces what was fetched for them before.
	Add(starts map[topic.Partition]FetchStart)
	// Remove stops fetching them; when it returns no append for them is under way or will come.
	Remove(ps []topic.Partition)
	Stop()
}

// FetchStart says from whom to fetch and where truncation begins.
type FetchStart struct {
	LeaderID    int32
	Leader      metadata.Endpoint
	LeaderEpoch int32 // current leader epoch of the partition
	Offset      int64 // high watermark: where to start when the log has no epochs
}

// Deps is handed in once.
type Deps struct {
	Logs      *commitlog.Manager
	Metadata  *metadata.Cache
	Zk        *zk.Client                          // for the leader's own ISR writes
	LogConfig func(topic string) commitlog.Config // topic overrides over broker defaults
	Journal   *journal.Journal
	Log       zerolog.Logger
	// Halt ends the broker: called when the last log dir failed.
	Halt func(reason string)
}

// Manager is Kafka's ReplicaManager.
type Manager struct{}

func NewManager(cfg Config, d Deps) *Manager { panic("contract") }
func (m *Manager) SetFetchers(f Fetchers)    { panic("contract") } // before Start
func (m *Manager) Start()                    { panic("contract") } // isr-expiration, isr propagation
func (m *Manager) Stop()                     { panic("contract") } // fetchers, purgatories (everyone answered), high watermark checkpoint

// ---- what the controller asks for -------------------------------------------------

// LeaderState is one partition of a LeaderAndIsr request.
type LeaderState struct {
	ControllerEpoch  int32
	Leader           int32
	LeaderEpoch      int32
	ISR              []int32
	ZkVersion        int32
	Replicas         []int32
	AddingReplicas   []int32
	RemovingReplicas []int32
	IsNew            bool
}

// BecomeLeaderOrFollower is all of LeaderAndIsr's work; code is the top-level error (STALE_CONTROLLER_EPOCH …). The broker epoch is checked by the caller.
func (m *Manager) BecomeLeaderOrFollower(controllerID, controllerEpoch int32, states map[topic.Partition]LeaderState) (perPartition map[topic.Partition]kafkaerr.Code, code kafkaerr.Code) {
	panic("contract")
}

// StopState is one partition of a StopReplica request. LeaderEpoch -1 unknown, -2 topic being deleted.
type StopState struct {
	LeaderEpoch int32
	Delete      bool
}

func (m *Manager) StopReplicas(controllerID, controllerEpoch int32, states map[topic.Partition]StopState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code) {
	panic("contract")
}

// UpdateMetadata checks the controller epoch and applies the update to the cache.
func (m *Manager) UpdateMetadata(u metadata.Update) (deleted []topic.Partition, code kafkaerr.Code) {
	panic("contract")
}

// ---- what clients ask for ---------------------------------------------------------

// ProduceResult is the answer for one partition.
type ProduceResult struct {
	Code           kafkaerr.Code
	Message        string
	RecordErrors   []record.RecordError
	BaseOffset     int64 // -1 on error
	LogAppendTime  int64
	LogStartOffset int64
}

// AppendRecords appends to local leaders and calls respond exactly once: at once for acks 0 and 1, when the high watermark has passed or time ran out for -1.
// respond may run on any goroutine, with no lock held. Records may be touched until AppendRecords returns, not after.
func (m *Manager) AppendRecords(timeout time.Duration, acks int16, internalTopicsAllowed bool, records map[topic.Partition][]byte, respond func(map[topic.Partition]ProduceResult)) {
	panic("contract")
}

// FetchParams are the request-wide terms of a fetch.
type FetchParams struct {
	ReplicaID     int32 // >= 0 follower, -1 consumer, -2 debug
	MaxWait       time.Duration
	MinBytes      int
	MaxBytes      int
	HardMaxBytes  bool // version <= 2: partition max bytes is hard
	ReadCommitted bool
	ClientRack    string
	ClientHost    string
}

// FetchPartition asks for one partition; order matters, so they come in a slice.
type FetchPartition struct {
	Partition          topic.Partition
	Offset             int64
	LogStartOffset     int64 // of the follower; -1 from consumers
	MaxBytes           int
	CurrentLeaderEpoch int32 // -1 unchecked
	LastFetchedEpoch   int32 // -1 none (v12)
}

// FetchResult is the answer for one partition. Data must be released exactly once.
type FetchResult struct {
	Partition            topic.Partition
	Code                 kafkaerr.Code
	HighWatermark        int64 // -1 on error
	LastStableOffset     int64
	LogStartOffset       int64
	Data                 commitlog.Slice
	DivergingEpoch       int32 // -1 none
	DivergingEndOffset   int64
	PreferredReadReplica int32 // -1 none
}

// Fetch reads and calls respond exactly once, at once or when MinBytes are there or MaxWait is over.
func (m *Manager) Fetch(p FetchParams, parts []FetchPartition, respond func([]FetchResult)) {
	panic("contract")
}

// ListOffset answers one partition of ListOffsets (timestamp -1 latest, -2 earliest). isolation nil = replica or debug client.
type OffsetQuery struct {
	Partition          topic.Partition
	Timestamp          int64
	CurrentLeaderEpoch int32
	ReplicaID          int32
	ReadCommitted      bool
}

func (m *Manager) ListOffset(q OffsetQuery) (commitlog.TimestampOffset, error) { panic("contract") }

// EpochEnd answers OffsetForLeaderEpoch: (-1,-1) when unknown.
func (m *Manager) EpochEnd(p topic.Partition, currentLeaderEpoch, epoch int32) (largest int32, end int64, code kafkaerr.Code) {
	panic("contract")
}

// ---- what the fetcher needs -------------------------------------------------------

// FollowerAppend appends what the leader sent and moves the follower's high watermark and log start. It fails with NOT_LEADER_OR_FOLLOWER when this
// broker no longer follows p at leaderEpoch.
func (m *Manager) FollowerAppend(p topic.Partition, leaderEpoch int32, records []byte, leaderHW, leaderLogStart int64) (commitlog.AppendInfo, error) {
	panic("contract")
}

// FollowerLog gives the local log of a followed partition for truncation decisions.
func (m *Manager) FollowerLog(p topic.Partition) (*commitlog.Log, error) { panic("contract") }

// FollowerTruncate truncates and journals; FollowerTruncateFully starts over at offset.
func (m *Manager) FollowerTruncate(p topic.Partition, offset int64) error      { panic("contract") }
func (m *Manager) FollowerTruncateFully(p topic.Partition, offset int64) error { panic("contract") }

// ---- looking ----------------------------------------------------------------------

// Status is one local replica, for tests and `kz replicas`.
type Status struct {
	Partition     topic.Partition
	IsLeader      bool
	Leader        int32
	LeaderEpoch   int32
	ISR           []int32
	LogStart      int64
	HighWatermark int64
	LogEnd        int64
}

func (m *Manager) Status() []Status { panic("contract") }

// ControllerEpoch is the highest seen.
func (m *Manager) ControllerEpoch() int32 { panic("contract") }

// LogDirFailure is called by commitlog's listener; exported for the broker to wire.
func (m *Manager) LogDirFailure(dir string, logs []topic.Partition) { panic("contract") }

// UpdateTopicConfig applies a changed topic config to the logs of the topic.
func (m *Manager) UpdateTopicConfig(topic string, c commitlog.Config) { panic("contract") }
