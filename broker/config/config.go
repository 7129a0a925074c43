package config

import (
	"time"

	"kz/broker/commitlog"
	"kz/broker/fetcher"
	"kz/broker/group"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/controller"
	"kz/internal/zk"
)

// Config is a whole, validated server.properties. The parts are grouped by room, so
// that the assembly hands each room its own; every key that kz serves is in one of them.
type Config struct {
	BrokerID                 int32 // broker.id; -1: to be had from ZooKeeper, then SetBrokerID
	BrokerIDGenerationEnable bool  // broker.id.generation.enable
	ReservedBrokerMaxID      int32 // reserved.broker.max.id
	Rack                     string

	Listeners           []Listener // bound; host "" = all interfaces
	AdvertisedListeners []Listener // told to others; host "" = the machine's name
	InterBrokerListener string     // inter.broker.listener.name, or the name of the protocol

	Zk         zk.Config
	Network    network.Config
	Logs       commitlog.ManagerConfig
	Replica    replica.Config
	Fetcher    fetcher.Config
	Group      group.Config
	Controller controller.Config

	NumIoThreads      int           // num.io.threads
	RequestTimeout    time.Duration // request.timeout.ms
	FetchMaxBytes     int           // fetch.max.bytes
	FetchSessionSlots int           // max.incremental.fetch.session.cache.slots

	LogDefaults commitlog.Config // what a topic without overrides gets

	NumPartitions            int32 // num.partitions
	DefaultReplicationFactor int16 // default.replication.factor
	AutoCreateTopics         bool  // auto.create.topics.enable
	DeleteTopicEnable        bool  // delete.topic.enable

	OffsetsTopic     InternalTopic // __consumer_offsets
	TransactionTopic InternalTopic // __transaction_state

	DualCommit bool // kz.offsets.dual.commit: commits go to ZooKeeper, too

	ControlledShutdownEnable       bool
	ControlledShutdownMaxRetries   int
	ControlledShutdownRetryBackoff time.Duration

	// static is what file and command line said, by key, for DescribeConfigs.
	static map[string]string
	values values
}

// Listener is NAME://host:port and the protocol spoken there, which is PLAINTEXT.
type Listener struct {
	Name     string
	Host     string
	Port     int32
	Protocol string
}

// InternalTopic is how a topic of the brokers themselves is made.
type InternalTopic struct {
	Partitions        int32
	ReplicationFactor int16
	SegmentBytes      int
	MinInsyncReplicas int // 0: the broker's default
}

// SetBrokerID sets the broker's number in every part that has one, after ZooKeeper or
// meta.properties gave it.
func (c *Config) SetBrokerID(id int32) {
	c.BrokerID = id
	c.Replica.BrokerID, c.Fetcher.BrokerID, c.Controller.BrokerID = id, id, id
}

// Static is what the file or the command line said about a key.
func (c *Config) Static(key string) (string, bool) {
	v, ok := c.static[key]
	return v, ok
}

// StaticKeys lists the keys that were set, the unknown among them.
func (c *Config) StaticKeys() map[string]string { return c.static }
