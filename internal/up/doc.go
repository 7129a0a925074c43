// Package up runs a cluster on this machine: the embedded ZooKeeper and brokers, each a
// process of its own, so that a kill is a kill; breaks it on purpose; and tells what happens.
//
//	what comes in   a directory, the ids of the brokers, a profile; faults
//	what goes out   processes that are ready; their journals, as one order of events
//	who runs it     the caller's goroutine; one goroutine per process waits for its end, one
//	                merges the journals; under kz up, a small HTTP server on the loopback address
//
// The one rule: a child never outlives its parent. Each child holds the reading end of a
// pipe whose writing end only the parent has; when the parent ends, however it ends, the
// pipe closes and the child stops as if it had been asked to. Asking a child to stop is the
// same act, so it works alike on every system.
//
// The same pipe carries orders to a broker: what is wrong with its links, at which moment
// of its code it is to stop or die. The broker answers on its stdout when an order is in
// force. A broker that nobody holds has none of this: it dials and listens directly.
//
// Reading order: profile.go (which waits are shortened), child.go (one process), cluster.go
// and launch.go (all of them). Then faults: fault.go (what can be asked), order.go and
// obey.go (the two ends of the pipe), node_fault.go, poweroff.go, link_fault.go, book.go
// (what is in force). Then events: event.go, tail.go, causal.go (which comes first),
// merged.go, tell.go (sentences), mermaid.go (a diagram). Last spec.go (what a directory
// keeps), supervisor.go, serve.go, sse.go and remote.go (the two ends of the API).
package up
