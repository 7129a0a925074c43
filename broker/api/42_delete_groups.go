package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups, versions 0 to 2. A group that is named twice is answered once.

func (a *API) deleteGroups(c *call) {
	var req kmsg.DeleteGroupsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	codes := a.d.Groups.DeleteGroups(req.Groups)
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Groups = []kmsg.DeleteGroupsResponseGroup{}
	for _, id := range req.Groups {
		code, ok := codes[id]
		if !ok {
			continue
		}
		delete(codes, id)
		rg := kmsg.NewDeleteGroupsResponseGroup()
		rg.Group, rg.ErrorCode = id, int16(code)
		resp.Groups = append(resp.Groups, rg)
	}
	c.respond(resp)
}
