package api

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
)

// JoinGroup, versions 0 to 7: answered when the group's next generation begins.

func (a *API) joinGroup(c *call) {
	var req kmsg.JoinGroupRequest
	if !c.decode(&req) {
		return
	}
	r := group.JoinRequest{
		Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID,
		RequireKnownID: req.Version >= 4 && req.InstanceID == nil,
		ClientID:       c.header.ClientID, ClientHost: c.clientHost,
		RebalanceTimeoutMs: req.RebalanceTimeoutMillis, SessionTimeoutMs: req.SessionTimeoutMillis,
		ProtocolType: req.ProtocolType,
	}
	if req.Version == 0 {
		r.RebalanceTimeoutMs = req.SessionTimeoutMillis
	}
	for _, p := range req.Protocols {
		r.Protocols = append(r.Protocols, group.Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
	}
	c.detach()
	a.d.Groups.Join(r, func(result group.JoinResult) { c.respond(joinGroupResponse(result, req.Version)) })
}

func joinGroupResponse(r group.JoinResult, version int16) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.Generation, resp.LeaderID, resp.MemberID = int16(r.Code), r.Generation, r.Leader, r.MemberID
	resp.ProtocolType, resp.Protocol = r.ProtocolType, r.Protocol
	if resp.Protocol == nil && version < 7 {
		resp.Protocol = new(string)
	}
	resp.Members = []kmsg.JoinGroupResponseMember{}
	for _, m := range r.Members {
		rm := kmsg.NewJoinGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ProtocolMetadata = m.ID, m.InstanceID, m.Metadata
		resp.Members = append(resp.Members, rm)
	}
	return resp
}
