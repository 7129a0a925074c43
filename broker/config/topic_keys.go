package config

// TopicKey is a key a topic may override, and the broker key it falls back on.
type TopicKey struct {
	Key
	BrokerKey string // "" none
}

// topicKeys is LogConfig's table. The defaults are used only where there is no broker key.
var topicKeys = []TopicKey{
	{Key{"cleanup.policy", List, "delete", listOf("compact", "delete"), dynamic, served, "What becomes of old segments: delete, compact, or both."}, "log.cleanup.policy"},
	{Key{"compression.type", String, "producer", choice(compressionTypes), dynamic, served, "How batches are compressed at rest; producer keeps what the producer chose."}, "compression.type"},
	{Key{"delete.retention.ms", Long, "86400000", atLeast(0), dynamic, served, "How long compaction keeps delete markers."}, "log.cleaner.delete.retention.ms"},
	{Key{"file.delete.delay.ms", Long, "60000", atLeast(0), dynamic, served, "How long a deleted file stays on disk under its .deleted name."}, "log.segment.delete.delay.ms"},
	{Key{"flush.messages", Long, "9223372036854775807", atLeast(0), dynamic, served, "Records after which the log is forced to disk."}, "log.flush.interval.messages"},
	{Key{"flush.ms", Long, "9223372036854775807", atLeast(0), dynamic, served, "Time after which the log is forced to disk."}, "log.flush.interval.ms"},
	{Key{"follower.replication.throttled.replicas", List, "", throttledReplicas("follower.replication.throttled.replicas"), dynamic, notYet, "Replicas slowed down as followers: * or partition:broker pairs."}, ""},
	{Key{"index.interval.bytes", Int, "4096", atLeast(0), dynamic, served, "Bytes of log between two index entries."}, "log.index.interval.bytes"},
	{Key{"leader.replication.throttled.replicas", List, "", throttledReplicas("leader.replication.throttled.replicas"), dynamic, notYet, "Replicas slowed down as leaders: * or partition:broker pairs."}, ""},
	{Key{"max.compaction.lag.ms", Long, "9223372036854775807", atLeast(1), dynamic, served, "How long a record stays uncompacted at most."}, "log.cleaner.max.compaction.lag.ms"},
	{Key{"max.message.bytes", Int, "1048588", atLeast(0), dynamic, served, "The largest batch of records, its 12 leading bytes included."}, "message.max.bytes"},
	{Key{"message.downconversion.enable", Boolean, "true", nil, dynamic, served, "Convert records for clients that do not know their format."}, "log.message.downconversion.enable"},
	{Key{"message.format.version", String, "2.8-IV1", apiVersion, dynamic, served, "The format of records at rest."}, "log.message.format.version"},
	{Key{"message.timestamp.difference.max.ms", Long, "9223372036854775807", atLeast(0), dynamic, served, "How far a record's CreateTime may be from the broker's clock."}, "log.message.timestamp.difference.max.ms"},
	{Key{"message.timestamp.type", String, "CreateTime", oneOf("CreateTime", "LogAppendTime"), dynamic, served, "Whose clock stamps records: CreateTime the producer's, LogAppendTime the broker's."}, "log.message.timestamp.type"},
	{Key{"min.cleanable.dirty.ratio", Double, "0.5", fromTo(0, 1), dynamic, served, "The dirty part of the log from which cleaning is worth while."}, "log.cleaner.min.cleanable.ratio"},
	{Key{"min.compaction.lag.ms", Long, "0", atLeast(0), dynamic, served, "How long a record stays uncompacted at least."}, "log.cleaner.min.compaction.lag.ms"},
	{Key{"min.insync.replicas", Int, "1", atLeast(1), dynamic, served, "With acks=all, a write fails when fewer replicas are in sync."}, "min.insync.replicas"},
	{Key{"preallocate", Boolean, "false", nil, dynamic, served, "Give a new segment its full size at once."}, "log.preallocate"},
	{Key{"retention.bytes", Long, "-1", nil, dynamic, served, "How large a partition's log may grow before its oldest segments go; -1 is no limit."}, "log.retention.bytes"},
	{Key{"retention.ms", Long, "604800000", atLeast(-1), dynamic, served, "How long records are kept; -1 is for ever."}, "log.retention.ms"},
	{Key{"segment.bytes", Int, "1073741824", atLeast(14), dynamic, served, "The largest segment file."}, "log.segment.bytes"},
	{Key{"segment.index.bytes", Int, "10485760", atLeast(0), dynamic, served, "The largest index file."}, "log.index.size.max.bytes"},
	{Key{"segment.jitter.ms", Long, "0", atLeast(0), dynamic, served, "The most that is taken off segment.ms at random, so that not all roll at once."}, "log.roll.jitter.ms"},
	{Key{"segment.ms", Long, "604800000", atLeast(1), dynamic, served, "A segment is closed when its records span more time than this."}, "log.roll.ms"},
	{Key{"unclean.leader.election.enable", Boolean, "false", nil, dynamic, served, "Let a replica that is out of sync lead when no other lives; acknowledged records may be lost."}, "unclean.leader.election.enable"},
}

// TopicKeys lists the keys a topic may override, by name in order.
func TopicKeys() []TopicKey { return topicKeys }

// LookupTopicKey finds one.
func LookupTopicKey(name string) (TopicKey, bool) {
	for _, k := range topicKeys {
		if k.Name == name {
			return k, true
		}
	}
	return TopicKey{}, false
}
