package metadata

import (
	"maps"
	"slices"

	"kz/internal/topic"
)

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

// NoLeader and LeaderDuringDelete are the leaders that are none: nobody could be
// elected, and the topic is on its way out.
const (
	NoLeader           int32 = -1
	LeaderDuringDelete int32 = -2
)

// PartitionState is one partition as UpdateMetadata describes it. Its slices are
// shared by every snapshot that holds them: read only.
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
	ControllerID    int32 // negative: none
	ControllerEpoch int32
	Brokers         []Broker                           // all that live: the list replaces the old one
	Partitions      map[topic.Partition]PartitionState // those that changed; leader -2 deletes
}

// Snapshot is one consistent view. Read only.
type Snapshot struct {
	ControllerID int32 // -1 unknown
	Brokers      map[int32]Broker
	Topics       map[string]map[int32]PartitionState

	order []int32 // broker ids as the controller sent them
}

// Partition finds one partition.
func (s *Snapshot) Partition(p topic.Partition) (PartitionState, bool) {
	st, ok := s.Topics[p.Topic][p.Partition]
	return st, ok
}

// AliveBrokers lists the live brokers in the order the controller sent them.
func (s *Snapshot) AliveBrokers() []Broker {
	order := s.order
	if len(order) != len(s.Brokers) { // a snapshot made by hand
		order = slices.Sorted(maps.Keys(s.Brokers))
	}
	out := make([]Broker, 0, len(order))
	for _, id := range order {
		out = append(out, s.Brokers[id])
	}
	return out
}

// Alive says whether the controller counted the broker among the living.
func (s *Snapshot) Alive(id int32) bool {
	_, ok := s.Brokers[id]
	return ok
}
