package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// ListOffsets, versions 1 to 6.
//
// Left out: version 0, which lists the starts of segments.

func (a *API) listOffsets(c *call) {
	var req kmsg.ListOffsetsRequest
	if !c.decode(&req) {
		return
	}
	seen := map[topic.Partition]int{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			seen[topic.Partition{Topic: t.Topic, Partition: p.Partition}]++
		}
	}
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			q := replica.OffsetQuery{
				Partition:          topic.Partition{Topic: t.Topic, Partition: p.Partition},
				Timestamp:          p.Timestamp,
				CurrentLeaderEpoch: p.CurrentLeaderEpoch,
				ReplicaID:          req.ReplicaID,
				ReadCommitted:      req.IsolationLevel == readCommitted,
			}
			var refusal error
			switch {
			case seen[q.Partition] > 1:
				refusal = kafkaerr.InvalidRequest
			case req.ReplicaID == -1 && !isolationKnown(req.IsolationLevel):
				refusal = kafkaerr.UnknownServerError
			}
			rt.Partitions = append(rt.Partitions, a.listOffset(q, refusal, req.Version))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	c.respond(resp)
}

// listOffset answers one partition, with the refusal if there is one.
func (a *API) listOffset(q replica.OffsetQuery, refusal error, version int16) kmsg.ListOffsetsResponseTopicPartition {
	rp := kmsg.NewListOffsetsResponseTopicPartition()
	rp.Partition = q.Partition.Partition
	rp.Timestamp, rp.Offset, rp.LeaderEpoch = -1, -1, -1
	if refusal != nil {
		rp.ErrorCode = codeOf(refusal)
		return rp
	}
	found, err := a.d.Replicas.ListOffset(q)
	switch code := kafkaerr.CodeOf(err); {
	case code == kafkaerr.OffsetNotAvailable && version < 5:
		rp.ErrorCode = int16(kafkaerr.LeaderNotAvailable) // older clients do not know the other
	case code != kafkaerr.None:
		rp.ErrorCode = int16(code)
		if code == kafkaerr.UnknownServerError {
			a.d.Log.Error().Err(err).Stringer("partition", q.Partition).Msg("offset not listed")
		}
	default:
		rp.Timestamp, rp.Offset, rp.LeaderEpoch = found.Timestamp, found.Offset, found.LeaderEpoch
	}
	return rp
}
