package api

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// StopReplica, versions 0 to 3: the controller says what this broker no longer holds.

// unknownLeaderEpoch comes with versions that carry none; it is not checked.
const unknownLeaderEpoch = -1

func (a *API) stopReplica(c *call) {
	var req kmsg.StopReplicaRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrStopReplicaResponse()
	if a.isStale(req.BrokerEpoch) {
		a.d.Log.Info().Int64("broker epoch", req.BrokerEpoch).Msg("StopReplica for a former registration of this broker")
		resp.ErrorCode = int16(kafkaerr.StaleBrokerEpoch)
		c.respond(resp)
		return
	}
	codes, code := a.d.Replicas.StopReplicas(req.ControllerID, req.ControllerEpoch, stopStates(&req))
	resp.ErrorCode = int16(code)
	for _, id := range slices.SortedFunc(maps.Keys(codes), topic.Partition.Compare) {
		rp := kmsg.NewStopReplicaResponsePartition()
		rp.Topic, rp.Partition, rp.ErrorCode = id.Topic, id.Partition, int16(codes[id])
		resp.Partitions = append(resp.Partitions, rp)
	}
	c.respond(resp)
}

// stopStates reads the three shapes of the request.
func stopStates(req *kmsg.StopReplicaRequest) map[topic.Partition]replica.StopState {
	states := map[topic.Partition]replica.StopState{}
	old := replica.StopState{LeaderEpoch: unknownLeaderEpoch, Delete: req.DeletePartitions}
	for _, t := range req.Topics {
		switch {
		case req.Version == 0:
			states[topic.Partition{Topic: t.Topic, Partition: t.Partition}] = old
		case req.Version < 3:
			for _, p := range t.Partitions {
				states[topic.Partition{Topic: t.Topic, Partition: p}] = old
			}
		default:
			for _, p := range t.PartitionStates {
				states[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = replica.StopState{LeaderEpoch: p.LeaderEpoch, Delete: p.Delete}
			}
		}
	}
	return states
}
