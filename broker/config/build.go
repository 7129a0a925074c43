package config

import (
	"math"
	"strings"
	"time"

	"kz/broker/commitlog"
	"kz/broker/fetcher"
	"kz/broker/group"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/controller"
	"kz/internal/record"
	"kz/internal/zk"
)

// Fixed in Kafka's code, not to be set.
const (
	isrPropagationCheck = 2500 * time.Millisecond
	isrPropagationQuiet = 5 * time.Second
	isrPropagationMax   = time.Minute
	initialTaskDelay    = 30 * time.Second
)

// millis is a duration from milliseconds, as long as fits.
func millis(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

func (v values) msInt(key string) time.Duration  { return millis(int64(v.int32(key))) }
func (v values) msLong(key string) time.Duration { return millis(v.long(key)) }

// build derives the Config from the values and checks what keys demand of each other.
func (p *parser) build() *Config {
	v := p.values
	p.checkTogether()
	c := &Config{
		BrokerID:                 v.int32("broker.id"),
		BrokerIDGenerationEnable: v.bool("broker.id.generation.enable"),
		ReservedBrokerMaxID:      v.int32("reserved.broker.max.id"),
		Rack:                     v.str("broker.rack"),

		NumIoThreads:      v.int("num.io.threads"),
		RequestTimeout:    v.msInt("request.timeout.ms"),
		FetchMaxBytes:     v.int("fetch.max.bytes"),
		FetchSessionSlots: v.int("max.incremental.fetch.session.cache.slots"),

		LogDefaults: logDefaults(v),

		NumPartitions:            v.int32("num.partitions"),
		DefaultReplicationFactor: int16(v.int32("default.replication.factor")),
		AutoCreateTopics:         v.bool("auto.create.topics.enable"),
		DeleteTopicEnable:        v.bool("delete.topic.enable"),

		OffsetsTopic: InternalTopic{Partitions: v.int32("offsets.topic.num.partitions"),
			ReplicationFactor: v.short("offsets.topic.replication.factor"), SegmentBytes: v.int("offsets.topic.segment.bytes")},
		TransactionTopic: InternalTopic{Partitions: v.int32("transaction.state.log.num.partitions"),
			ReplicationFactor: v.short("transaction.state.log.replication.factor"), SegmentBytes: v.int("transaction.state.log.segment.bytes"),
			MinInsyncReplicas: v.int("transaction.state.log.min.isr")},

		DualCommit: v.bool("kz.offsets.dual.commit"),

		ControlledShutdownEnable:       v.bool("controlled.shutdown.enable"),
		ControlledShutdownMaxRetries:   v.int("controlled.shutdown.max.retries"),
		ControlledShutdownRetryBackoff: v.msLong("controlled.shutdown.retry.backoff.ms"),

		values: v,
	}
	p.listeners(c)
	c.Zk = p.zookeeper()
	c.Network = p.network(c)
	c.Logs = p.logs(c)
	c.Replica = replica.Config{
		LagTimeMax:           v.msLong("replica.lag.time.max.ms"),
		FetchMaxBytes:        c.FetchMaxBytes,
		ProducePurgeInterval: v.int("producer.purgatory.purge.interval.requests"),
		FetchPurgeInterval:   v.int("fetch.purgatory.purge.interval.requests"),
		InterBrokerListener:  c.InterBrokerListener,
		ISRPropagationCheck:  isrPropagationCheck,
		ISRPropagationQuiet:  isrPropagationQuiet,
		ISRPropagationMax:    isrPropagationMax,
	}
	c.Fetcher = fetcher.Config{
		NumFetchers:      v.int("num.replica.fetchers"),
		WaitMax:          v.msInt("replica.fetch.wait.max.ms"),
		MinBytes:         v.int("replica.fetch.min.bytes"),
		MaxBytes:         v.int("replica.fetch.max.bytes"),
		ResponseMaxBytes: v.int("replica.fetch.response.max.bytes"),
		Backoff:          v.msInt("replica.fetch.backoff.ms"),
		SocketTimeout:    v.msInt("replica.socket.timeout.ms"),
	}
	c.Controller = controller.Config{
		InterBrokerListener:    c.InterBrokerListener,
		SocketTimeout:          v.msInt("controller.socket.timeout.ms"),
		RequestTimeout:         c.RequestTimeout,
		AutoRebalance:          v.bool("auto.leader.rebalance.enable"),
		ImbalanceCheckInterval: time.Duration(min(v.long("leader.imbalance.check.interval.seconds"), math.MaxInt64/int64(time.Second))) * time.Second,
		ImbalancePercentage:    v.int("leader.imbalance.per.broker.percentage"),
		UncleanElection:        v.bool("unclean.leader.election.enable"),
		DeleteTopicEnable:      c.DeleteTopicEnable,
	}
	c.Group = p.group()
	c.SetBrokerID(c.BrokerID)
	return c
}

func (p *parser) group() group.Config {
	v := p.values
	return group.Config{
		MinSessionTimeout:     v.msInt("group.min.session.timeout.ms"),
		MaxSessionTimeout:     v.msInt("group.max.session.timeout.ms"),
		InitialRebalanceDelay: v.msInt("group.initial.rebalance.delay.ms"),
		MaxSize:               v.int("group.max.size"),
		MaxMetadataSize:       v.int("offset.metadata.max.bytes"),
		Retention:             time.Duration(v.int("offsets.retention.minutes")) * time.Minute,
		RetentionCheck:        v.msLong("offsets.retention.check.interval.ms"),
		Partitions:            v.int32("offsets.topic.num.partitions"),
		CommitTimeout:         v.msInt("offsets.commit.timeout.ms"),
		CommitAcks:            v.short("offsets.commit.required.acks"),
		LoadBufferSize:        v.int("offsets.load.buffer.size"),
		CompressionCodec:      int8(v.int("offsets.topic.compression.codec")),
	}
}

func (p *parser) zookeeper() zk.Config {
	v := p.values
	c := zk.Config{
		SessionTimeout:    v.msInt("zookeeper.session.timeout.ms"),
		ConnectionTimeout: v.msInt("zookeeper.session.timeout.ms"),
		MaxInFlight:       v.int("zookeeper.max.in.flight.requests"),
	}
	if v.has("zookeeper.connection.timeout.ms") {
		c.ConnectionTimeout = v.msInt("zookeeper.connection.timeout.ms")
	}
	connect := v.str("zookeeper.connect")
	if connect == "" {
		p.fault("zookeeper.connect", "missing, and it has no default (host:port,host:port[/chroot])")
		return c
	}
	var err error
	if c.Servers, c.Chroot, err = zk.ParseConnect(connect); err != nil {
		p.fault("zookeeper.connect", "%q: %v (allowed: host:port,host:port[/chroot])", connect, err)
	}
	return c
}

func (p *parser) network(c *Config) network.Config {
	v := p.values
	n := network.Config{
		QueuedMaxRequests:   v.int("queued.max.requests"),
		MaxRequestBytes:     v.int32("socket.request.max.bytes"),
		SendBufferBytes:     v.int("socket.send.buffer.bytes"),
		ReceiveBufferBytes:  v.int("socket.receive.buffer.bytes"),
		ConnectionsMaxIdle:  v.msLong("connections.max.idle.ms"),
		MaxConnections:      v.int("max.connections"),
		MaxConnectionsPerIP: v.int("max.connections.per.ip"),

		MaxConnectionsPerIPOverrides: p.perIPOverrides(),
		MaxConnectionCreationRate:    v.int("max.connection.creation.rate"),
		InterBrokerListener:          c.InterBrokerListener,
	}
	for _, l := range c.Listeners {
		n.Listeners = append(n.Listeners, network.Endpoint{Listener: l.Name, Host: l.Host, Port: l.Port})
	}
	return n
}

func (p *parser) logs(c *Config) commitlog.ManagerConfig {
	v := p.values
	m := commitlog.ManagerConfig{
		Defaults:                c.LogDefaults,
		RecoveryThreadsPerDir:   v.int("num.recovery.threads.per.data.dir"),
		RetentionCheckInterval:  v.msLong("log.retention.check.interval.ms"),
		FlushCheckInterval:      v.msLong("log.flush.scheduler.interval.ms"),
		RecoveryPointCheckpoint: v.msInt("log.flush.offset.checkpoint.interval.ms"),
		StartOffsetCheckpoint:   v.msInt("log.flush.start.offset.checkpoint.interval.ms"),
		InitialTaskDelay:        initialTaskDelay,
		HighWatermarkCheckpoint: v.msLong("replica.high.watermark.checkpoint.interval.ms"),
	}
	dirs := v.str("log.dir")
	key := "log.dir"
	if v.has("log.dirs") {
		dirs, key = v.str("log.dirs"), "log.dirs"
	}
	seen := map[string]bool{}
	for _, d := range splitList(strings.TrimSpace(dirs)) {
		if d == "" {
			continue
		}
		if seen[d] {
			p.fault(key, "directory %s stands there twice", d)
		}
		seen[d] = true
		m.Dirs = append(m.Dirs, d)
	}
	if len(m.Dirs) == 0 {
		p.fault(key, "at least one directory must be given by log.dirs or log.dir")
	}
	return m
}

// rollMs, rollJitterMs, retentionMs: milliseconds win over minutes, minutes over hours.
func rollMs(v values) int64 {
	if v.has("log.roll.ms") {
		return v.long("log.roll.ms")
	}
	return int64(v.int("log.roll.hours")) * time.Hour.Milliseconds()
}

func rollJitterMs(v values) int64 {
	if v.has("log.roll.jitter.ms") {
		return v.long("log.roll.jitter.ms")
	}
	return int64(v.int("log.roll.jitter.hours")) * time.Hour.Milliseconds()
}

func retentionMs(v values) int64 {
	ms := int64(v.int("log.retention.hours")) * time.Hour.Milliseconds()
	if v.has("log.retention.minutes") {
		ms = int64(v.int("log.retention.minutes")) * time.Minute.Milliseconds()
	}
	if v.has("log.retention.ms") {
		ms = v.long("log.retention.ms")
	}
	return max(ms, -1)
}

func flushMs(v values) int64 {
	if v.has("log.flush.interval.ms") {
		return v.long("log.flush.interval.ms")
	}
	return v.long("log.flush.scheduler.interval.ms")
}

// logDefaults is what a topic without overrides gets. Mirrors LogConfig.extractLogConfigMap.
func logDefaults(v values) commitlog.Config {
	c := commitlog.Config{
		SegmentBytes:          v.int("log.segment.bytes"),
		SegmentMs:             rollMs(v),
		SegmentJitterMs:       rollJitterMs(v),
		SegmentIndexBytes:     v.int("log.index.size.max.bytes"),
		FlushMessages:         v.long("log.flush.interval.messages"),
		FlushMs:               flushMs(v),
		RetentionBytes:        v.long("log.retention.bytes"),
		RetentionMs:           retentionMs(v),
		MaxMessageBytes:       v.int("message.max.bytes"),
		IndexIntervalBytes:    v.int("log.index.interval.bytes"),
		FileDeleteDelayMs:     v.long("log.segment.delete.delay.ms"),
		DeleteRetentionMs:     v.long("log.cleaner.delete.retention.ms"),
		MinCompactionLagMs:    v.long("log.cleaner.min.compaction.lag.ms"),
		MaxCompactionLagMs:    v.long("log.cleaner.max.compaction.lag.ms"),
		MinCleanableRatio:     v.double("log.cleaner.min.cleanable.ratio"),
		UncleanLeaderElection: v.bool("unclean.leader.election.enable"),
		MinInsyncReplicas:     v.int("min.insync.replicas"),
		CompressionType:       v.str("compression.type"),
		Preallocate:           v.bool("log.preallocate"),
		MessageFormatVersion:  servedProtocol,
		TimestampDiffMaxMs:    v.long("log.message.timestamp.difference.max.ms"),
		DownconversionEnable:  v.bool("log.message.downconversion.enable"),
	}
	setPolicy(&c, v.list("log.cleanup.policy"))
	setTimestampType(&c, v.str("log.message.timestamp.type"))
	return c
}

// servedProtocol is the level kz speaks and the format of records it writes.
const servedProtocol = "2.6-IV0"

func setPolicy(c *commitlog.Config, policies []string) {
	c.Compact, c.Delete = false, false
	for _, p := range policies {
		c.Compact = c.Compact || p == "compact"
		c.Delete = c.Delete || p == "delete"
	}
}

func setTimestampType(c *commitlog.Config, s string) {
	c.TimestampType = record.CreateTime
	if s == "LogAppendTime" {
		c.TimestampType = record.LogAppendTime
	}
}
