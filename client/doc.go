// Package client is what every Kafka client of ours stands on: one connection per
// broker, the versions both sides speak, and what the cluster looks like now.
//
//	what comes in   a request body and the broker it is for: a node id, "any", "the controller"
//	what goes out   the answer's body, or an error that carries Kafka's code
//	who runs it     the caller's goroutine; the client itself starts none
//	                (each connection has its reader, see internal/wire)
//
// The one rule: nothing here decides what an answer's error means for the request
// that got it. client/admin, client/producer and client/consumer retry, each by
// Kafka's rules for its own kind of work; this package only offers Backoff.
//
// Above it: producer sends, consumer reads (alone or in a group, whose partitions an
// assignor divides), admin makes topics and looks, zkconsumer is the consumer of 0.8.
//
// Reading order: config.go (what can be set), versions.go (which version is sent),
// pool.go (connections), metadata.go (the cluster), client.go (the three ways to ask).
//
// Mirrors org.apache.kafka.clients.NetworkClient and Metadata.
package client
