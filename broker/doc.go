// Package broker assembles a broker from its rooms: what is started when, and stopped in
// reverse. Mirrors kafka.server.KafkaServer. Only this package knows both the broker's
// rooms and the controller.
//
// What comes in: a validated Config, and the network, the journal and the log to use.
// What goes out: a Broker that serves. Who runs it: Start and Stop run on the caller's
// goroutine, and return when all is done. The one rule: everything that Start started,
// Stop stops in reverse order, also when Start failed half-way; whoever is left waiting
// gets an answer.
//
// The tour, in the order of reading:
//
//	start.go                the start, step by step
//	stop.go                 the stop, and the kill that tests need
//	cluster_id.go           /cluster/id
//	broker_id.go            which id this broker has, and what meta.properties must say
//	registration.go         /brokers/ids/<id>, the broker epoch, who else has our address
//	producer_id_block.go    /latest_producer_id_block
//	controlled_shutdown.go  asking the controller to move leadership away before we stop
//	files_unix.go           how many files and connections the system allows
//
// # A produce request with acks=all, room by room
//
//	    room                        whose goroutine         hands over
//	1   socket (network)            connection reader       header and body bytes; reads no further until room 7
//	2   queue (network)             the reader, which       the request
//	                                blocks when
//	                                queued.max.requests
//	                                are waiting
//	3   handler (api)               one of num.io.threads   kmsg becomes types of replica here, and nowhere else
//	4   replica.Partition           the same                leader? epoch? enough in-sync replicas?
//	5   commitlog.Log               the same                offsets stamped in place, one write, an index entry
//	                                                        every index.interval.bytes
//	6   purgatory                   none: a parked value    waits for the high watermark; completed exactly once,
//	                                                        by progress, timeout, or the loss of leadership
//	7   socket (network)            connection writer       bytes out; the reader resumes
//
// Room 6 opens when a follower's Fetch passes rooms 1 to 4 and raises the high watermark.
// Completions found under a lock are queued and run on the way out, with no lock held.
//
// # A fetch
//
// A consumer's Fetch passes rooms 1 to 4 too. Room 5 gives it ranges of files, no bytes;
// when there are too few, it waits in room 6 for appends; room 7 sends the ranges from
// file to socket (sendfile). A follower's Fetch is the same, read up to the log's end
// instead of the high watermark, and it is how the leader learns what the follower has.
//
// # A group
//
// JoinGroup and SyncGroup pass rooms 1 to 3, and then group takes them: it answers when
// the generation begins, or when the assignment is stored. What it stores, it appends to
// __consumer_offsets through rooms 4 to 6, as a producer with acks=all would. replica
// tells it which partitions of that topic this broker leads: their groups are its own.
//
// # What goes on beside requests
//
// The fetcher pulls from the leaders of the partitions this broker follows. The
// controller room stands for election; if elected it watches ZooKeeper and tells all
// brokers (also this one, over the network) who leads what. replica looks for followers
// that lag and writes the ISR into ZooKeeper. admin watches /config/changes.
package broker
