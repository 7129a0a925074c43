package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
	"kz/internal/kafkaerr"
)

// LeaveGroup, versions 0 to 4: one member up to version 2, then a list.

func (a *API) leaveGroup(c *call) {
	var req kmsg.LeaveGroupRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	var leaving []group.Leaving
	if req.Version <= 2 {
		leaving = []group.Leaving{{MemberID: req.MemberID}}
	}
	for _, m := range req.Members {
		leaving = append(leaving, group.Leaving{MemberID: m.MemberID, InstanceID: m.InstanceID})
	}
	code, codes := a.d.Groups.Leave(req.Group, leaving)
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Members = []kmsg.LeaveGroupResponseMember{}
	if req.Version <= 2 && code == kafkaerr.None {
		code = codes[0]
	}
	resp.ErrorCode = int16(code)
	for i, memberCode := range codes {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ErrorCode = leaving[i].MemberID, leaving[i].InstanceID, int16(memberCode)
		resp.Members = append(resp.Members, rm)
	}
	c.respond(resp)
}
