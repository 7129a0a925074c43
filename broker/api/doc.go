// Package api answers requests: one file per API, named by its key. Mirrors
// KafkaRequestHandler and KafkaApis.
//
// What comes in: a network.Request, header parsed, body as bytes. What goes out: its
// answer, or the end of its connection. Who runs it: num.io.threads goroutines, each
// taking one request at a time. A handler that must wait gives its goroutine back and
// answers from wherever the wait ends: replica's purgatories for Produce and Fetch,
// group for JoinGroup, SyncGroup and OffsetCommit, admin for topics, a goroutine of its
// own for ControlledShutdown and for offsets in ZooKeeper.
//
// kmsg's types stop here: a handler turns them into the room's types, and back.
//
// The rules:
//   - every request ends exactly once: answered, silent (acks=0) or its connection closed;
//   - what is wrong with one partition is answered for that partition;
//   - a body that does not parse closes its connection, nothing else;
//   - record bytes are never copied: produced ones are handed on as slices of the
//     request, fetched ones go out as ranges of a file.
//
// What each API leaves out of Kafka's stands in its file under "Left out". In all of
// them: quotas (throttle time is always 0) and authorization (everybody may do
// everything, as in Kafka without an authorizer).
package api
