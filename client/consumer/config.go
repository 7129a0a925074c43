package consumer

import (
	"fmt"
	"math"
	"time"

	"kz/client"
	"kz/client/assignor"
)

// Storage is where a group's offsets are kept: offsets.storage of Kafka 0.8.2.
type Storage string

// Dual is what 0.8.2 called offsets.storage=kafka with dual.commit.enabled=true: both
// are written, Kafka first, and the greater of the two is read. It was the first half of
// the way from ZooKeeper to Kafka.
const (
	StoreKafka     Storage = "kafka"
	StoreZooKeeper Storage = "zookeeper"
	StoreDual      Storage = "dual"
)

// Config has Kafka's keys and defaults; the comments name them.
type Config struct {
	Client            client.Config
	MinBytes          int           // fetch.min.bytes, 1
	MaxBytes          int           // fetch.max.bytes, 50 MiB
	PartitionMaxBytes int           // max.partition.fetch.bytes, 1 MiB
	MaxWait           time.Duration // fetch.max.wait.ms, 500 ms
	MaxPollRecords    int           // max.poll.records; 0 = whole answers. Kafka: 500
	CheckCRC          bool          // check.crcs, true
	FromLatest        bool          // auto.offset.reset=latest (Kafka's default); else earliest
	NoReset           bool          // auto.offset.reset=none: Poll fails with ErrNoOffset instead
	CreateTopics      bool          // allow.auto.create.topics, true: of subscribed topics
	InternalTopics    bool          // exclude.internal.topics=false: a pattern may match them

	Group             string              // group.id; "" = no group: assign only, nothing is committed
	InstanceID        string              // group.instance.id; "" = a dynamic member
	Assignors         []assignor.Assignor // partition.assignment.strategy, range
	SessionTimeout    time.Duration       // session.timeout.ms, 10 s: silent for longer = dead
	HeartbeatInterval time.Duration       // heartbeat.interval.ms, 3 s; a third of the above at most
	MaxPollInterval   time.Duration       // max.poll.interval.ms, 5 min between two Polls; also how long a rebalance waits for us
	AutoCommit        bool                // enable.auto.commit, true where there is a group
	AutoCommitEvery   time.Duration       // auto.commit.interval.ms, 5 s
	Storage           Storage             // offsets.storage, kafka
}

// DefaultConfig has Kafka 2.8's defaults, except that a consumer starts at the earliest
// offset and takes whole answers unless told otherwise.
func DefaultConfig(c client.Config) Config {
	return Config{
		Client: c, MinBytes: 1, MaxBytes: 50 << 20, PartitionMaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond, CheckCRC: true, CreateTopics: true,
		Assignors: []assignor.Assignor{assignor.Range}, SessionTimeout: 10 * time.Second, HeartbeatInterval: 3 * time.Second,
		MaxPollInterval: 5 * time.Minute, AutoCommit: true, AutoCommitEvery: 5 * time.Second, Storage: StoreKafka,
	}
}

// FromProperties reads a consumer's properties. unknown are the keys that mean
// nothing to it; the error lists every fault.
func FromProperties(values map[string]string) (cfg Config, unknown []string, err error) {
	p := client.NewProperties(values)
	cfg = DefaultConfig(p.Common())
	cfg.MinBytes = p.Int("fetch.min.bytes", cfg.MinBytes, 0, math.MaxInt32)
	cfg.MaxBytes = p.Int("fetch.max.bytes", cfg.MaxBytes, 0, math.MaxInt32)
	cfg.PartitionMaxBytes = p.Int("max.partition.fetch.bytes", cfg.PartitionMaxBytes, 0, math.MaxInt32)
	cfg.MaxWait = p.Millis("fetch.max.wait.ms", cfg.MaxWait)
	cfg.MaxPollRecords = p.Int("max.poll.records", 500, 1, math.MaxInt32)
	cfg.CheckCRC = p.Bool("check.crcs", true)
	reset := p.OneOf("auto.offset.reset", "latest", "latest", "earliest", "none")
	cfg.FromLatest, cfg.NoReset = reset == "latest", reset == "none"
	cfg.CreateTopics = p.Bool("allow.auto.create.topics", true)
	cfg.InternalTopics = !p.Bool("exclude.internal.topics", true)
	groupProperties(p, &cfg)
	p.Refuse("isolation.level", "read_uncommitted", "kz does not serve transactions yet")
	p.Ignore("key.deserializer", "value.deserializer", "client.rack", "interceptor.classes")
	return cfg, p.Unknown(), p.Err()
}

func groupProperties(p *client.Properties, cfg *Config) {
	cfg.Group = p.String("group.id", "")
	cfg.InstanceID = p.String("group.instance.id", "")
	var err error
	strategy := p.String("partition.assignment.strategy", "range")
	if cfg.Assignors, err = assignor.Parse(strategy); err != nil {
		p.Fault("partition.assignment.strategy", err.Error())
	}
	cfg.SessionTimeout = p.Millis("session.timeout.ms", cfg.SessionTimeout)
	cfg.HeartbeatInterval = p.Millis("heartbeat.interval.ms", cfg.HeartbeatInterval)
	if cfg.HeartbeatInterval >= cfg.SessionTimeout {
		p.Fault("heartbeat.interval.ms", fmt.Sprintf("%v is not lower than session.timeout.ms, %v", cfg.HeartbeatInterval, cfg.SessionTimeout))
	}
	cfg.MaxPollInterval = p.Millis("max.poll.interval.ms", cfg.MaxPollInterval)
	cfg.AutoCommit = p.Bool("enable.auto.commit", cfg.Group != "") // without a group there is nowhere to commit to
	if cfg.AutoCommit && cfg.Group == "" {
		p.Fault("enable.auto.commit", "cannot be true without a group.id")
	}
	cfg.AutoCommitEvery = p.Millis("auto.commit.interval.ms", cfg.AutoCommitEvery)
	cfg.Storage = Storage(p.OneOf("offsets.storage", "kafka", "kafka", "zookeeper", "dual"))
	if p.Bool("dual.commit.enabled", cfg.Storage == StoreDual) && cfg.Storage == StoreKafka {
		cfg.Storage = StoreDual
	}
}

// reset is where a partition starts that has no offset, or a bad one.
func (c *Config) reset() int64 {
	if c.FromLatest {
		return Latest
	}
	return Earliest
}

// cooperative says whether members keep their partitions while they join: only if
// every rule they offer can bear it. Mirrors ConsumerCoordinator's choice of protocol.
func (c *Config) cooperative() bool {
	for _, a := range c.Assignors {
		if !a.Cooperative {
			return false
		}
	}
	return true
}
