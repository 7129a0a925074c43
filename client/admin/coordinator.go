package admin

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
)

// atCoordinator asks a group's coordinator. Who that is, is asked of any broker, first
// and again after each failure: a coordinator moves when the leader of its partition
// of __consumer_offsets does. check says what an answer means.
func (a *Admin) atCoordinator(ctx context.Context, name, group string, req kmsg.Request, check func(kmsg.Response) error) error {
	ctx, cancel, _ := a.c.Deadline(ctx)
	defer cancel()
	node, err := a.Coordinator(ctx, group)
	if err != nil {
		return err
	}
	return a.call(ctx, name, func(ctx context.Context, attempt int) error {
		if attempt > 0 {
			if node, err = a.findCoordinator(ctx, group); err != nil {
				return err
			}
		}
		resp, err := a.c.Node(ctx, node.ID, req)
		if err != nil {
			return err
		}
		return check(resp)
	})
}

// Coordinator says which broker coordinates a group. The first question of all makes
// the brokers create __consumer_offsets, which takes a moment.
func (a *Admin) Coordinator(ctx context.Context, group string) (client.Broker, error) {
	var out client.Broker
	err := a.call(ctx, "findCoordinator", func(ctx context.Context, _ int) (err error) {
		out, err = a.findCoordinator(ctx, group)
		return err
	})
	return out, err
}

func (a *Admin) findCoordinator(ctx context.Context, group string) (client.Broker, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = group
	resp, err := a.c.Any(ctx, req)
	if err != nil {
		return client.Broker{}, err
	}
	r := resp.(*kmsg.FindCoordinatorResponse)
	if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
		return client.Broker{}, err
	}
	return client.Broker{ID: r.NodeID, Addr: client.Address(r.Host, r.Port)}, nil
}

// groupText is what Java's exceptions about groups and offsets say.
// Source: clients/src/main/java/org/apache/kafka/common/protocol/Errors.java.
var groupText = map[kafkaerr.Code]string{
	kafkaerr.CoordinatorLoadInProgress: "The coordinator is loading and hence can't process requests.",
	kafkaerr.CoordinatorNotAvailable:   "The coordinator is not available.",
	kafkaerr.NotCoordinator:            "This is not the correct coordinator.",
	kafkaerr.InvalidGroupID:            "The configured groupId is invalid.",
	kafkaerr.NonEmptyGroup:             "The group is not empty.",
	kafkaerr.GroupIDNotFound:           "The group id does not exist.",
	kafkaerr.GroupSubscribedToTopic:    "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
	kafkaerr.UnknownMemberID:           "The coordinator is not aware of this member.",
	kafkaerr.RebalanceInProgress:       "The group is rebalancing, so a rejoin is needed.",
	kafkaerr.OffsetMetadataTooLarge:    "The metadata field of the offset request was too large.",
}
