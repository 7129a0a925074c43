package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// The times that stand for the two ends of a partition, see ListOffsets.
const (
	LatestTime   int64 = -1
	EarliestTime int64 = -2
)

// ListOffsets gives, per partition, the first offset at or after a time (epoch ms,
// LatestTime or EarliestTime), or -1 when there is none.
func (a *Admin) ListOffsets(ctx context.Context, times map[topic.Partition]int64) (map[topic.Partition]int64, error) {
	out := map[topic.Partition]int64{}
	err := a.call(ctx, "listOffsets", func(ctx context.Context, _ int) error {
		return a.listOffsets(ctx, times, out)
	})
	return out, err
}

// listOffsets asks each leader for what is not yet in out.
func (a *Admin) listOffsets(ctx context.Context, times, out map[topic.Partition]int64) error {
	var names []string
	byLeader := map[int32]*kmsg.ListOffsetsRequest{}
	left := slices.DeleteFunc(sortedPartitions(times), func(tp topic.Partition) bool { _, known := out[tp]; return known })
	if len(left) == 0 {
		return nil
	}
	for _, tp := range left {
		names = append(names, tp.Topic)
	}
	cl, err := a.c.Metadata(ctx, slices.Compact(names), false)
	if err != nil {
		return err
	}
	for _, tp := range left {
		leader, err := leaderOf(cl, tp)
		if err != nil {
			return err
		}
		if byLeader[leader] == nil {
			byLeader[leader] = kmsg.NewPtrListOffsetsRequest()
			byLeader[leader].ReplicaID = -1
		}
		addListOffset(byLeader[leader], tp, times[tp])
	}
	for node, req := range byLeader {
		resp, err := a.c.Node(ctx, node, req)
		if err != nil {
			return err
		}
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := refusal(p.ErrorCode, nil); err != nil {
					return err
				}
				out[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = p.Offset
			}
		}
	}
	return nil
}

func addListOffset(req *kmsg.ListOffsetsRequest, tp topic.Partition, time int64) {
	if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = tp.Topic
		req.Topics = append(req.Topics, t)
	}
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch, p.MaxNumOffsets = tp.Partition, time, -1, 1
	t := &req.Topics[len(req.Topics)-1]
	t.Partitions = append(t.Partitions, p)
}

// leaderOf finds a partition's leader. A partition that does not exist has none, as in
// Kafka, which keeps asking for it until time is up; an invalid topic is hopeless.
func leaderOf(cl *client.Cluster, tp topic.Partition) (int32, error) {
	t := cl.Topics[tp.Topic]
	if t.Err != kafkaerr.None {
		return -1, refusal(int16(t.Err), nil)
	}
	for _, p := range t.Partitions {
		if p.ID == tp.Partition && p.Leader != client.NoLeader {
			return p.Leader, nil
		}
	}
	return -1, refusal(int16(kafkaerr.LeaderNotAvailable), nil)
}

func sortedPartitions[V any](m map[topic.Partition]V) []topic.Partition {
	return slices.SortedFunc(maps.Keys(m), topic.Partition.Compare)
}

// CommittedOffset is how far a group has read a partition. Mirrors OffsetAndMetadata.
type CommittedOffset struct {
	Offset      int64
	LeaderEpoch int32 // -1 not known
	Metadata    string
}

// GroupOffsets gives all offsets the group has committed to __consumer_offsets.
func (a *Admin) GroupOffsets(ctx context.Context, group string) (map[topic.Partition]CommittedOffset, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Topics = group, nil // nil: of all topics
	out := map[topic.Partition]CommittedOffset{}
	err := a.atCoordinator(ctx, "listConsumerGroupOffsets", group, req, func(resp kmsg.Response) error {
		r := resp.(*kmsg.OffsetFetchResponse)
		if err := refusal(r.ErrorCode, nil); err != nil {
			return err
		}
		return readCommitted(r, out)
	})
	return out, err
}

func readCommitted(r *kmsg.OffsetFetchResponse, out map[topic.Partition]CommittedOffset) error {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if err := refusal(p.ErrorCode, nil); err != nil {
				return err
			}
			if p.Offset < 0 {
				continue
			}
			o := CommittedOffset{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch}
			if p.Metadata != nil {
				o.Metadata = *p.Metadata
			}
			out[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = o
		}
	}
	return nil
}

// AlterGroupOffsets commits offsets for a group that has no members. The first
// partition that was refused is the error.
func (a *Admin) AlterGroupOffsets(ctx context.Context, group string, offsets map[topic.Partition]int64) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = group, -1, -1
	for _, tp := range sortedPartitions(offsets) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = tp.Partition, offsets[tp], -1, kmsg.StringPtr("")
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return a.atCoordinator(ctx, "offsetCommit", group, req, func(resp kmsg.Response) error {
		for _, t := range resp.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				if err := refusal(p.ErrorCode, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// DeleteGroupOffsets forgets offsets of partitions whose topics the group does not read
// now. The map has what became of each partition; the error, of the whole.
func (a *Admin) DeleteGroupOffsets(ctx context.Context, group string, parts []topic.Partition) (map[topic.Partition]error, error) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, tp := range slices.SortedFunc(slices.Values(parts), topic.Partition.Compare) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = tp.Partition
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	out := map[topic.Partition]error{}
	err := a.atCoordinator(ctx, "offsetDelete", group, req, func(resp kmsg.Response) error {
		r := resp.(*kmsg.OffsetDeleteResponse)
		if err := refusal(r.ErrorCode, nil); err != nil {
			return err
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				out[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = refusal(p.ErrorCode, nil)
			}
		}
		return nil
	})
	for _, tp := range parts {
		if _, answered := out[tp]; !answered && err == nil {
			err = &Error{Code: kafkaerr.UnknownServerError, Text: fmt.Sprintf("Offset deletion result for partition %q was not included in the response", tp)}
		}
	}
	return out, err
}
