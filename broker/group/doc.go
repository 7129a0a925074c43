// Package group coordinates consumer groups: who is in a group, who gets which
// partitions, and how far the group has read. Mirrors kafka.coordinator.group.
//
// What comes in: the group requests, from broker/api; and which partitions of the topic
// __consumer_offsets this broker leads, from broker/replica: their groups are its to
// coordinate. What goes out: answers, and records in those partitions. What a coordinator
// knows it has read there or written there, so the next leader can go on.
//
// # A group's life, file by file
//
//	coordinator.go    which groups are ours; the checks that come before all           GroupCoordinator
//	state.go          the five states, and what may follow what: a table               GroupState
//	group.go          one group: its memory, its lock, its outbox                      GroupMetadata
//	membership.go     members, the leader, the protocol they agree on: pure            GroupMetadata
//	member.go         one member                                                       MemberMetadata
//	join.go           JoinGroup: who may come in
//	rebalance.go      from the first JoinGroup to the next generation                  DelayedJoin, DelayedSync
//	static.go         a static member comes back (KIP-345)
//	sync.go           SyncGroup: the leader's assignment is written and handed out
//	heartbeat.go      Heartbeat and LeaveGroup                                         DelayedHeartbeat
//	commit.go         OffsetCommit and OffsetFetch
//	offsets.go        the offsets of a group: stored, on their way, expired
//	delete.go         what is removed: groups, offsets, expired ones, deleted topics
//	describe.go       DescribeGroups, ListGroups
//	store.go          records into __consumer_offsets                                  GroupMetadataManager
//	record_offset.go  an offset as bytes      record_group.go  a group as bytes
//	ownership.go      leadership comes and goes: load, unload
//	load.go           groups from records
//	subscription.go   the one look into what members say: which topics
//	alarm.go          timeouts
//
// # A rebalance
//
//	member             coordinator                       state
//	JoinGroup ───────▶ waits for the others              Empty, Stable ─▶ PreparingRebalance
//	          ◀─────── generation 5; to the leader:      CompletingRebalance
//	                   who is here, what they want
//	SyncGroup ───────▶ waits for the leader's
//	          (leader: the assignment) ─▶ record in the log, replicated
//	          ◀─────── your partitions                   Stable
//	Heartbeat ───────▶
//	          ◀─────── NONE, or REBALANCE_IN_PROGRESS: join again
//
// The assignment is the leader's work: the coordinator does not know what it means.
//
// # Who runs it
//
// Requests run on the handler's goroutine, timeouts on the timing wheel's, the end of an
// append on whoever raised the high watermark. Two goroutines are the coordinator's own:
// one loads and unloads, one looks for expired offsets (docs/goroutines.md).
//
// # The one rule
//
// A group changes under its lock, and does nothing else there. What it has to say goes
// into its outbox and is said in order, after the lock was released. So the records of a
// group are in the log in the order of its changes, no answer is given before what it
// promises is in the log, and no lock of one group is ever held while another is taken.
package group
