package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
	"kz/internal/kafkaerr"
)

// SyncGroup, versions 0 to 5: answered when the leader's assignment is stored.

func (a *API) syncGroup(c *call) {
	var req kmsg.SyncGroupRequest
	if !c.decode(&req) {
		return
	}
	r := group.SyncRequest{
		Caller:       group.Caller{Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation},
		ProtocolType: req.ProtocolType, Protocol: req.Protocol,
		Assignment: map[string][]byte{},
	}
	for _, m := range req.GroupAssignment {
		r.Assignment[m.MemberID] = bytes.Clone(m.MemberAssignment)
	}
	c.detach()
	respond := func(result group.SyncResult) {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ErrorCode, resp.ProtocolType, resp.Protocol = int16(result.Code), result.ProtocolType, result.Protocol
		resp.MemberAssignment = result.Assignment
		c.respond(resp)
	}
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) { // from then on they must be said
		respond(group.SyncResult{Code: kafkaerr.InconsistentGroupProtocol})
		return
	}
	a.d.Groups.Sync(r, respond)
}
