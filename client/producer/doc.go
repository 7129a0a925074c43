// Package producer sends records to the leaders of their partitions, in batches.
//
// For those who have never seen Kafka: a topic is divided into partitions, and each
// partition is a list that only grows. A record with a key always goes to the partition
// that the key's hash names, so records of one key stay in order. Each partition has one
// broker that leads it; acks says whose word counts: 0 nobody's, 1 the leader's, all
// that of every replica in sync. Records are collected into batches (batch.size,
// linger.ms), because one large request costs hardly more than a small one.
//
// See future.go for the three ways to send, partitioner.go for who chooses the
// partition, typed.go for keys and values that are not bytes.
//
//	what comes in   records, from any goroutine
//	what goes out   Produce requests, at most max.in.flight per broker; one callback per record
//	who runs it     Send on the caller's goroutine: partition, append to a batch, that is all
//	                one sender and one receiver per broker (sender.go)
//	                one keeper: metadata, new brokers; one reaper: expiry (keeper.go)
//
// The one rule: a batch has one owner. While it is open its partition's queue owns
// it (queue.mu); once drained it belongs to the request it is in, until the receiver
// completes it or puts it back at the front of its queue. Its callbacks run exactly
// once, on the receiver or the reaper, with no lock held.
//
// Where Kafka has one Sender thread over non-blocking sockets, we have a pair of
// goroutines per broker: a slow broker cannot delay the requests of the others.
//
// Order: a retried batch goes to the front of its queue. With more than one request
// in flight per broker a retry can still be overtaken by its successor, as in Kafka
// without idempotence; with MaxInFlight 1 the partition is muted until the answer is
// there, and order holds. enable.idempotence and transactions are refused by name.
//
// Reading order: producer.go, partitioner.go, queue.go, batch.go, memory.go,
// sender.go, answer.go, keeper.go.
//
// Mirrors KafkaProducer, RecordAccumulator, BufferPool and Sender.
package producer
