// Package metadata is what UpdateMetadata last said. A snapshot is immutable; a new one replaces it whole.
package metadata

import "kz/internal/topic"

// Endpoint is a broker's address on one listener.
type Endpoint struct {
	Listener         string
	SecurityProtocol int16 // 0 PLAINTEXT
	Host             string
	Port             int32
}

// Broker is a live broker.
type Broker struct {
	ID        int32
	Rack      string // "" = none
	Endpoints []Endpoint
}

// Endpoint finds the address on a listener.
func (b Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

// NoLeader and LeaderDuringDelete are the leaders that are none.
const (
	NoLeader           int32 = -1
	LeaderDuringDelete int32 = -2
)

// PartitionState is one partition as UpdateMetadata describes it.
type PartitionState struct {
	ControllerEpoch int32
	Leader          int32
	LeaderEpoch     int32
	ISR             []int32
	ZkVersion       int32
	Replicas        []int32
	OfflineReplicas []int32
}

// Update is one UpdateMetadata request.
type Update struct {
	ControllerID    int32
	ControllerEpoch int32
	Brokers         []Broker
	Partitions      map[topic.Partition]PartitionState // leader -2 deletes
}

// Snapshot is one consistent view. Read only.
type Snapshot struct {
	ControllerID int32 // -1 unknown
	Brokers      map[int32]Broker
	Topics       map[string]map[int32]PartitionState
}

// Cache is Kafka's MetadataCache.
type Cache struct{}

func NewCache(brokerID int32) *Cache { panic("contract") }

// Current is the latest snapshot; never nil.
func (c *Cache) Current() *Snapshot { panic("contract") }

// Apply merges an update into a new snapshot and returns the partitions it deleted. It does not check the controller epoch (replica.Manager does).
func (c *Cache) Apply(u Update) (deleted []topic.Partition) { panic("contract") }

// Changed returns a channel that is closed at the next Apply; for waiting on a condition without polling.
func (c *Cache) Changed() <-chan struct{} { panic("contract") }

func (s *Snapshot) Partition(p topic.Partition) (PartitionState, bool) { panic("contract") }
func (s *Snapshot) AliveBrokers() []Broker                             { panic("contract") } // in the order the controller sent them
func (s *Snapshot) Alive(id int32) bool                                { panic("contract") }
