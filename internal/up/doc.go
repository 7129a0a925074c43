// Package up runs a cluster on this machine: the embedded ZooKeeper and brokers, each a
// process of its own, so that a kill is a kill.
//
//	what comes in   a directory, the ids of the brokers, a profile
//	what goes out   processes that are ready; their journals, as one stream of events
//	who runs it     the caller's goroutine; one goroutine per process waits for its end;
//	                under kz up, a small HTTP server on the loopback address
//
// The one rule: a child never outlives its parent. Each child holds the reading end of a
// pipe whose writing end only the parent has; when the parent ends, however it ends, the
// pipe closes and the child stops as if it had been asked to (kz broker --until-stdin-ends).
// Asking a child to stop is the same act, so it works alike on every system.
//
// Reading order: profile.go (which waits are shortened), child.go (one process),
// cluster.go (all of them), tail.go (their journals), tell.go (those in sentences); then
// spec.go (what a directory keeps), supervisor.go and remote.go (the two ends of the API).
package up
