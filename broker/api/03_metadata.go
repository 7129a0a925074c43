package api

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Metadata, versions 0 to 11.
//
// Left out: topic ids, which do not exist at inter-broker protocol 2.6; asking by id is
// refused with INVALID_REQUEST, as Kafka 2.8 itself does.

// What everybody may do without an authorizer, as a set of bits, and what is answered
// when nobody asked.
const (
	allTopicOperations   int32 = 3576
	allClusterOperations int32 = 8096
	notAsked             int32 = math.MinInt32
)

func (a *API) metadata(c *call) {
	var req kmsg.MetadataRequest
	if badListLength(c.body, c.version()) {
		c.close("malformed Metadata: a list of negative length")
		return
	}
	if !c.decode(&req) {
		return
	}
	if resp := refuseTopicIDs(&req); resp != nil {
		c.respond(resp)
		return
	}
	all := req.Topics == nil || req.Version == 0 && len(req.Topics) == 0
	autoCreate := (req.AllowAutoTopicCreation || req.Version < 4) && a.d.Config.AutoCreateTopics && !all

	s := a.d.Metadata.Current()
	view := metadataView{s, c.listener, req.Version}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Topics = []kmsg.MetadataResponseTopic{}
	var missing []string
	for _, name := range requestedTopics(&req, s, all) {
		if partitions, ok := s.Topics[name]; ok {
			resp.Topics = append(resp.Topics, view.topic(name, partitions))
		} else {
			missing = append(missing, name)
		}
	}
	resp.Topics = append(resp.Topics, a.missingTopics(missing, autoCreate)...)
	if req.Version >= 8 && req.IncludeTopicAuthorizedOperations {
		for i := range resp.Topics {
			resp.Topics[i].AuthorizedOperations = allTopicOperations
		}
	}
	if req.IncludeClusterAuthorizedOperations { // only in 8 to 10
		resp.AuthorizedOperations = allClusterOperations
	}
	resp.Brokers = view.brokers()
	resp.ClusterID = &a.d.ClusterID
	resp.ControllerID = s.ControllerID
	c.respond(resp)
}

// badListLength: kmsg takes every negative length of the list of topics for null, which
// means all of them. Only -1 is null.
func badListLength(body []byte, version int16) bool {
	return version >= 1 && version < 9 && len(body) >= 4 && int32(binary.BigEndian.Uint32(body)) < -1
}

// refuseTopicIDs: topics must be named, by name.
func refuseTopicIDs(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	bad := slices.ContainsFunc(req.Topics, func(t kmsg.MetadataRequestTopic) bool {
		return t.Topic == nil || t.TopicID != [16]byte{}
	})
	if !bad {
		return nil
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.ControllerID = -1
	for _, t := range req.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		rt := topicWithError(name, kafkaerr.InvalidRequest)
		rt.TopicID = t.TopicID
		rt.IsInternal = false
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// requestedTopics lists each topic once, in the request's order; all of them by name.
func requestedTopics(req *kmsg.MetadataRequest, s *metadata.Snapshot, all bool) []string {
	if all {
		return slices.Sorted(maps.Keys(s.Topics))
	}
	seen := make(map[string]bool, len(req.Topics))
	var out []string
	for _, t := range req.Topics {
		if !seen[*t.Topic] {
			seen[*t.Topic] = true
			out = append(out, *t.Topic)
		}
	}
	return out
}

// missingTopics answers topics the cluster does not know, after creating them if that is wanted.
func (a *API) missingTopics(names []string, create bool) (out []kmsg.MetadataResponseTopic) {
	if len(names) == 0 {
		return nil
	}
	var created map[string]kafkaerr.Code
	if create {
		created = a.d.Admin.AutoCreate(names)
	}
	for _, name := range names {
		code, ok := created[name]
		if !ok {
			code = kafkaerr.UnknownTopicOrPartition
			if topic.ValidateName(name) != nil {
				code = kafkaerr.InvalidTopicException
			}
		}
		out = append(out, topicWithError(name, code))
	}
	return out
}

func topicWithError(name string, code kafkaerr.Code) kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.ErrorCode, rt.IsInternal = &name, int16(code), topic.IsInternal(name)
	rt.Partitions = []kmsg.MetadataResponseTopicPartition{}
	return rt
}

// metadataView is a snapshot as one listener and one version show it.
type metadataView struct {
	s        *metadata.Snapshot
	listener string
	version  int16
}

// brokers are those that can be reached on the listener.
func (v metadataView) brokers() []kmsg.MetadataResponseBroker {
	out := []kmsg.MetadataResponseBroker{}
	for _, b := range v.s.AliveBrokers() {
		e, ok := b.Endpoint(v.listener)
		if !ok {
			continue
		}
		rb := kmsg.NewMetadataResponseBroker()
		rb.NodeID, rb.Host, rb.Port = b.ID, e.Host, e.Port
		if b.Rack != "" {
			rb.Rack = &b.Rack
		}
		out = append(out, rb)
	}
	return out
}

func (v metadataView) topic(name string, partitions map[int32]metadata.PartitionState) kmsg.MetadataResponseTopic {
	rt := topicWithError(name, kafkaerr.None)
	rt.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(partitions))
	for _, n := range slices.Sorted(maps.Keys(partitions)) {
		rt.Partitions = append(rt.Partitions, v.partition(n, partitions[n]))
	}
	return rt
}

// partition mirrors ZkMetadataCache.getPartitionMetadata.
func (v metadataView) partition(n int32, st metadata.PartitionState) kmsg.MetadataResponseTopicPartition {
	rp := kmsg.NewMetadataResponseTopicPartition()
	rp.Partition, rp.Leader, rp.LeaderEpoch = n, st.Leader, st.LeaderEpoch
	rp.Replicas, rp.ISR, rp.OfflineReplicas = v.shown(st.Replicas), v.shown(st.ISR), st.OfflineReplicas
	switch {
	case !v.s.Alive(st.Leader):
		rp.ErrorCode = int16(kafkaerr.LeaderNotAvailable)
	case !v.reachable(st.Leader):
		rp.ErrorCode = int16(kafkaerr.ListenerNotFound)
		if v.version < 6 {
			rp.ErrorCode = int16(kafkaerr.LeaderNotAvailable)
		}
	case len(rp.Replicas) < len(st.Replicas) || len(rp.ISR) < len(st.ISR):
		rp.ErrorCode = int16(kafkaerr.ReplicaNotAvailable)
	}
	if !v.reachable(st.Leader) {
		rp.Leader = metadata.NoLeader
	}
	return rp
}

// shown hides unreachable replicas from clients of version 0, which know no offline ones.
func (v metadataView) shown(ids []int32) []int32 {
	if v.version > 0 {
		return ids
	}
	out := []int32{}
	for _, id := range ids {
		if v.reachable(id) {
			out = append(out, id)
		}
	}
	return out
}

func (v metadataView) reachable(id int32) bool {
	_, ok := v.s.Brokers[id].Endpoint(v.listener)
	return ok
}
