// Package consumer reads partitions that it was told to read.
//
//	what comes in   a list of partitions and where to start in each
//	what goes out   Fetched: record bytes of one partition, batch by batch, in order
//	who runs it     one fetcher goroutine per broker; Poll on the caller's goroutine
//
// The one rule: a partition's position belongs to its broker's fetcher. It moves when
// records were fetched, not when they were looked at, so that the next request is on
// its way while the caller works. Each fetcher has at most one answer waiting for
// Poll and one in flight: memory is bounded by twice fetch.max.bytes per broker.
//
// There are no groups, no commits and no fetch sessions here: every request names all
// partitions (session id 0, epoch -1), which is what a consumer did before KIP-227.
//
// Mirrors KafkaConsumer with assign, and Fetcher.
package consumer
