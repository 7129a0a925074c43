// Package controller is Kafka's controller on ZooKeeper: every broker runs one, one of them
// reigns. It decides who leads each partition, writes that into ZooKeeper, and tells the
// brokers. It imports no room of the broker and is told nothing by them except through
// ZooKeeper and the answers to its requests.
//
// # A broker dies
//
//	its ZooKeeper session ends
//	  | /brokers/ids loses a child; the watch fires on the client's event goroutine
//	  v
//	queue.go            brokerChange is put; put never blocks
//	  | ------------------------------- from here on: the controller's own goroutine
//	  v
//	brokers.go          who is registered now, who was: added, bounced, dead
//	  v
//	partition_state.go  the partitions it led: Online -> Offline, then Offline -> Online
//	  v
//	leader_election.go  read the state znodes; election.go decides, purely; write them back
//	                    over the version read, fenced by the version of /controller_epoch;
//	                    BADVERSION: the leader was faster, read and decide again
//	  v
//	replica_state.go    its replicas: Online -> Offline, and out of every other ISR
//	isr_removal.go      (the same read, decide, write)
//	  v
//	batch.go            one LeaderAndIsr, UpdateMetadata, StopReplica per broker
//	requests.go         as Kafka's bytes
//	  | ------------------------------- from here on: one goroutine per broker
//	  v
//	sender.go           sent until answered or the broker is gone; one in flight
//
// The answers come back as events. Only one says anything new: a LeaderAndIsr answered with
// KAFKA_STORAGE_ERROR means that a log directory has failed (notifications.go).
//
// # Who reigns
//
// reign.go: the first to create /controller (ephemeral) and raise /controller_epoch, in one
// transaction. failover.go: what it does before it takes events. Two fences keep a deposed
// controller harmless: each of its writes checks the version of /controller_epoch in the
// same transaction, and each of its requests carries the epoch, which brokers compare with
// the highest they have seen. A write that fails the check makes it look who reigns, and
// resign.
//
// # The one rule
//
// cluster (context.go) belongs to the goroutine that runs Controller.run, and has no lock.
// Watch callbacks, answers, timers and other rooms only put events on the queue (events.go).
// So each event sees the cluster as the one before left it, and what it does (several reads,
// decisions and writes) is never interleaved with another. ZooKeeper may change meanwhile;
// that is what versions are for.
//
// Reading order: assignment.go, context.go, election.go, partition_state.go, replica_state.go,
// leader_election.go, store.go, batch.go, then reign.go, failover.go and the events. The
// stories in testdata/stories are the behaviour as prose: acts, and what comes of them; the
// same acts on real Kafka 2.8.2 gave the writes and requests they are compared with.
//
// Topic deletion and reassignment are not served here: refused.go says what becomes of the
// znodes that ask for them.
//
// Mirrors kafka.controller.
package controller
