// Package zkserver is a ZooKeeper in one process: it speaks the client protocol of
// ZooKeeper 3.8, so that Kafka, kz, zkCli.sh and any other client can use it.
//
//	what comes in   connections of ZooKeeper clients, over a link.Network
//	what goes out   answers and watch events; a log and snapshots in a directory; journal events
//	who runs it     a reader and a writer per connection, and one goroutine, apply, that owns
//	                the tree, the sessions, the watches and the log
//
// The one rule: everything that decides anything happens on apply, one request after the
// other, and nothing that was decided leaves the process before it is on disk. So there is
// one order of all writes, which is the order of zxids; a client sees its answers in the
// order of its requests; a watch event reaches a client before any answer that shows what
// the event is about. None of this needs a lock.
//
//	reader ──request──▶ apply: a batch of requests
//	                      1 decide and change the tree, note answers and events   write.go read.go
//	                      2 one frame to the log, one fsync                       wal.go
//	                      3 let the answers out ──bytes──▶ writer                 conn.go
//
// It is one process and replicates nothing: when its disk is gone, so is the tree. An
// ensemble of the real ZooKeeper is what production runs. Its files are its own, not
// ZooKeeper's (wal.go draws them). Where else it differs is in docs/divergence.md.
//
// Reading order: config.go, server.go (start and stop), apply.go (the loop), request.go
// (what can be asked), tree.go, state.go (what is remembered), txn.go and write.go (what
// a write does), watch.go, session.go, wal.go, recover.go.
package zkserver
