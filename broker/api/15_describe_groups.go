package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// DescribeGroups, versions 0 to 5.

// allGroupOperations is what everybody may do with a group without an authorizer.
const allGroupOperations int32 = 328

func (a *API) describeGroups(c *call) {
	var req kmsg.DescribeGroupsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Groups = []kmsg.DescribeGroupsResponseGroup{}
	for _, id := range req.Groups {
		d := a.d.Groups.Describe(id)
		rg := kmsg.NewDescribeGroupsResponseGroup()
		rg.ErrorCode, rg.Group, rg.State, rg.ProtocolType, rg.Protocol = int16(d.Code), id, d.State, d.ProtocolType, d.Protocol
		rg.Members = []kmsg.DescribeGroupsResponseGroupMember{}
		for _, m := range d.Members {
			rm := kmsg.NewDescribeGroupsResponseGroupMember()
			rm.MemberID, rm.InstanceID, rm.ClientID, rm.ClientHost = m.ID, m.InstanceID, m.ClientID, m.ClientHost
			rm.ProtocolMetadata, rm.MemberAssignment = m.Metadata, m.Assignment
			rg.Members = append(rg.Members, rm)
		}
		rg.AuthorizedOperations = notAsked
		if req.IncludeAuthorizedOperations && d.Code == kafkaerr.None {
			rg.AuthorizedOperations = allGroupOperations
		}
		resp.Groups = append(resp.Groups, rg)
	}
	c.respond(resp)
}
