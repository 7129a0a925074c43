package consumer

import (
	"math"
	"time"

	"kz/client"
)

// Config has Kafka's keys and defaults; the comments name them.
type Config struct {
	Client            client.Config
	MinBytes          int           // fetch.min.bytes, 1
	MaxBytes          int           // fetch.max.bytes, 50 MiB
	PartitionMaxBytes int           // max.partition.fetch.bytes, 1 MiB
	MaxWait           time.Duration // fetch.max.wait.ms, 500 ms
	CheckCRC          bool          // check.crcs, true
	FromLatest        bool          // auto.offset.reset=latest (Kafka's default); else earliest
}

// DefaultConfig has Kafka 2.8's defaults, except that a consumer without groups starts
// at the earliest offset unless told otherwise.
func DefaultConfig(c client.Config) Config {
	return Config{Client: c, MinBytes: 1, MaxBytes: 50 << 20, PartitionMaxBytes: 1 << 20, MaxWait: 500 * time.Millisecond, CheckCRC: true}
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
	cfg.CheckCRC = p.OneOf("check.crcs", "true", "true", "false") == "true"
	cfg.FromLatest = p.OneOf("auto.offset.reset", "latest", "latest", "earliest") == "latest"
	p.Refuse("isolation.level", "read_uncommitted", "kz does not serve transactions yet")
	p.Ignore("group.id", "group.instance.id", "key.deserializer", "value.deserializer", "enable.auto.commit", "auto.commit.interval.ms",
		"session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records", "partition.assignment.strategy",
		"allow.auto.create.topics", "exclude.internal.topics", "client.rack", "interceptor.classes")
	return cfg, p.Unknown(), p.Err()
}
