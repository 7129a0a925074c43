package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster, version 0.

func (a *API) describeCluster(c *call) {
	var req kmsg.DescribeClusterRequest
	if !c.decode(&req) {
		return
	}
	s := a.d.Metadata.Current()
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.ClusterID = a.d.ClusterID
	resp.ControllerID = s.ControllerID
	resp.ClusterAuthorizedOperations = notAsked
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	for _, b := range (metadataView{s: s, listener: c.listener}).brokers() {
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Host, rb.Port, rb.Rack = b.NodeID, b.Host, b.Port, b.Rack
		resp.Brokers = append(resp.Brokers, rb)
	}
	c.respond(resp)
}
