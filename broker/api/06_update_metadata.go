package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// UpdateMetadata, versions 0 to 7: the controller says who lives and who leads.
//
// Left out: topic ids (version 7) are not kept.

func (a *API) updateMetadata(c *call) {
	var req kmsg.UpdateMetadataRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrUpdateMetadataResponse()
	if a.isStale(req.BrokerEpoch) {
		a.d.Log.Info().Int64("broker epoch", req.BrokerEpoch).Msg("UpdateMetadata for a former registration of this broker")
		resp.ErrorCode = int16(kafkaerr.StaleBrokerEpoch)
		c.respond(resp)
		return
	}
	deleted, code := a.d.Replicas.UpdateMetadata(metadata.Update{
		ControllerID:    req.ControllerID,
		ControllerEpoch: req.ControllerEpoch,
		Brokers:         liveBrokers(&req),
		Partitions:      updatedPartitions(&req),
	})
	for _, p := range deleted {
		a.d.Configs.Forget(p.Topic) // it may come again with another config
	}
	a.d.Groups.TopicsDeleted(deleted)
	resp.ErrorCode = int16(code)
	c.respond(resp)
}

// securityProtocols names the listeners of versions that carry none, by protocol number.
var securityProtocols = [...]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

func liveBrokers(req *kmsg.UpdateMetadataRequest) []metadata.Broker {
	out := make([]metadata.Broker, 0, len(req.LiveBrokers))
	for _, b := range req.LiveBrokers {
		mb := metadata.Broker{ID: b.ID}
		if b.Rack != nil {
			mb.Rack = *b.Rack
		}
		if req.Version == 0 {
			mb.Endpoints = []metadata.Endpoint{{Listener: securityProtocols[0], Host: b.Host, Port: b.Port}}
		}
		for _, e := range b.Endpoints {
			name := e.ListenerName
			if p := e.SecurityProtocol; req.Version < 3 && p >= 0 && int(p) < len(securityProtocols) {
				name = securityProtocols[p]
			}
			mb.Endpoints = append(mb.Endpoints, metadata.Endpoint{Listener: name, SecurityProtocol: e.SecurityProtocol, Host: e.Host, Port: e.Port})
		}
		out = append(out, mb)
	}
	return out
}

func updatedPartitions(req *kmsg.UpdateMetadataRequest) map[topic.Partition]metadata.PartitionState {
	out := map[topic.Partition]metadata.PartitionState{}
	add := func(name string, p *kmsg.UpdateMetadataRequestTopicPartition) {
		out[topic.Partition{Topic: name, Partition: p.Partition}] = metadata.PartitionState{
			ControllerEpoch: p.ControllerEpoch,
			Leader:          p.Leader,
			LeaderEpoch:     p.LeaderEpoch,
			ISR:             p.ISR,
			ZkVersion:       p.ZKVersion,
			Replicas:        p.Replicas,
			OfflineReplicas: p.OfflineReplicas,
		}
	}
	for i := range req.PartitionStates { // versions 0 to 4
		add(req.PartitionStates[i].Topic, &req.PartitionStates[i])
	}
	for _, t := range req.TopicStates {
		for i := range t.PartitionStates {
			add(t.Topic, &t.PartitionStates[i])
		}
	}
	return out
}
