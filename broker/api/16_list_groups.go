package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups, versions 0 to 4: the groups that this broker coordinates. Who wants all asks
// every broker.

func (a *API) listGroups(c *call) {
	var req kmsg.ListGroupsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	groups, code := a.d.Groups.List(req.StatesFilter)
	resp := kmsg.NewPtrListGroupsResponse()
	resp.ErrorCode = int16(code)
	resp.Groups = []kmsg.ListGroupsResponseGroup{}
	for _, g := range groups {
		rg := kmsg.NewListGroupsResponseGroup()
		rg.Group, rg.ProtocolType, rg.GroupState = g.Group, g.ProtocolType, g.State
		resp.Groups = append(resp.Groups, rg)
	}
	c.respond(resp)
}
