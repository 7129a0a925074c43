package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// OffsetDelete, version 0.

func (a *API) offsetDelete(c *call) {
	var req kmsg.OffsetDeleteRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	var known []topic.Partition
	s := a.d.Metadata.Current()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if _, ok := s.Partition(id); ok {
				known = append(known, id)
			}
		}
	}
	codes, code := a.d.Groups.DeleteOffsets(req.Group, known)
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = int16(code)
	resp.Topics = []kmsg.OffsetDeleteResponseTopic{}
	if code == kafkaerr.None {
		resp.Topics = offsetDeleteTopics(&req, codes)
	}
	c.respond(resp)
}

// offsetDeleteTopics answers partitions in the request's order; those without a code are unknown.
func offsetDeleteTopics(req *kmsg.OffsetDeleteRequest, codes map[topic.Partition]kafkaerr.Code) []kmsg.OffsetDeleteResponseTopic {
	out := []kmsg.OffsetDeleteResponseTopic{}
	answered := map[topic.Partition]bool{}
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if answered[id] {
				continue
			}
			answered[id] = true
			code, ok := codes[id]
			if !ok {
				code = kafkaerr.UnknownTopicOrPartition
			}
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			out = append(out, rt)
		}
	}
	return out
}
