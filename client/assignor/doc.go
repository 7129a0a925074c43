// Package assignor decides which member of a consumer group reads which partition.
//
// A Kafka broker does not make that decision. It picks one member as the leader of
// the group; that member runs an assignor over what everybody said when they joined,
// and hands the result back. So members written in different languages must agree on
// two things only: the name of the rule, and the bytes in which they say what they
// want (Subscription) and are told what they get (Assignment).
//
//	what comes in   per member: the topics it wants, what it owns; per topic: how many partitions
//	what goes out   per member: its partitions. Each partition has exactly one owner
//	who runs it     whoever calls: these are pure functions
//
// The rules, for two members and the topic t with five partitions:
//
//	range               neighbours stay together   a: 0 1 2   b: 3 4
//	roundrobin          dealt like cards           a: 0 2 4   b: 1 3
//	sticky              balanced, and as few partitions move as possible
//	cooperative-sticky  the same; and what moves is withheld until its owner has let go
//
// range is Kafka's default. It treats each topic alone, so over many topics the first
// members get more. With the first three rules a member gives up everything before it
// joins (eager); with the last it keeps reading what it will keep (cooperative).
//
// Reading order: protocol.go (the bytes), range.go, roundrobin.go, sticky.go, cooperative.go.
//
// Mirrors org.apache.kafka.clients.consumer.{Range,RoundRobin,Sticky,CooperativeSticky}Assignor.
package assignor
