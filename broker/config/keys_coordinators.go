package config

// coordinatorKeys: consumer groups and transactions.
var coordinatorKeys = []Key{
	{"group.min.session.timeout.ms", Int, "6000", nil, static, served, "The shortest session a consumer may ask for."},
	{"group.max.session.timeout.ms", Int, "1800000", nil, static, served, "The longest session a consumer may ask for."},
	{"group.initial.rebalance.delay.ms", Int, "3000", nil, static, served, "How long an empty group waits for more members."},
	{"group.max.size", Int, "2147483647", atLeast(1), static, served, "Members of a group at most."},
	{"offset.metadata.max.bytes", Int, "4096", nil, static, served, "The longest text stored with a committed offset."},
	{"offsets.load.buffer.size", Int, "5242880", atLeast(1), static, served, "Bytes read at once when a coordinator loads offsets."},
	{"offsets.topic.replication.factor", Short, "3", atLeast(1), static, served, "Replicas of __consumer_offsets."},
	{"offsets.topic.num.partitions", Int, "50", atLeast(1), static, served, "Partitions of __consumer_offsets; not to be changed later."},
	{"offsets.topic.segment.bytes", Int, "104857600", atLeast(1), static, served, "Segment size of __consumer_offsets."},
	{"offsets.topic.compression.codec", Int, "0", fromTo(0, 4), static, served, "Codec of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."},
	{"offsets.retention.minutes", Int, "10080", atLeast(1), static, served, "How long offsets of a group without members are kept."},
	{"offsets.retention.check.interval.ms", Long, "600000", atLeast(1), static, served, "How often expired offsets are looked for."},
	{"offsets.commit.timeout.ms", Int, "5000", atLeast(1), static, served, "How long a commit waits for its replicas."},
	{"offsets.commit.required.acks", Short, "-1", nil, static, served, "Acks that a commit waits for."},
	{"transactional.id.expiration.ms", Int, "604800000", atLeast(1), static, notYet, "A transactional id unused for so long is forgotten."},
	{"transaction.max.timeout.ms", Int, "900000", atLeast(1), static, notYet, "The longest transaction a producer may ask for."},
	{"transaction.state.log.min.isr", Int, "2", atLeast(1), static, served, "min.insync.replicas of __transaction_state."},
	{"transaction.state.log.load.buffer.size", Int, "5242880", atLeast(1), static, notYet, "Bytes read at once when a coordinator loads transactions."},
	{"transaction.state.log.replication.factor", Short, "3", atLeast(1), static, served, "Replicas of __transaction_state."},
	{"transaction.state.log.num.partitions", Int, "50", atLeast(1), static, served, "Partitions of __transaction_state; not to be changed later."},
	{"transaction.state.log.segment.bytes", Int, "104857600", atLeast(1), static, served, "Segment size of __transaction_state."},
	{"transaction.abort.timed.out.transaction.cleanup.interval.ms", Int, "10000", atLeast(1), static, notYet, "How often transactions that ran out of time are aborted."},
	{"transaction.remove.expired.transaction.cleanup.interval.ms", Int, "3600000", atLeast(1), static, notYet, "How often expired transactional ids are removed."},
}
