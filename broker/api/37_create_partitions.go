package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/admin"
	"kz/internal/kafkaerr"
)

// CreatePartitions, versions 0 to 3, on the controller only. It waits as CreateTopics does.
//
// Left out: topics queued for deletion are not known here; quotas.

func (a *API) createPartitions(c *call) {
	var req kmsg.CreatePartitionsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	count := map[string]int{}
	for _, t := range req.Topics {
		count[t.Topic]++
	}
	active := a.d.Controller.IsActive()
	var failed []admin.Result
	var wanted []admin.MorePartitions
	for _, t := range req.Topics {
		switch {
		case !active:
			failed = append(failed, admin.Result{Name: t.Topic, Err: kafkaerr.Wrap(kafkaerr.NotController, "create partitions", nil)})
		case count[t.Topic] > 1: // answered once
			failed = append(failed, admin.Result{Name: t.Topic, Err: kafkaerr.New(kafkaerr.InvalidRequest, "Duplicate topic in request.")})
			count[t.Topic] = 0
		case count[t.Topic] == 1:
			wanted = append(wanted, morePartitions(&t))
		}
	}
	respond := func(results []admin.Result) {
		resp := kmsg.NewPtrCreatePartitionsResponse()
		for _, r := range append(results, failed...) {
			rt := kmsg.NewCreatePartitionsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = r.Name, codeOf(r.Err), messageOf(r.Err)
			resp.Topics = append(resp.Topics, rt)
		}
		c.respond(resp)
	}
	if len(wanted) == 0 {
		respond(nil)
		return
	}
	a.d.Admin.CreatePartitions(wanted, time.Duration(req.TimeoutMillis)*time.Millisecond, req.ValidateOnly, respond)
}

func morePartitions(t *kmsg.CreatePartitionsRequestTopic) admin.MorePartitions {
	m := admin.MorePartitions{Name: t.Topic, Count: t.Count}
	if t.Assignment != nil {
		m.Assignment = [][]int32{}
		for _, p := range t.Assignment {
			m.Assignment = append(m.Assignment, p.Replicas)
		}
	}
	return m
}
