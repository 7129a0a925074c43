package controller

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/topic"
)

// AskToLeave is the other side of ControlledShutdown: a broker that wants to stop asks
// the controller at addr to move its leadership away. It returns what the broker still
// leads; an error carries the controller's code, or is the network's. ctx bounds all of it.
func AskToLeave(ctx context.Context, n link.Network, addr string, brokerID int32, brokerEpoch int64) (remaining []topic.Partition, err error) {
	c, err := dialer(n, brokerID)(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	req := kmsg.NewPtrControlledShutdownRequest()
	req.Version = 3 // what a broker sends at protocol 2.6
	req.BrokerID, req.BrokerEpoch = brokerID, brokerEpoch
	answer, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.ControlledShutdownResponse)
	if !ok {
		return nil, fmt.Errorf("answer to ControlledShutdown is a %T", answer)
	}
	if code := kafkaerr.Code(resp.ErrorCode); code != kafkaerr.None {
		return nil, kafkaerr.Wrap(code, "controlled shutdown", nil)
	}
	for _, p := range resp.PartitionsRemaining {
		remaining = append(remaining, topic.Partition{Topic: p.Topic, Partition: p.Partition})
	}
	return remaining, nil
}
