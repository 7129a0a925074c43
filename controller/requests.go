package controller

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/topic"
	"kz/zkpaths"
)

// The versions that a controller sends at inter.broker.protocol.version=2.6. Nothing is
// negotiated between brokers: the level dictates.
const (
	leaderAndISRVersion   = 4
	stopReplicaVersion    = 3
	updateMetadataVersion = 6
)

// apiName is Kafka's name of the three.
func apiName(key int16) string {
	switch key {
	case 4:
		return "LeaderAndIsr"
	case 5:
		return "StopReplica"
	case 6:
		return "UpdateMetadata"
	}
	return kmsg.NameForKey(key)
}

// translator turns messages into Kafka's requests. One serves one flush: what all
// receivers are told alike is built once and shared, read only.
type translator struct {
	controller int32
	listener   string
	cluster    *cluster

	liveBrokers []kmsg.UpdateMetadataRequestLiveBroker
	metadata    []kmsg.UpdateMetadataRequestTopicState
	haveShared  bool
}

func newTranslator(cfg Config, c *cluster) *translator {
	return &translator{controller: cfg.BrokerID, listener: cfg.InterBrokerListener, cluster: c}
}

func (t *translator) request(m message) kmsg.Request {
	switch m.kind {
	case leaderAndISRMessage:
		return t.leaderAndISR(m)
	case updateMetadataMessage:
		return t.updateMetadata(m)
	default:
		return t.stopReplica(m)
	}
}

// leaderAndISR is drawn to the byte in docs/formats/leader-and-isr.md.
func (t *translator) leaderAndISR(m message) kmsg.Request {
	req := &kmsg.LeaderAndISRRequest{
		Version:         leaderAndISRVersion,
		ControllerID:    t.controller,
		ControllerEpoch: t.cluster.epoch,
		BrokerEpoch:     m.brokerEpoch,
	}
	named := map[int32]bool{}
	byTopic(m.leaders, func(name string, ps []topic.Partition) {
		states := make([]kmsg.LeaderAndISRRequestTopicPartition, len(ps))
		for i, p := range ps {
			e := m.leaders[p]
			named[e.state.leader] = true
			states[i] = kmsg.LeaderAndISRRequestTopicPartition{
				Partition:        p.Partition,
				ControllerEpoch:  e.state.controllerEpoch,
				Leader:           e.state.leader,
				LeaderEpoch:      e.state.leaderEpoch,
				ISR:              e.state.isr,
				ZKVersion:        e.state.version,
				Replicas:         e.assignment.replicas,
				AddingReplicas:   e.assignment.adding,
				RemovingReplicas: e.assignment.removing,
				IsNew:            e.isNew,
			}
		}
		req.TopicStates = append(req.TopicStates, kmsg.LeaderAndISRRequestTopicState{Topic: name, PartitionStates: states})
	})
	// Only the leaders that the request names, and of those only the registered ones.
	for _, b := range t.cluster.liveBrokers() {
		if e, ok := b.endpoint(t.listener); ok && named[b.id] {
			req.LiveLeaders = append(req.LiveLeaders, kmsg.LeaderAndISRRequestLiveLeader{BrokerID: b.id, Host: e.Host, Port: e.Port})
		}
	}
	return req
}

func (t *translator) updateMetadata(m message) kmsg.Request {
	if !t.haveShared {
		t.haveShared = true
		t.liveBrokers = t.allLive()
		t.metadata = metadataStates(m.metadata)
	}
	return &kmsg.UpdateMetadataRequest{
		Version:         updateMetadataVersion,
		ControllerID:    t.controller,
		ControllerEpoch: t.cluster.epoch,
		BrokerEpoch:     m.brokerEpoch,
		TopicStates:     t.metadata,
		LiveBrokers:     t.liveBrokers,
	}
}

func metadataStates(entries map[topic.Partition]metadataEntry) (all []kmsg.UpdateMetadataRequestTopicState) {
	byTopic(entries, func(name string, ps []topic.Partition) {
		states := make([]kmsg.UpdateMetadataRequestTopicPartition, len(ps))
		for i, p := range ps {
			e := entries[p]
			states[i] = kmsg.UpdateMetadataRequestTopicPartition{
				Partition:       p.Partition,
				ControllerEpoch: e.state.controllerEpoch,
				Leader:          e.state.leader,
				LeaderEpoch:     e.state.leaderEpoch,
				ISR:             e.state.isr,
				ZKVersion:       e.state.version,
				Replicas:        e.replicas,
				OfflineReplicas: e.offline,
			}
		}
		all = append(all, kmsg.UpdateMetadataRequestTopicState{Topic: name, PartitionStates: states})
	})
	return all
}

// allLive are all registered brokers with all their listeners, also those in controlled
// shutdown.
func (t *translator) allLive() (all []kmsg.UpdateMetadataRequestLiveBroker) {
	for _, b := range t.cluster.liveBrokers() {
		live := kmsg.UpdateMetadataRequestLiveBroker{ID: b.id}
		if b.info.Rack != "" {
			live.Rack = &b.info.Rack
		}
		for _, e := range b.info.Endpoints {
			live.Endpoints = append(live.Endpoints, kmsg.UpdateMetadataRequestLiveBrokerEndpoint{
				Port: e.Port, Host: e.Host, ListenerName: e.Listener, SecurityProtocol: securityProtocol(b.info, e),
			})
		}
		all = append(all, live)
	}
	return all
}

// securityProtocolIDs are the numbers of org.apache.kafka.common.security.auth.SecurityProtocol.
var securityProtocolIDs = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

// securityProtocol of an endpoint. Registrations before version 4 have no map: there the
// listener is named after its protocol.
func securityProtocol(b zkpaths.BrokerInfo, e zkpaths.Endpoint) int16 {
	if name, ok := b.SecurityMap[e.Listener]; ok {
		return securityProtocolIDs[name]
	}
	return securityProtocolIDs[e.Listener]
}

func (t *translator) stopReplica(m message) kmsg.Request {
	req := &kmsg.StopReplicaRequest{
		Version:         stopReplicaVersion,
		ControllerID:    t.controller,
		ControllerEpoch: t.cluster.epoch,
		BrokerEpoch:     m.brokerEpoch,
	}
	byTopic(m.stops, func(name string, ps []topic.Partition) {
		states := make([]kmsg.StopReplicaRequestTopicPartitionState, len(ps))
		for i, p := range ps {
			e := m.stops[p]
			states[i] = kmsg.StopReplicaRequestTopicPartitionState{Partition: p.Partition, LeaderEpoch: e.leaderEpoch, Delete: e.remove}
		}
		req.Topics = append(req.Topics, kmsg.StopReplicaRequestTopic{Topic: name, PartitionStates: states})
	})
	return req
}

// byTopic visits the keys topic by topic, all sorted.
func byTopic[V any](entries map[topic.Partition]V, visit func(name string, ps []topic.Partition)) {
	ps := slices.SortedFunc(maps.Keys(entries), topic.Partition.Compare)
	for len(ps) > 0 {
		n := 1
		for n < len(ps) && ps[n].Topic == ps[0].Topic {
			n++
		}
		visit(ps[0].Topic, ps[:n])
		ps = ps[n:]
	}
}
