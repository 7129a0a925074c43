// Package replica is what a broker does with the partitions it holds.
//
// What comes in: the controller's orders (LeaderAndIsr, StopReplica,
// UpdateMetadata), records from producers, fetches from followers and consumers,
// and records that broker/fetcher pulled from other leaders. What goes out: appends
// to and reads from broker/commitlog, answers to whoever waited, and, where this
// broker leads, the in-sync replica set (ISR) written to ZooKeeper.
//
// # A walk through the files
//
//	manager.go          Manager: the partitions of this broker, start and stop        ReplicaManager
//	leader_and_isr.go   what a LeaderAndIsr request changes
//	stop_replica.go     what a StopReplica request changes
//	partition.go        Partition: who leads, which epoch, which ISR                   Partition
//	partition_leader.go a leader's append, and what it learns from a follower's fetch
//	partition_read.go   reads, epochs and offsets: what leader and follower can answer
//	remote.go           what a leader knows of each follower                           Replica
//	isr.go              the ISR's three states, and who may join or must leave         IsrState
//	isr_change.go       a change of the ISR, from proposal to commit
//	isr_writer.go       writes the ISR to ZooKeeper and tells the controller           ZkIsrManager
//	highwatermark.go    how far the records of a partition are safe
//	produce.go          AppendRecords                       delayed_produce.go         DelayedProduce
//	fetch.go            Fetch                               delayed_fetch.go           DelayedFetch
//	fetch_session.go    incremental fetches (KIP-227)       fetch_context.go, fetch_cache.go
//	watchers.go         a partition tells the sessions that read it of changes
//	list_offsets.go     ListOffset, EpochEnd
//	led_read.go         how a coordinator reads what it leads
//	follower.go         what the fetcher does to a followed partition
//	log_dir.go          a disk failed
//
// # Who runs it
//
// Almost everything runs on the caller's goroutine: a request handler, a fetcher.
// The manager's own goroutines are isr-expiration (looks for followers that lag),
// isr-writer (writes to ZooKeeper) and isr-change-propagation (tells the
// controller); docs/goroutines.md has their rows.
//
// # A fetch costs what changed
//
// A follower holds one session for all partitions that this broker leads for it. Kafka
// walks the whole session at every fetch, and again when a fetch has to wait, so a
// thousand idle partitions make the busy one slow. Here a session is asked the other way
// round:
//
//	log, epoch, ISR, leadership, metadata change ──▶ Partition.touch ──▶ cachedPartition awake
//	fetch ──▶ reads the awake ones, in the session's order ──▶ found nothing, told all ──▶ quiet
//	append ──▶ completeFetches ──▶ the fetch that waits in the session looks at the awake ones
//
// What a walk would do to a quiet partition must be nothing, or be made up for. It would
// read nothing and tell nothing: that is what quiet means. It would count the fetch as a
// follower's acknowledgement at the log end: that is said in one go when the partition is
// touched (followerState.idle). Whatever a read's result depends on must therefore touch,
// after it changed. The log does it itself for all that it holds (commitlog.Log.Watch);
// the rest is in makeLeader, makeFollower, forget, markOffline, propose, commit and
// UpdateMetadata. session_model_test.go compares with a walk, in random lives.
//
// # The one rule
//
// A record counts as committed when every member of the ISR has it. So the high
// watermark may only be computed from an ISR that ZooKeeper is known to hold, or
// from a larger one: a new leader is chosen from what ZooKeeper holds. That is why
// a follower that joins counts at once, before the write is confirmed, and one that
// leaves counts until the write is confirmed (isr.go, "maximal").
package replica
