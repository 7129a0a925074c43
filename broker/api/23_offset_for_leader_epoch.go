package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/topic"
)

// OffsetForLeaderEpoch, versions 0 to 4: where an epoch ended in this leader's log.

func (a *API) offsetForLeaderEpoch(c *call) {
	var req kmsg.OffsetForLeaderEpochRequest
	if !c.decode(&req) {
		return
	}
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			epoch, end, code := a.d.Replicas.EpochEnd(topic.Partition{Topic: t.Topic, Partition: p.Partition}, p.CurrentLeaderEpoch, p.LeaderEpoch)
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.LeaderEpoch, rp.EndOffset = p.Partition, int16(code), epoch, end
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.respond(resp)
}
