// Package consumer reads records.
//
// # For those who have never seen Kafka
//
// A topic is divided into partitions. A partition is a list of records that only grows;
// a record's place in it is its offset. Reading does not remove anything: a reader
// remembers, per partition, the offset of the next record it wants. That number is its
// position, and keeping it somewhere safe is called committing it.
//
// Readers that share the work form a group: they use the same group.id, and the
// partitions are divided among them, so that each is read by one member. When a member
// joins, leaves or dies they are divided anew: a rebalance. The new reader of a partition
// begins at the offset that the group has committed. So after a death the records that
// were read but not committed are read again: at least once.
//
//	c := consumer.New(cfg)             // cfg.Group = "billing"
//	defer c.Close()
//	c.Subscribe([]string{"orders"}, consumer.Listener{})
//	for {
//		fetched, err := c.Poll(ctx)
//		...                            // work; then Poll again, within max.poll.interval.ms
//	}
//
// Without a group, Assign names the partitions and where to begin.
//
// # The tour
//
//	what comes in   topics or a pattern (Subscribe), or partitions and where to start (Assign)
//	what goes out   Fetched: records of one partition, in order; commits
//	who runs it     Poll, the Listener and all callbacks: the caller's goroutine
//	                one fetcher per broker, one keeper of metadata
//	                in a group: the heart, and an attempt to join while there is a rebalance
//
// The first rule: a position belongs to its broker's fetcher until somebody makes it
// jump (Seek, Pause, a rebalance, a truncated log). A jump changes the position's
// version, and what was asked for before is void. The fetcher runs ahead, so that the
// next request is on its way while the caller works: it has at most one answer waiting
// for Poll and one in flight, so memory is bounded by twice fetch.max.bytes per broker.
// A commit says what Poll has given, not what was fetched.
//
// The second rule: the members of a group give up before anybody takes. An eager member
// gives up everything before it joins; a cooperative one only what it is told to, and
// then joins once more, so that the new owner gets it. A Listener hears of it in time to
// commit. A member that was put out (too slow, or silent) is told that it lost its
// partitions: others may read them already, and its commits are refused.
//
// There are no fetch sessions here: every request names all partitions (session id 0,
// epoch -1), as before KIP-227. Transactions are refused by name.
//
// Reading order: consumer.go (Poll), position.go, fetched.go, fetcher.go, keeper.go,
// validate.go; then the group: subscribe.go, group.go (states, error codes), rebalance.go,
// join.go, heartbeat.go; then the offsets: commit.go, storage.go, offsets.go; typed.go for
// keys and values that are not bytes.
//
// Mirrors KafkaConsumer, Fetcher, SubscriptionState, ConsumerCoordinator and AbstractCoordinator.
package consumer
