// Package zkpaths is every znode path and the JSON at it. No I/O. Mirrors kafka.zk.ZkData.
package zkpaths

// (owner: the zk helper; names below are what other rooms call)

const (
	Controller               = "/controller"
	ControllerEpoch          = "/controller_epoch"
	BrokerIDs                = "/brokers/ids"
	Topics                   = "/brokers/topics"
	BrokerSequence           = "/brokers/seqid"
	ClusterID                = "/cluster/id"
	ConfigChanges            = "/config/changes"
	DeleteTopics             = "/admin/delete_topics"
	ReassignPartitions       = "/admin/reassign_partitions"
	PreferredReplicaElection = "/admin/preferred_replica_election"
	ISRChangeNotification    = "/isr_change_notification"
	LogDirEventNotification  = "/log_dir_event_notification"
	ProducerIDBlock          = "/latest_producer_id_block"
	Feature                  = "/feature"
	ISRChangePrefix          = "/isr_change_notification/isr_change_"
	LogDirEventPrefix        = "/log_dir_event_notification/log_dir_event_"
	ConfigChangePrefix       = "/config/changes/config_change_"
)

// PersistentPaths are created by every broker that connects, in this order (1.1).
func PersistentPaths() []string { panic("contract") }

func Broker(id int32) string                          { panic("contract") }
func Topic(topic string) string                       { panic("contract") }
func Partitions(topic string) string                  { panic("contract") }
func Partition(topic string, p int32) string          { panic("contract") }
func PartitionStatePath(topic string, p int32) string { panic("contract") }
func TopicConfig(topic string) string                 { panic("contract") }
func EntityConfig(entityType, name string) string     { panic("contract") }
func DeleteTopic(topic string) string                 { panic("contract") }

// Endpoint is LISTENER://host:port.
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
}

// BrokerInfo is /brokers/ids/<id> (v4 at protocol 2.6; readers accept 1..5).
type BrokerInfo struct {
	Version     int
	Host        string // "" = null
	Port        int32
	Endpoints   []Endpoint
	SecurityMap map[string]string // listener -> protocol
	Rack        string            // "" = absent
	JMXPort     int32
	Timestamp   int64 // epoch ms
}

func (b BrokerInfo) Encode() []byte                 { panic("contract") }
func DecodeBrokerInfo(b []byte) (BrokerInfo, error) { panic("contract") }

// ControllerInfo is /controller.
type ControllerInfo struct {
	BrokerID  int32
	Timestamp int64
}

func (c ControllerInfo) Encode() []byte                     { panic("contract") }
func DecodeControllerInfo(b []byte) (ControllerInfo, error) { panic("contract") }

// TopicAssignment is /brokers/topics/<topic>; version 3 as 2.8 writes it, topic_id only if it was there.
type TopicAssignment struct {
	Partitions map[int32][]int32
	Adding     map[int32][]int32
	Removing   map[int32][]int32
	TopicID    string // "" = absent
}

func (t TopicAssignment) Encode() []byte                      { panic("contract") }
func DecodeTopicAssignment(b []byte) (TopicAssignment, error) { panic("contract") }

// PartitionState is …/state.
type PartitionState struct {
	ControllerEpoch int32
	Leader          int32
	LeaderEpoch     int32
	ISR             []int32
}

func (s PartitionState) Encode() []byte                     { panic("contract") }
func DecodePartitionState(b []byte) (PartitionState, error) { panic("contract") }

// TopicPartition is an entry of the lists below.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func EncodeISRChange(ps []TopicPartition) []byte                                 { panic("contract") }
func DecodeISRChange(b []byte) ([]TopicPartition, error)                         { panic("contract") }
func EncodePreferredElection(ps []TopicPartition) []byte                         { panic("contract") }
func DecodePreferredElection(b []byte) ([]TopicPartition, error)                 { panic("contract") }
func EncodeLogDirEvent(broker int32) []byte                                      { panic("contract") }
func DecodeLogDirEvent(b []byte) (broker int32, err error)                       { panic("contract") }
func EncodeClusterID(id string) []byte                                           { panic("contract") }
func DecodeClusterID(b []byte) (string, error)                                   { panic("contract") }
func EncodeEntityConfig(c map[string]string) []byte                              { panic("contract") }
func DecodeEntityConfig(b []byte) (map[string]string, error)                     { panic("contract") }
func EncodeConfigChange(entityPath string) []byte                                { panic("contract") }
func DecodeConfigChange(b []byte) (entityPath string, err error)                 { panic("contract") }
func EncodeControllerEpoch(epoch int32) []byte                                   { panic("contract") }
func DecodeControllerEpoch(b []byte) (int32, error)                              { panic("contract") }
func EncodeProducerIDBlock(broker int32, start, end int64) []byte                { panic("contract") }
func DecodeProducerIDBlock(b []byte) (broker int32, start, end int64, err error) { panic("contract") }
