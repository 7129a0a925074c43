package consumer

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// TimedOffset is the first record at or after a time. Mirrors OffsetAndTimestamp.
type TimedOffset struct {
	Offset    int64
	Timestamp int64 // the record's, epoch ms
}

// BeginningOffsets gives the offset of the first record there is.
func (c *Consumer) BeginningOffsets(ctx context.Context, parts ...topic.Partition) (map[topic.Partition]int64, error) {
	return c.ends(ctx, parts, Earliest)
}

// EndOffsets gives the offset that the next record will get (of those that may be read: the high watermark).
func (c *Consumer) EndOffsets(ctx context.Context, parts ...topic.Partition) (map[topic.Partition]int64, error) {
	return c.ends(ctx, parts, Latest)
}

func (c *Consumer) ends(ctx context.Context, parts []topic.Partition, which int64) (map[topic.Partition]int64, error) {
	times := map[topic.Partition]int64{}
	for _, p := range parts {
		times[p] = which
	}
	found, err := c.lookUp(ctx, times)
	out := map[topic.Partition]int64{}
	for p, o := range found {
		out[p] = o.Offset
	}
	return out, err
}

// OffsetsForTimes gives, per partition, the first record whose timestamp (epoch ms) is
// not before the given one; a partition without such a record is not in the answer.
func (c *Consumer) OffsetsForTimes(ctx context.Context, times map[topic.Partition]int64) (map[topic.Partition]TimedOffset, error) {
	for p, t := range times {
		if t < 0 {
			return nil, kafkaerr.New(kafkaerr.InvalidTimestamp, fmt.Sprintf("%v: the time %d is negative", p, t))
		}
	}
	return c.lookUp(ctx, times)
}

// lookUp asks each partition's leader, until all have answered or default.api.timeout.ms is over.
func (c *Consumer) lookUp(ctx context.Context, times map[topic.Partition]int64) (map[topic.Partition]TimedOffset, error) {
	ctx, cancel, _ := c.client.Deadline(ctx)
	defer cancel()
	out := map[topic.Partition]TimedOffset{}
	todo := map[topic.Partition]int64{}
	for p, t := range times {
		todo[p] = t
	}
	for {
		err := c.lookUpOnce(ctx, todo, out)
		if len(todo) == 0 || err != nil && !client.Retriable(err) {
			return out, err
		}
		if c.client.Backoff(ctx) != nil {
			if err == nil {
				err = ctx.Err()
			}
			return out, err
		}
	}
}

// lookUpOnce moves what was answered from todo to out; the last error is why the rest was not.
func (c *Consumer) lookUpOnce(ctx context.Context, todo map[topic.Partition]int64, out map[topic.Partition]TimedOffset) error {
	var names []string
	for p := range todo {
		if !slices.Contains(names, p.Topic) {
			names = append(names, p.Topic)
		}
	}
	if len(names) == 0 {
		return nil
	}
	cl, err := c.client.Metadata(ctx, names, false)
	if err != nil {
		return err
	}
	byLeader := map[int32][]position{}
	for p, t := range todo {
		leader, epoch := leaderOf(cl, p)
		if leader == client.NoLeader {
			err = kafkaerr.Wrap(kafkaerr.LeaderNotAvailable, p.String(), nil)
			if code := cl.Topics[p.Topic].Err; code != kafkaerr.None && !code.Retriable() {
				return kafkaerr.Wrap(code, p.Topic, nil)
			}
			continue
		}
		byLeader[leader] = append(byLeader[leader], position{part: p, offset: t, leaderEpoch: epoch})
	}
	for node, parts := range byLeader {
		if e := c.lookUpAt(ctx, node, parts, todo, out); e != nil {
			err = e
		}
	}
	return err
}

func (c *Consumer) lookUpAt(ctx context.Context, node int32, parts []position, todo map[topic.Partition]int64, out map[topic.Partition]TimedOffset) error {
	slices.SortFunc(parts, func(a, b position) int { return a.part.Compare(b.part) })
	resp, err := c.client.Node(ctx, node, listOffsets(parts))
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			tp := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if code := kafkaerr.Code(p.ErrorCode); code != kafkaerr.None {
				err = kafkaerr.Wrap(code, "offsets of "+tp.String(), nil)
				continue
			}
			if p.Offset >= 0 {
				out[tp] = TimedOffset{Offset: p.Offset, Timestamp: p.Timestamp}
			}
			delete(todo, tp)
		}
	}
	return err
}

// listOffsets asks for what the positions' offsets stand for: Earliest, Latest or a time.
// The positions are sorted.
func listOffsets(parts []position) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.part.Topic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.part.Topic
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch, rp.MaxNumOffsets = p.part.Partition, p.offset, p.leaderEpoch, 1
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, rp)
	}
	return req
}

// Position is the offset of the next record that Poll will give; it waits until that is
// known. A subscribed consumer has to be inside Poll now and then for that.
func (c *Consumer) Position(ctx context.Context, tp topic.Partition) (int64, error) {
	ctx, cancel, _ := c.client.Deadline(ctx)
	defer cancel()
	for {
		c.mu.Lock()
		p, news := c.parts[tp], c.news
		var at int64 = -1
		var err error
		if p != nil {
			at, err = p.consumed, p.err
		}
		c.mu.Unlock()
		switch {
		case p == nil:
			return -1, notAssigned(tp)
		case err != nil || at >= 0:
			return at, err
		}
		if c.group != nil {
			c.resolveCommitted()
		}
		select {
		case <-news:
		case <-ctx.Done():
			return -1, kafkaerr.Wrap(kafkaerr.RequestTimedOut, "position of "+tp.String(), ctx.Err())
		case <-c.closing:
			return -1, ErrClosed
		}
	}
}
