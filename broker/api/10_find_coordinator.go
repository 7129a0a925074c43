package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// FindCoordinator, versions 0 to 3: who leads the partition of __consumer_offsets that a group is
// kept in. The first who asks has the topic created.
//
// Left out: transactional ids. They are refused with UNSUPPORTED_VERSION, which clients neither
// repeat nor take for something else. Not even a Kafka that could coordinate is named: it could
// not end a transaction whose partitions a kz broker leads.

const (
	groupCoordinator       = 0
	transactionCoordinator = 1
)

// coordinatorNotAvailable is Kafka's text for the code.
const coordinatorNotAvailable = "The coordinator is not available."

// noTransactions is the text for whoever wants a transaction coordinator.
const noTransactions = "transactions are not supported: this broker is kz, which has no transaction coordinator yet; leave transactional.id out"

func (a *API) findCoordinator(c *call) {
	var req kmsg.FindCoordinatorRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrFindCoordinatorResponse()
	answer := func(code kafkaerr.Code, text string, node int32, e metadata.Endpoint) {
		resp.ErrorCode, resp.ErrorMessage = int16(code), &text
		resp.NodeID, resp.Host, resp.Port = node, e.Host, e.Port
		c.respond(resp)
	}
	nobody := metadata.Endpoint{Port: -1}
	p := topic.Partition{Topic: topic.ConsumerOffsets}
	switch req.CoordinatorType {
	case groupCoordinator:
		p.Partition = a.d.Groups.PartitionFor(req.CoordinatorKey)
	case transactionCoordinator:
		answer(kafkaerr.UnsupportedVersion, noTransactions, -1, nobody)
		return
	default:
		answer(kafkaerr.InvalidRequest, malformed, -1, nobody)
		return
	}
	s := a.d.Metadata.Current()
	if len(s.Topics[p.Topic]) == 0 {
		a.d.Admin.AutoCreate([]string{p.Topic}) // also where auto.create.topics.enable is off
		answer(kafkaerr.CoordinatorNotAvailable, coordinatorNotAvailable, -1, nobody)
		return
	}
	state, ok := s.Partition(p)
	if e, reachable := s.Brokers[state.Leader].Endpoint(c.listener); ok && reachable {
		answer(kafkaerr.None, kafkaerr.None.Name(), state.Leader, e)
		return
	}
	answer(kafkaerr.CoordinatorNotAvailable, coordinatorNotAvailable, -1, nobody)
}
