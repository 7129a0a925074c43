package admin

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
)

// NewTopic is a topic to create: either counts (-1: the broker's default) or an
// explicit assignment, partition by partition, first replica preferred.
type NewTopic struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Assignment        [][]int32
	Configs           map[string]string
}

// CreateTopic creates one topic through the controller. REQUEST_TIMED_OUT means the
// controller did not see it come up in time; it may come up later.
func (a *Admin) CreateTopic(ctx context.Context, t NewTopic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = a.timeoutMs()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, t.Partitions, t.ReplicationFactor
	for i, replicas := range t.Assignment {
		rt.NumPartitions, rt.ReplicationFactor = -1, -1
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: replicas})
	}
	for _, k := range sortedKeys(t.Configs) {
		rt.Configs = append(rt.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: kmsg.StringPtr(t.Configs[k])})
	}
	req.Topics = append(req.Topics, rt)
	return a.call(ctx, "createTopics", func(ctx context.Context, attempt int) error {
		resp, err := a.controller(ctx, req, attempt)
		if err != nil {
			return err
		}
		for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
				return final(err)
			}
		}
		return nil
	})
}

// CreatePartitions raises a topic's count. assignment, when not nil, names the
// replicas of the new partitions only.
func (a *Admin) CreatePartitions(ctx context.Context, topic string, count int32, assignment [][]int32) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = a.timeoutMs()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, count
	for _, replicas := range assignment {
		rt.Assignment = append(rt.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
	}
	req.Topics = append(req.Topics, rt)
	return a.call(ctx, "createPartitions", func(ctx context.Context, attempt int) error {
		resp, err := a.controller(ctx, req, attempt)
		if err != nil {
			return err
		}
		for _, r := range resp.(*kmsg.CreatePartitionsResponse).Topics {
			if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
				return final(err)
			}
		}
		return nil
	})
}

// final keeps Kafka's distinction: of the errors inside an answer about topics only
// NOT_CONTROLLER is tried again; REQUEST_TIMED_OUT, retriable elsewhere, is the answer.
func final(err error) error {
	if kafkaerr.CodeOf(err) == kafkaerr.NotController {
		return err
	}
	return noRetry{err}
}

// noRetry hides a retriable code from client.Retriable, yet is still found by errors.As.
type noRetry struct{ err error }

func (n noRetry) Error() string { return n.err.Error() }

// As lets the *Error inside be found without showing its code.
func (n noRetry) As(target any) bool {
	if p, ok := target.(**Error); ok {
		*p = n.err.(*Error)
		return true
	}
	return false
}

// Topics describes the named topics (nil: all) from one broker's metadata. A topic
// that does not exist is there with its error.
func (a *Admin) Topics(ctx context.Context, call string, names []string) (*client.Cluster, error) {
	var cl *client.Cluster
	err := a.call(ctx, call, func(ctx context.Context, _ int) (err error) {
		cl, err = a.c.Metadata(ctx, names, false)
		return err
	})
	return cl, err
}

// DescribeTopic describes one topic; one that does not exist is an error.
func (a *Admin) DescribeTopic(ctx context.Context, name string) (client.Topic, error) {
	cl, err := a.Topics(ctx, "describeTopics", []string{name})
	if err != nil {
		return client.Topic{}, err
	}
	t := cl.Topics[name]
	return t, refusal(int16(t.Err), nil)
}

// Reassignment is one partition whose replicas are being changed.
type Reassignment struct{ Replicas, Adding, Removing []int32 }

// Reassignments lists the running ones of the topics' partitions. A cluster that
// cannot say (the API is not advertised) has none, as far as a description goes.
func (a *Admin) Reassignments(ctx context.Context, topics map[string][]int32) (map[string]map[int32]Reassignment, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = a.timeoutMs()
	for _, t := range sortedKeys(topics) {
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic, rt.Partitions = t, topics[t]
		req.Topics = append(req.Topics, rt)
	}
	out := map[string]map[int32]Reassignment{}
	err := a.call(ctx, "listPartitionReassignments", func(ctx context.Context, attempt int) error {
		resp, err := a.controller(ctx, req, attempt)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.ListPartitionReassignmentsResponse)
		for _, t := range r.Topics {
			out[t.Topic] = map[int32]Reassignment{}
			for _, p := range t.Partitions {
				out[t.Topic][p.Partition] = Reassignment{Replicas: p.Replicas, Adding: p.AddingReplicas, Removing: p.RemovingReplicas}
			}
		}
		return refusal(r.ErrorCode, r.ErrorMessage)
	})
	if kafkaerr.CodeOf(err) == kafkaerr.UnsupportedVersion {
		return out, nil
	}
	return out, err
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
