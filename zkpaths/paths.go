package zkpaths

import "strconv"

// The fixed paths. Who writes and who watches each is said at its type.
const (
	Consumers                = "/consumers" // groups of the 0.8 consumer; see ConsumerOffset
	Controller               = "/controller"
	ControllerEpoch          = "/controller_epoch"
	Brokers                  = "/brokers"
	BrokerIDs                = "/brokers/ids"
	Topics                   = "/brokers/topics"
	BrokerSequence           = "/brokers/seqid" // setData of empty bytes; the returned version is the next broker id
	ClusterID                = "/cluster/id"
	Config                   = "/config"
	ConfigChanges            = "/config/changes"
	Admin                    = "/admin"
	DeleteTopics             = "/admin/delete_topics"
	ReassignPartitions       = "/admin/reassign_partitions"
	PreferredReplicaElection = "/admin/preferred_replica_election"
	ISRChangeNotification    = "/isr_change_notification"
	LogDirEventNotification  = "/log_dir_event_notification"
	ProducerIDBlock          = "/latest_producer_id_block"
	Feature                  = "/feature"
)

// Prefixes of sequential nodes; ZooKeeper appends ten digits.
const (
	ISRChangePrefix    = "/isr_change_notification/isr_change_"
	LogDirEventPrefix  = "/log_dir_event_notification/log_dir_event_"
	ConfigChangePrefix = "/config/changes/config_change_"
)

// The entity types below /config.
const (
	EntityTopics  = "topics"
	EntityClients = "clients"
	EntityUsers   = "users"
	EntityBrokers = "brokers"
	EntityIPs     = "ips"
)

// EntityDefault is the name of a type's default entity, as in /config/brokers/<default>.
const EntityDefault = "<default>"

// PersistentPaths are created by every broker that connects, in this order; parents
// appear on the way. "Already exists" is the usual answer and is ignored.
func PersistentPaths() []string {
	return []string{
		Consumers, BrokerIDs, Topics, ConfigChanges, DeleteTopics, BrokerSequence,
		ISRChangeNotification, ProducerIDBlock, LogDirEventNotification,
		EntityType(EntityTopics), EntityType(EntityClients), EntityType(EntityUsers),
		EntityType(EntityBrokers), EntityType(EntityIPs),
	}
}

// Broker is a broker's registration, /brokers/ids/<id>.
func Broker(id int32) string { return BrokerIDs + "/" + itoa(id) }

// Topic is a topic's assignment, /brokers/topics/<topic>.
func Topic(topic string) string { return Topics + "/" + topic }

// Partitions is the parent of a topic's partitions. Null data.
func Partitions(topic string) string { return Topic(topic) + "/partitions" }

// Partition is the parent of one partition's state. Null data.
func Partition(topic string, p int32) string { return Partitions(topic) + "/" + itoa(p) }

// PartitionStatePath is where a partition's leader and ISR are.
func PartitionStatePath(topic string, p int32) string { return Partition(topic, p) + "/state" }

// EntityType is the parent of all entities of a type, /config/<type>.
func EntityType(entityType string) string { return Config + "/" + entityType }

// EntityConfig is one entity's overrides, /config/<type>/<name>.
func EntityConfig(entityType, name string) string { return EntityType(entityType) + "/" + name }

// TopicConfig is a topic's overrides, /config/topics/<topic>.
func TopicConfig(topic string) string { return EntityConfig(EntityTopics, topic) }

// DeleteTopic marks a topic for deletion, /admin/delete_topics/<topic>: the node's name
// says all, its data is null.
//
//	written by  the broker that serves DeleteTopics; kafka-topics.sh --zookeeper --delete
//	guarded by  nothing: NODEEXISTS means already marked
//	watched by  the controller (children), who deletes it when the deletion is done or refused
func DeleteTopic(topic string) string { return DeleteTopics + "/" + topic }

// ConsumerOffset is how far a group has read a partition, where consumers of Kafka 0.8 kept
// it: /consumers/<group>/offsets/<topic>/<partition>, the next offset to read as decimal text.
//
//	written by  the consumer itself; any broker, for OffsetCommit version 0; with
//	            kz.offsets.dual.commit the group's coordinator, too
//	guarded by  nothing: the last write wins
//
//	42
func ConsumerOffset(group, topic string, p int32) string {
	return Consumers + "/" + group + "/offsets/" + topic + "/" + itoa(p)
}

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }
