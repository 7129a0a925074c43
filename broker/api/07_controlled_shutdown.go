package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// ControlledShutdown, versions 0 to 3: a broker that wants to stop asks the controller
// to move its leadership away. A broker that is not the controller answers
// STALE_CONTROLLER_EPOCH, as Kafka does, not NOT_CONTROLLER.

func (a *API) controlledShutdown(c *call) {
	var req kmsg.ControlledShutdownRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	a.waits.Go(func() { // the elections take their time
		resp := kmsg.NewPtrControlledShutdownResponse()
		remaining, err := a.d.Controller.ControlledShutdown(a.ctx, req.BrokerID, req.BrokerEpoch)
		code := kafkaerr.CodeOf(err)
		if code == kafkaerr.NotController {
			code = kafkaerr.StaleControllerEpoch
		}
		resp.ErrorCode = int16(code)
		if code == kafkaerr.None {
			for _, p := range remaining {
				rp := kmsg.NewControlledShutdownResponsePartitionsRemaining()
				rp.Topic, rp.Partition = p.Topic, p.Partition
				resp.PartitionsRemaining = append(resp.PartitionsRemaining, rp)
			}
		}
		c.respond(resp)
	})
}
