package group

import "time"

// Config is the group coordinator's part of server.properties.
type Config struct {
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms (6 s): a shorter session is refused
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms (30 min): a longer one too
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms (3 s): how long an empty group waits for more members
	MaxSize               int           // group.max.size (2147483647): members of a group at most

	MaxMetadataSize int           // offset.metadata.max.bytes (4096): the longest text beside an offset, in UTF-16 units
	Retention       time.Duration // offsets.retention.minutes (7 days): how long offsets outlive their group's members
	RetentionCheck  time.Duration // offsets.retention.check.interval.ms (10 min)

	Partitions       int32         // offsets.topic.num.partitions (50), unless the topic exists: see Coordinator.Start
	CommitTimeout    time.Duration // offsets.commit.timeout.ms (5 s): how long an append waits for its replicas
	CommitAcks       int16         // offsets.commit.required.acks (-1, all)
	LoadBufferSize   int           // offsets.load.buffer.size (5 MiB): read at once while loading
	CompressionCodec int8          // offsets.topic.compression.codec (0): of the batches written, by Kafka's numbers
}
