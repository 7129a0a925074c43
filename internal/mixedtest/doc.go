// Package mixedtest puts kz and Apache Kafka 2.8.2 into one cluster, on one ZooKeeper, and lets nobody
// notice which is which.
//
// What comes in: clusters of internal/clustertest in which some nodes run kz and others Apache Kafka.
// What goes out: a verdict over both: no acknowledged record is lost, the replicas of the two kinds are
// equal to the byte, both wrote the same shapes into ZooKeeper, every broker tells the same about the
// topics, and Apache Kafka's log holds no complaint that it would not hold among its own.
//
// Where to begin: cells_test.go says who is what; acts_test.go is what is done to each cluster, from
// topic creation by either kind's tools to controlled shutdown and SIGSTOP; blows_test.go is whom kill -9
// meets, and when; verdict_test.go is what must hold in the end, and complaints_test.go the list of
// complaints that mean nothing; truncation_test.go lets a leader of one kind come back as the diverged
// follower of the other, under a controller of either; directory_test.go swaps the program over one log
// directory.
//
// The rule: whatever Apache Kafka says or does differently beside kz is a fault of kz, or stands in
// docs/divergence.md.
//
// Brokers of Apache Kafka take memory (300 to 500 MB) and seconds to start, so tests here never run in
// parallel. KZ_ROUNDS=20 is the long form; KZ_MIXED=kafka runs the same acts on Apache Kafka alone, which
// shows what its log holds among its own.
package mixedtest
