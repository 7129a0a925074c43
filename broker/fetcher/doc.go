// Package fetcher is the follower: it pulls records from leaders and appends them to
// the local logs.
//
// What comes in: from broker/replica, which partitions to follow, whose, and at which
// leader epoch. What goes out: OffsetForLeaderEpoch, Fetch and ListOffsets requests to
// the leaders; truncations and appends to the local logs, through replica.Manager. The
// fetch itself is the acknowledgement: its offset tells the leader what we have.
//
// # A walk through the files
//
//	manager.go     Manager: which thread fetches which partition              ReplicaFetcherManager
//	thread.go      one goroutine per source broker and index: its loop        ReplicaFetcherThread
//	partition.go   a partition's state: truncating or fetching, delayed or not PartitionFetchState
//	truncate.go    where our log left the leader's, and the cut there
//	fetch.go       what to ask for, and what to do with each partition's answer
//	out_of_range.go the leader does not have the offset we want
//	session.go     naming only what changed in a fetch (KIP-227)              FetchSessionHandler
//	leader.go      the leader as a value: three requests                      ReplicaFetcherBlockingSend
//	requests.go    those requests in Kafka's protocol
//
// # A partition's life
//
//	Add ──▶ truncating ──▶ fetching ──▶ Remove
//	          │    ▲          │
//	          └────┘          └──▶ failed, until the next Add
//	   until both logs agree
//
// At protocol 2.6 a follower first asks where its last epoch ended on the leader and
// truncates there, as often as needed (KIP-101, KIP-279); only then it fetches. It
// never truncates at its high watermark, which lags behind what is committed, unless
// there are no epochs to go by.
//
// # A round costs what changed
//
// A request of a session names only what changed, and is built from only that: whoever
// changes a partition touches it (partition.go), and the next request looks at the
// touched ones. A full request looks at all.
//
// # The one rule
//
// Every append and truncation happens under the thread's lock, after a look that the
// partition is still ours at the epoch the request was made for. Remove takes the same
// lock. So when Remove returns, no append of the old leader's records can follow.
package fetcher
