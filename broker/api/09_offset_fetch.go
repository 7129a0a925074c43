package api

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// OffsetFetch, versions 0 to 7: the other half of OffsetCommit. Version 0 reads ZooKeeper,
// all others ask the coordinator; from version 2 on no list of topics means all there are.

func (a *API) offsetFetch(c *call) {
	var req kmsg.OffsetFetchRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	partitions := []topic.Partition{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			partitions = append(partitions, topic.Partition{Topic: t.Topic, Partition: p})
		}
	}
	if req.Version == 0 {
		a.waits.Go(func() { c.respond(offsetFetchResponse(a.fetchFromZooKeeper(req.Group, partitions))) })
		return
	}
	if req.Topics == nil && req.Version >= 2 {
		partitions = nil
	}
	found, code := a.d.Groups.FetchOffsets(req.Group, req.RequireStable, partitions)
	if code != kafkaerr.None && req.Version < 2 { // no place for it but beside each partition
		found = map[topic.Partition]group.Fetched{}
		for _, id := range partitions {
			found[id] = group.Fetched{Code: code, Offset: -1, LeaderEpoch: -1}
		}
	}
	resp := offsetFetchResponse(found)
	resp.ErrorCode = int16(code)
	c.respond(resp)
}

// fetchFromZooKeeper: what is not there is UNKNOWN_TOPIC_OR_PARTITION.
func (a *API) fetchFromZooKeeper(groupID string, partitions []topic.Partition) map[topic.Partition]group.Fetched {
	found := map[topic.Partition]group.Fetched{}
	s := a.d.Metadata.Current()
	for _, id := range partitions {
		f := group.Fetched{Code: kafkaerr.UnknownTopicOrPartition, Offset: -1, LeaderEpoch: -1}
		if _, known := s.Partition(id); known {
			switch offset, ok, err := a.d.Offsets.Get(a.ctx, groupID, id); {
			case err != nil:
				a.d.Log.Warn().Err(err).Str("group", groupID).Stringer("partition", id).Msg("offset not read")
				f.Code = kafkaerr.CodeOf(err)
			case ok:
				f.Code, f.Offset = kafkaerr.None, offset
			}
		}
		found[id] = f
	}
	return found
}

func offsetFetchResponse(found map[topic.Partition]group.Fetched) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Topics = []kmsg.OffsetFetchResponseTopic{}
	for _, id := range sortedKeys(found) {
		i := slices.IndexFunc(resp.Topics, func(t kmsg.OffsetFetchResponseTopic) bool { return t.Topic == id.Topic })
		if i < 0 {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = id.Topic
			resp.Topics = append(resp.Topics, rt)
			i = len(resp.Topics) - 1
		}
		f := found[id]
		rp := kmsg.NewOffsetFetchResponseTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata, rp.ErrorCode = id.Partition, f.Offset, f.LeaderEpoch, &f.Metadata, int16(f.Code)
		resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, rp)
	}
	return resp
}

func sortedKeys[V any](m map[topic.Partition]V) []topic.Partition {
	return slices.SortedFunc(maps.Keys(m), topic.Partition.Compare)
}
