package consumer

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// A group's offsets can be in two places:
//
//	__consumer_offsets  OffsetCommit 1 and above, to the group's coordinator, which checks
//	                    that we are a member of the current generation
//	ZooKeeper           OffsetCommit 0, to any broker, which writes the znode
//	                    /consumers/<group>/offsets/<topic>/<partition> and checks nothing
//
// The two know nothing of each other. 0 is the only version that means ZooKeeper.

// commitRequest names every partition once, topics and numbers sorted.
func (g *membership) commitRequest(offsets Offsets) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = g.c.cfg.Group, -1, -1
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), topic.Partition.Compare) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		o := offsets[tp]
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.Timestamp = tp.Partition, o.At, o.LeaderEpoch, &o.Metadata, -1
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

func (g *membership) commitToKafka(ctx context.Context, offsets Offsets) error {
	generation, memberID, err := g.standing()
	if err != nil {
		return err
	}
	req := g.commitRequest(offsets)
	if generation >= 0 {
		req.Generation, req.MemberID, req.InstanceID = generation, memberID, g.instance()
	}
	answer, err := g.ask(ctx, g.client, req, g.c.cfg.Client.RequestTimeout)
	if err != nil {
		return err
	}
	code, tp := firstError(answer.(*kmsg.OffsetCommitResponse), offsets)
	if code == kafkaerr.None {
		return nil
	}
	if q := g.judge(code, generation); q == startOver {
		return kafkaerr.Wrap(code, "commit", ErrCommitFailed)
	}
	return kafkaerr.Wrap(code, "commit "+tp.String(), nil)
}

func (g *membership) commitToZooKeeper(ctx context.Context, offsets Offsets) error {
	answer, err := g.client.AnyUpTo(ctx, g.commitRequest(offsets), 0)
	if err != nil {
		return err
	}
	if code, tp := firstError(answer.(*kmsg.OffsetCommitResponse), offsets); code != kafkaerr.None {
		return kafkaerr.Wrap(code, "commit to ZooKeeper "+tp.String(), nil)
	}
	return nil
}

// firstError is why not all offsets are kept. A partition that the answer leaves out was not.
func firstError(r *kmsg.OffsetCommitResponse, offsets Offsets) (kafkaerr.Code, topic.Partition) {
	left := maps.Clone(offsets)
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			tp := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if p.ErrorCode != 0 {
				return kafkaerr.Code(p.ErrorCode), tp
			}
			delete(left, tp)
		}
	}
	for tp := range left {
		return kafkaerr.NetworkException, tp
	}
	return kafkaerr.None, topic.Partition{}
}

// committed reads where offsets.storage says; with dual the greater of the two holds.
func (g *membership) committed(ctx context.Context, parts []topic.Partition) (Offsets, error) {
	var fromKafka, fromZooKeeper Offsets
	for {
		var err error
		if g.c.cfg.Storage != StoreZooKeeper {
			fromKafka, err = g.fetchFromKafka(ctx, parts)
		}
		if err == nil && g.c.cfg.Storage != StoreKafka {
			fromZooKeeper, err = g.fetchFromZooKeeper(ctx, parts)
		}
		if err == nil {
			return greater(fromKafka, fromZooKeeper), nil
		}
		if !client.Retriable(err) || g.c.client.Backoff(ctx) != nil {
			return nil, err
		}
	}
}

// greater joins two sets; of a partition in both it keeps the later place.
func greater(a, b Offsets) Offsets {
	out := maps.Clone(a)
	if out == nil {
		out = Offsets{}
	}
	for tp, o := range b {
		if have, ok := out[tp]; !ok || o.At > have.At {
			out[tp] = o
		}
	}
	return out
}

func (g *membership) fetchRequest(parts []topic.Partition) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = g.c.cfg.Group
	req.Topics = []kmsg.OffsetFetchRequestTopic{}
	for _, tp := range slices.SortedFunc(slices.Values(parts), topic.Partition.Compare) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewOffsetFetchRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, tp.Partition)
	}
	return req
}

func (g *membership) fetchFromKafka(ctx context.Context, parts []topic.Partition) (Offsets, error) {
	req := g.fetchRequest(parts)
	req.RequireStable = true // a transaction may be about to change it
	answer, err := g.ask(ctx, g.client, req, g.c.cfg.Client.RequestTimeout)
	if err != nil {
		return nil, err
	}
	r := answer.(*kmsg.OffsetFetchResponse)
	out, code := offsetsOf(r)
	if r.ErrorCode != 0 {
		code = kafkaerr.Code(r.ErrorCode)
	}
	if code != kafkaerr.None {
		if consequenceOf(code) == lookElsewhere {
			g.forget(-1)
		}
		return nil, kafkaerr.Wrap(code, "fetch committed offsets of "+g.c.cfg.Group, nil)
	}
	return out, nil
}

func (g *membership) fetchFromZooKeeper(ctx context.Context, parts []topic.Partition) (Offsets, error) {
	answer, err := g.client.AnyUpTo(ctx, g.fetchRequest(parts), 0)
	if err != nil {
		return nil, err
	}
	out, code := offsetsOf(answer.(*kmsg.OffsetFetchResponse))
	if code != kafkaerr.None {
		return nil, kafkaerr.Wrap(code, "fetch offsets from ZooKeeper", nil)
	}
	return out, nil
}

// offsetsOf reads an answer. UNKNOWN_TOPIC_OR_PARTITION is how version 0 says that there is no offset.
func offsetsOf(r *kmsg.OffsetFetchResponse) (Offsets, kafkaerr.Code) {
	out := Offsets{}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			switch code := kafkaerr.Code(p.ErrorCode); {
			case code == kafkaerr.None && p.Offset >= 0:
				o := Offset{At: p.Offset, LeaderEpoch: -1}
				if r.Version >= 5 {
					o.LeaderEpoch = p.LeaderEpoch
				}
				if p.Metadata != nil {
					o.Metadata = *p.Metadata
				}
				out[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = o
			case code != kafkaerr.None && code != kafkaerr.UnknownTopicOrPartition:
				return nil, code
			}
		}
	}
	return out, kafkaerr.None
}
