package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// LeaderAndIsr, versions 0 to 5: the controller says what this broker leads and follows.
//
// Left out: topic ids (version 5) are echoed and not checked; LiveLeaders is not looked
// at, since addresses come with UpdateMetadata, as in Kafka.

// noBrokerEpoch comes from controllers that do not know broker epochs.
const noBrokerEpoch = -1

// isStale says whether a control request was meant for this broker's previous life. It
// is asked before the controller's epoch. A higher epoch may be true: the controller can
// learn of the registration before the broker does.
func (a *API) isStale(brokerEpoch int64) bool {
	return brokerEpoch != noBrokerEpoch && brokerEpoch < a.d.Controller.BrokerEpoch()
}

func (a *API) leaderAndISR(c *call) {
	var req kmsg.LeaderAndISRRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	topics := req.TopicStates
	if req.Version < 2 {
		topics = statesByTopic(req.PartitionStates)
	}
	if a.isStale(req.BrokerEpoch) {
		a.d.Log.Info().Int64("broker epoch", req.BrokerEpoch).Msg("LeaderAndIsr for a former registration of this broker")
		c.respond(leaderAndISRResponse(topics, nil, kafkaerr.StaleBrokerEpoch))
		return
	}
	states := map[topic.Partition]replica.LeaderState{}
	for _, t := range topics {
		for _, p := range t.PartitionStates {
			states[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = replica.LeaderState{
				ControllerEpoch:  p.ControllerEpoch,
				Leader:           p.Leader,
				LeaderEpoch:      p.LeaderEpoch,
				ISR:              p.ISR,
				ZkVersion:        p.ZKVersion,
				Replicas:         p.Replicas,
				AddingReplicas:   p.AddingReplicas,
				RemovingReplicas: p.RemovingReplicas,
				IsNew:            p.IsNew,
			}
		}
	}
	codes, code := a.d.Replicas.BecomeLeaderOrFollower(req.ControllerID, req.ControllerEpoch, states)
	c.respond(leaderAndISRResponse(topics, codes, code))
}

// statesByTopic gives the flat list of versions 0 and 1 the shape of the later ones.
func statesByTopic(states []kmsg.LeaderAndISRRequestTopicPartition) []kmsg.LeaderAndISRRequestTopicState {
	var out []kmsg.LeaderAndISRRequestTopicState
	at := map[string]int{}
	for _, p := range states {
		i, ok := at[p.Topic]
		if !ok {
			i = len(out)
			at[p.Topic] = i
			out = append(out, kmsg.LeaderAndISRRequestTopicState{Topic: p.Topic})
		}
		out[i].PartitionStates = append(out[i].PartitionStates, p)
	}
	return out
}

// leaderAndISRResponse answers each partition; a failure of the whole request is
// repeated for each of them.
func leaderAndISRResponse(topics []kmsg.LeaderAndISRRequestTopicState, codes map[topic.Partition]kafkaerr.Code, code kafkaerr.Code) *kmsg.LeaderAndISRResponse {
	resp := kmsg.NewPtrLeaderAndISRResponse()
	resp.ErrorCode = int16(code)
	for _, t := range topics {
		rt := kmsg.NewLeaderAndISRResponseTopic() // version 5
		rt.TopicID = t.TopicID
		for _, p := range t.PartitionStates {
			rp := kmsg.NewLeaderAndISRResponseTopicPartition()
			rp.Topic, rp.Partition, rp.ErrorCode = t.Topic, p.Partition, int16(code)
			if code == kafkaerr.None {
				rp.ErrorCode = int16(codes[topic.Partition{Topic: t.Topic, Partition: p.Partition}])
			}
			resp.Partitions = append(resp.Partitions, rp) // versions 0 to 4
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
