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
// testdata holds the captures' writes.jsonl and tree.jsonl, a file for each step, without what is never
// compared: times, session numbers, cversions, the number of children; an ACL or "ephemeral" only where
// it is not the usual one.
//
// Not driven, because kz refuses what they need: 11 (InitProducerId), 15 to 17 (AlterConfigs,
// quotas, SCRAM), 45 and 48 (ElectLeaders), 50 to 63 (reassignment, deletion), 91 (SASL), 95 and 96
// (protocol 2.8), 100 to 103 (ACLs, tokens). In six steps one act is another one to the same effect,
// and says so: 12 (the test claims the producer ids that step 11 had claimed), 28 (no ElectLeaders
// waits in the frozen controller's socket), 29 (ControlledShutdown instead of a reassignment), 43 (the test
// changes the config), 47 and 65 (the test creates the znode).
//
// The package holds only tests. Step after step in the captures' own words: go test -v.
package znodes
