package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/admin"
	"kz/internal/kafkaerr"
)

// CreateTopics, versions 0 to 7, on the controller only. The answer waits until the
// controller's own metadata cache knows a leader for every partition.
//
// Left out: topic ids (version 7) are zero, as in Kafka at inter-broker protocol 2.6;
// policies; quotas.

func (a *API) createTopics(c *call) {
	var req kmsg.CreateTopicsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrCreateTopicsResponse()
	count := map[string]int{}
	for _, t := range req.Topics {
		count[t.Topic]++
	}
	active := a.d.Controller.IsActive()
	at := map[string]int{} // where the answer to a topic goes
	var wanted []admin.NewTopic
	for i, t := range req.Topics {
		var err error
		switch {
		case !active:
			err = kafkaerr.Wrap(kafkaerr.NotController, "create topics", nil)
		case count[t.Topic] > 1:
			err = kafkaerr.New(kafkaerr.InvalidRequest, "Found multiple entries for this topic.")
		default:
			at[t.Topic] = i
			wanted = append(wanted, newTopic(&t))
		}
		rt := createdTopic(admin.Result{Name: t.Topic, Err: err})
		if !active {
			rt.ErrorMessage = kmsg.StringPtr("") // the one place where Kafka says "" instead of nothing
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if !active {
		c.respond(resp)
		return
	}
	a.d.Admin.CreateTopics(wanted, time.Duration(req.TimeoutMillis)*time.Millisecond, req.ValidateOnly, func(results []admin.Result) {
		for _, r := range results {
			resp.Topics[at[r.Name]] = createdTopic(r)
		}
		c.respond(resp)
	})
}

func newTopic(t *kmsg.CreateTopicsRequestTopic) admin.NewTopic {
	n := admin.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	for _, p := range t.ReplicaAssignment {
		n.Assignment = append(n.Assignment, admin.PartitionReplicas{Partition: p.Partition, Replicas: p.Replicas})
	}
	for _, e := range t.Configs {
		n.Configs = append(n.Configs, admin.ConfigEntry{Name: e.Name, Value: e.Value})
	}
	return n
}

// createdTopic answers one topic; of one that was not created nothing is told.
func createdTopic(r admin.Result) kmsg.CreateTopicsResponseTopic {
	rt := kmsg.NewCreateTopicsResponseTopic()
	rt.Topic, rt.ErrorCode, rt.ErrorMessage = r.Name, codeOf(r.Err), messageOf(r.Err)
	rt.NumPartitions, rt.ReplicationFactor = -1, -1
	rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	if r.Err != nil {
		return rt
	}
	rt.NumPartitions, rt.ReplicationFactor = int32(r.Partitions), int16(r.ReplicationFactor)
	for _, e := range r.Configs {
		rc := kmsg.NewCreateTopicsResponseTopicConfig()
		rc.Name, rc.Value, rc.ReadOnly, rc.Source, rc.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		rt.Configs = append(rt.Configs, rc)
	}
	return rt
}
