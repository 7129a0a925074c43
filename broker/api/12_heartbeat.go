package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
)

// Heartbeat, versions 0 to 4.

func (a *API) heartbeat(c *call) {
	var req kmsg.HeartbeatRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = int16(a.d.Groups.Heartbeat(group.Caller{Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation}))
	c.respond(resp)
}
