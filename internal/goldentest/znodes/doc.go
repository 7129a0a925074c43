// Package znodes drives whole kz clusters through the acts that a real Kafka 2.8.2 cluster was captured
// in, on a real ZooKeeper, and compares what is left there and how it came to be.
//
//	what comes in   testdata/NN-step.txt: the writes of real Kafka in that step, in order, failed ones
//	                included, and every znode after it
//	what goes out   the same from kz (its brokers reach ZooKeeper through zkrelay; the order is that of
//	                ZooKeeper's transaction log), or the lines that differ
//	who runs it     groups of steps; a group has one cluster, and each step goes on from the one before
//
// The one rule: what timing or chance explains is normalised, on both sides alike, by a rule that has a
// name and a reason (normalise_test.go); everything else is a fault, here or in the capture's reading,
// or it is in docs/divergence.md.
//
// The package holds only tests. convert_test.go made testdata from the captures.
package znodes
