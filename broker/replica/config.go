package replica

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/metadata"
	"kz/internal/journal"
	"kz/internal/topic"
	"kz/internal/zk"
)

// Config is the replication part of server.properties.
type Config struct {
	BrokerID             int32
	LagTimeMax           time.Duration // replica.lag.time.max.ms (30 s): a follower that has not caught up for longer leaves the ISR
	FetchMaxBytes        int           // fetch.max.bytes (57671680), caps every fetch, a follower's too
	ProducePurgeInterval int           // producer.purgatory.purge.interval.requests (1000)
	FetchPurgeInterval   int           // fetch.purgatory.purge.interval.requests (1000)
	InterBrokerListener  string        // inter.broker.listener.name: where a follower finds its leader
	ISRPropagationCheck  time.Duration // 2500 ms in Kafka: how often changed ISRs are looked for
	ISRPropagationQuiet  time.Duration // 5000 ms: told when nothing changed for so long …
	ISRPropagationMax    time.Duration // 60000 ms: … or nothing was told for so long
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

// ZooKeeper is what the manager needs of *zk.Client: pipelined batches for the
// leader's own ISR writes, and the two sequential notifications.
type ZooKeeper interface {
	Do(ctx context.Context, ops ...zk.Op) []zk.Result
	CreateSequential(ctx context.Context, prefix string, data []byte) (string, error)
}

// Deps is handed in once.
type Deps struct {
	Logs      *commitlog.Manager
	Metadata  *metadata.Cache
	Zk        ZooKeeper                           // for the leader's own ISR writes; *zk.Client
	LogConfig func(topic string) commitlog.Config // topic overrides over broker defaults
	Journal   *journal.Journal
	Log       zerolog.Logger
	// Halt ends the broker: called when the last log dir failed.
	Halt func(reason string)
}
