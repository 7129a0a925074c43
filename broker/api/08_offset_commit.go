package api

import (
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// OffsetCommit, versions 0 to 8. Version 0 writes to ZooKeeper, and any broker does it; all
// others write to __consumer_offsets, and the group's coordinator does it. What is in one
// place is never seen in the other, unless kz.offsets.dual.commit has us write both.

func (a *API) offsetCommit(c *call) {
	var req kmsg.OffsetCommitRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	result := map[topic.Partition]kafkaerr.Code{} // of those refused here
	offsets := map[topic.Partition]group.OffsetAndMetadata{}
	s := a.d.Metadata.Current()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if _, ok := s.Partition(id); !ok {
				result[id] = kafkaerr.UnknownTopicOrPartition
			} else {
				offsets[id] = offsetOf(&req, &p, time.Now().UnixMilli())
			}
		}
	}
	respond := func(codes map[topic.Partition]kafkaerr.Code) {
		for id, code := range result {
			codes[id] = code
		}
		c.respond(offsetCommitResponse(&req, codes))
	}
	switch {
	case len(offsets) == 0:
		respond(map[topic.Partition]kafkaerr.Code{})
	case req.Version == 0:
		a.waits.Go(func() { respond(a.commitToZooKeeper(req.Group, offsets)) })
	default:
		caller := group.Caller{Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation}
		a.d.Groups.CommitOffsets(group.Commit{Caller: caller, Offsets: offsets}, a.andToZooKeeper(req.Group, offsets, respond))
	}
}

// offsetOf is one offset of the request. Version 1 may bring the time of the commit,
// versions 2 to 4 how long to keep it.
func offsetOf(req *kmsg.OffsetCommitRequest, p *kmsg.OffsetCommitRequestTopicPartition, now int64) group.OffsetAndMetadata {
	o := group.OffsetAndMetadata{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, CommitTimestamp: now, ExpireTimestamp: -1}
	if p.Metadata != nil {
		o.Metadata = *p.Metadata
	}
	if p.Timestamp != -1 {
		o.CommitTimestamp = p.Timestamp
	}
	if req.RetentionTimeMillis != -1 {
		o.ExpireTimestamp = now + req.RetentionTimeMillis
	}
	return o
}

// commitToZooKeeper stores the offsets alone: metadata has no place there.
func (a *API) commitToZooKeeper(groupID string, offsets map[topic.Partition]group.OffsetAndMetadata) map[topic.Partition]kafkaerr.Code {
	codes := map[topic.Partition]kafkaerr.Code{}
	for id, o := range offsets {
		if len(utf16.Encode([]rune(o.Metadata))) > a.d.Config.Group.MaxMetadataSize {
			codes[id] = kafkaerr.OffsetMetadataTooLarge
			continue
		}
		err := a.d.Offsets.Set(a.ctx, groupID, id, o.Offset)
		if err != nil {
			a.d.Log.Warn().Err(err).Str("group", groupID).Stringer("partition", id).Msg("offset not committed")
		}
		codes[id] = kafkaerr.CodeOf(err)
	}
	return codes
}

// andToZooKeeper lets what was committed be written to ZooKeeper too, before the answer,
// if the config says so. The answer stays that of __consumer_offsets: that is where the
// group reads.
func (a *API) andToZooKeeper(groupID string, offsets map[topic.Partition]group.OffsetAndMetadata, respond func(map[topic.Partition]kafkaerr.Code)) func(map[topic.Partition]kafkaerr.Code) {
	if !a.d.Config.DualCommit {
		return respond
	}
	return func(codes map[topic.Partition]kafkaerr.Code) {
		if a.ctx.Err() != nil { // the broker stops: what waited is answered as it is
			respond(codes)
			return
		}
		both := map[topic.Partition]group.OffsetAndMetadata{}
		for id, code := range codes {
			if code == kafkaerr.None {
				both[id] = offsets[id]
			}
		}
		a.waits.Go(func() { // whoever answers must not wait for ZooKeeper
			a.commitToZooKeeper(groupID, both)
			respond(codes)
		})
	}
}

func offsetCommitResponse(req *kmsg.OffsetCommitRequest, codes map[topic.Partition]kafkaerr.Code) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = []kmsg.OffsetCommitResponseTopic{}
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			code, ok := codes[id]
			if !ok {
				continue // it came twice
			}
			delete(codes, id)
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, int16(code)
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}
