// Package metadata is what UpdateMetadata last said: which brokers live, who leads
// which partition, who is in sync. Mirrors kafka.server.MetadataCache.
//
// What comes in: an Update, one per UpdateMetadata request, handed over by
// replica.Manager after it checked the controller's epoch. What goes out: a Snapshot,
// which every handler reads without a lock. Nobody runs it: Apply works on the
// caller's goroutine.
//
// The one rule: a Snapshot never changes. Apply builds the next one beside it and swaps
// a pointer; what did not change is shared between the two. So a reader may keep a
// snapshot as long as it likes and always sees one moment of the cluster, and an
// update of one partition among thousands copies that topic's table and the
// table of topics, nothing else.
package metadata
