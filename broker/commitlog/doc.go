// Package commitlog is a broker's storage: one append-only log per partition, in
// files that Kafka itself reads and writes.
//
// What comes in: record batches, from producers through AppendAsLeader (validated,
// given offsets, stamped with the leader epoch) and from a leader through
// AppendAsFollower (kept as they are). What goes out: Slices, ranges of a file for
// sendfile; offsets by timestamp; the marks of the log; what each leader epoch
// wrote. Who runs it: the caller's goroutine does every append and read; the Manager
// runs retention, fsyncs of rolled segments, checkpoints and delayed deletion.
//
// The one rule: bytes before a segment's published size never change. Appends only
// write behind it, readers only read before it, so readers need no lock. Truncation,
// which breaks the rule, first publishes the shorter log and then cuts the file.
//
// A reading order:
//
//	segment.go           one .log with its indexes: append, find
//	index.go             sparse indexes on disk with a tail in memory; offset_index.go, time_index.go
//	header.go, scan.go   walking the batches of a file
//	log.go               the Log: locks, the published state, the marks
//	log_append.go        validate, roll, write, publish
//	log_read.go          from an offset to a Slice
//	log_truncate.go      how a follower gives up what the new leader never had
//	epochs.go            who wrote what: the leader epoch cache
//	load.go              start: sweep, recover, verify, settle
//	manager.go           every log of the broker, over several directories
//
// Mirrors kafka.log. Not here yet: compaction (a log with cleanup.policy=compact is
// cut at its log start and otherwise kept whole), producer state (the .snapshot
// files are written empty) and moves between directories.
package commitlog
