// Package admin changes topics and configs the way Kafka does: by writing to ZooKeeper
// and letting the controller see it. Mirrors ZkAdminManager, AdminZkClient,
// ConfigHelper, DynamicConfigManager and AutoTopicCreationManager.
//
// What comes in: wishes of clients (create these topics, describe that config) from
// broker/api, and change notifications from ZooKeeper. What goes out: znodes, answers,
// and changed configs for the logs that are concerned.
//
//	assign.go     who gets which replica: pure functions
//	topics.go     topics as ZooKeeper holds them; also used by `kz topics --zookeeper`, without a broker
//	create.go     CreateTopics: checks in Kafka's order, writes, waits for leaders
//	partitions.go CreatePartitions, the same way
//	auto.go       topics that are created because somebody asked for them
//	configs.go    overrides of topics and brokers as ZooKeeper holds them
//	changes.go    the watch on /config/changes
//	zkoffsets.go  offsets of consumer groups as ZooKeeper holds them
//	describe.go   every key with its value, where it comes from and what it overrides
//
// Who runs it: requests run on the handler's goroutine; waiting for leaders and the
// watch on /config/changes have goroutines of their own, which end on Stop.
//
// The one rule: a topic's config is written before its assignment. The controller acts
// on the assignment alone, so whoever sees the topic finds its config complete.
package admin
