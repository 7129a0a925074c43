// Package zkconsumer is the consumer of Kafka 0.8, which needs no coordinator: the
// members of a group agree through ZooKeeper alone. It was removed in Kafka 2.0; it is
// here to be watched, beside its successor in client/consumer.
//
//	/consumers/<group>/ids/<member>                    ephemeral: who is there, and what it wants
//	/consumers/<group>/owners/<topic>/<partition>      ephemeral: who reads it; the lock
//	/consumers/<group>/offsets/<topic>/<partition>     how far the group has read
//
// # How members agree
//
// Everybody watches the list of members and the topics. When either changes, everybody
// is woken (the herd), reads everything, and works out by the same rule who gets what;
// each then takes its own share. Nobody tells anybody anything. Two members that have
// read different lists come to different shares, and then the owner nodes decide: a
// node that exists already belongs to somebody else, so the loser lets go of what it
// took, waits (rebalance.backoff.ms) and tries again, rebalance.max.retries times. A group
// of n members over p partitions costs, for each change, n wake-ups, n readings of n
// member nodes, and p deletions and p creations of owners.
//
//	what comes in   topics, or a pattern of names
//	what goes out   records (Poll), offsets in ZooKeeper or Kafka or both
//	who runs it     Poll: the caller's goroutine
//	                one goroutine rebalances and commits; the fetchers are client/consumer's
//
// The one rule: a partition is read only while its owner node is ours. It does not hold
// for commits: whoever writes an offset, writes it; a member whose session has expired
// while it was asleep overwrites what its successor wrote.
//
// Only the rule "range" is here; "roundrobin" of 0.8.2 is not. The role of the old
// SimpleConsumer is filled by Assign of client/consumer.
//
// Reading order: config.go, properties.go, registration.go, share.go, consumer.go, rebalance.go, offsets.go.
//
// Mirrors kafka.consumer.ZookeeperConsumerConnector of Kafka 0.8.2.
package zkconsumer
