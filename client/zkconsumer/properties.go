package zkconsumer

import (
	"math"

	"kz/client"
	"kz/client/consumer"
	"kz/internal/zk"
)

// FromProperties reads the properties of a consumer of 0.8.2, with its defaults. unknown
// are the keys that mean nothing here; err names every value that cannot be used.
// What to read (Topics, WhiteList, BlackList) is not among them.
// Mirrors kafka.consumer.ConsumerConfig.
func FromProperties(values map[string]string) (cfg Config, unknown []string, err error) {
	p := client.NewProperties(values)
	var z zk.Config
	connect := p.String("zookeeper.connect", "")
	if z.Servers, z.Chroot, err = zk.ParseConnect(connect); err != nil {
		p.Fault("zookeeper.connect", err.Error())
	}
	z.ExistingChroot = true // whoever reads a cluster does not make one
	common := client.DefaultConfig()
	cfg = DefaultConfig(z, common, p.String("group.id", ""))
	cfg.ZooKeeper.SessionTimeout = p.Millis("zookeeper.session.timeout.ms", cfg.ZooKeeper.SessionTimeout)
	cfg.ZooKeeper.ConnectionTimeout = p.Millis("zookeeper.connection.timeout.ms", cfg.ZooKeeper.SessionTimeout)
	cfg.Client.ClientID = p.String("client.id", cfg.Group)
	cfg.Client.RequestTimeout = p.Millis("socket.timeout.ms", cfg.Client.RequestTimeout)
	cfg.ID = p.String("consumer.id", "")
	cfg.Smallest = p.OneOf("auto.offset.reset", "largest", "largest", "smallest") == "smallest"
	cfg.InternalTopics = !p.Bool("exclude.internal.topics", true)
	cfg.AutoCommit = p.Bool("auto.commit.enable", true)
	cfg.AutoCommitEvery = p.Millis("auto.commit.interval.ms", cfg.AutoCommitEvery)
	if cfg.AutoCommitEvery <= 0 {
		p.Fault("auto.commit.interval.ms", "must be at least 1")
	}
	cfg.RebalanceRetries = p.Int("rebalance.max.retries", cfg.RebalanceRetries, 1, math.MaxInt32)
	cfg.RebalanceBackoff = p.Millis("rebalance.backoff.ms", p.Millis("zookeeper.sync.time.ms", cfg.RebalanceBackoff))
	if p.OneOf("offsets.storage", "zookeeper", "zookeeper", "kafka") == "kafka" {
		cfg.Storage = consumer.StoreKafka
		if p.Bool("dual.commit.enabled", true) {
			cfg.Storage = consumer.StoreDual
		}
	}
	if s := p.OneOf("partition.assignment.strategy", "range", "range", "roundrobin"); s != "range" {
		p.Fault("partition.assignment.strategy", "kz's old consumer has the rule range only")
	}
	p.Ignore("dual.commit.enabled") // without offsets.storage=kafka it means nothing
	return cfg, p.Unknown(), p.Err()
}
