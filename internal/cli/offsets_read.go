package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"kz/broker/group"
	"kz/client"
	"kz/client/consumer"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// zkOffsets reads what a group has committed to ZooKeeper, each level in one batch.
func zkOffsets(ctx context.Context, e *env, connect, id string) (map[topic.Partition]inZooKeeper, error) {
	c, err := openZk(ctx, e, connect)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out, strange, err := readZkOffsets(ctx, c, id)
	if err != nil {
		return nil, exitf(exitFailed, "kz offsets: ZooKeeper: %v", err)
	}
	for _, s := range strange {
		fmt.Fprintln(e.stderr, s)
	}
	return out, nil
}

// readZkOffsets reads the group's offsets; strange tells of znodes that hold none.
func readZkOffsets(ctx context.Context, c *zk.Client, id string) (out map[topic.Partition]inZooKeeper, strange []string, err error) {
	root := zkpaths.Consumers + "/" + id + "/offsets"
	topics, err := c.Children(ctx, root, false)
	if errors.Is(err, zk.NoNode) || errors.Is(err, zk.BadArguments) { // "" and ".." are groups, but no znodes
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var ops []zk.Op
	for _, name := range topics {
		ops = append(ops, zk.ChildrenOp(root+"/"+name, false))
	}
	var parts []topic.Partition
	var gets []zk.Op
	for i, r := range c.Do(ctx, ops...) {
		if r.Err != nil && r.Err != zk.NoNode {
			return nil, nil, r.Err
		}
		for _, child := range r.Children {
			if n, err := strconv.ParseInt(child, 10, 32); err == nil {
				parts = append(parts, topic.Partition{Topic: topics[i], Partition: int32(n)})
				gets = append(gets, zk.GetOp(zkpaths.ConsumerOffset(id, topics[i], int32(n))))
			}
		}
	}
	out = map[topic.Partition]inZooKeeper{}
	for i, r := range c.Do(ctx, gets...) {
		if r.Err == zk.NoNode {
			continue
		}
		if r.Err != nil {
			return nil, nil, r.Err
		}
		n, err := strconv.ParseInt(string(r.Data), 10, 64)
		if err != nil {
			strange = append(strange, fmt.Sprintf("%s holds %.60q, which is no offset.", zkpaths.ConsumerOffset(id, parts[i].Topic, parts[i].Partition), r.Data))
			continue
		}
		out[parts[i]] = inZooKeeper{Offset: n, When: r.Stat.Mtime, Version: r.Stat.Version}
	}
	return out, strange, nil
}

// logOffsets reads the group's partition of __consumer_offsets from its beginning to
// its end, as a coordinator does that takes it over, and keeps what the last record
// about each partition says. Without that topic, partition is -1.
func logOffsets(ctx context.Context, cfg client.Config, id string) (partition int32, found map[topic.Partition]inKafka, err error) {
	c := consumer.New(consumer.DefaultConfig(cfg))
	defer c.Close()
	asking := client.New(cfg)
	defer asking.Close()
	cl, err := asking.Metadata(ctx, []string{topic.ConsumerOffsets}, false)
	if err != nil {
		return -1, nil, err
	}
	t := cl.Topics[topic.ConsumerOffsets]
	if t.Err == kafkaerr.UnknownTopicOrPartition || len(t.Partitions) == 0 {
		return -1, nil, nil
	}
	tp := topic.Partition{Topic: topic.ConsumerOffsets, Partition: group.PartitionFor(id, int32(len(t.Partitions)))}
	found = map[topic.Partition]inKafka{}
	err = readWhole(ctx, c, tp, func(r shownRecord) error {
		s, err := group.ReadStored(r.Key, r.Value)
		if err != nil || s.Group != id || !s.IsOffset {
			return nil // what cannot be read is nobody's offset
		}
		if delete(found, s.Partition); s.Offset != nil {
			found[s.Partition] = inKafka{Offset: s.Offset.Offset, When: s.Offset.CommitTimestamp, At: r.Offset}
		}
		return nil
	})
	return tp.Partition, found, err
}

// readWhole reads a partition from its first record to where its end is now.
func readWhole(ctx context.Context, c *consumer.Consumer, tp topic.Partition, see func(shownRecord) error) error {
	ends, err := c.EndOffsets(ctx, tp)
	if err != nil {
		return err
	}
	if err := c.Assign([]topic.Partition{tp}, consumer.Earliest); err != nil {
		return err
	}
	for {
		at, err := c.Position(ctx, tp)
		if err != nil || at >= ends[tp] {
			return err
		}
		got, err := c.Poll(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, f := range got {
			for r, err := range f.Records() {
				if err != nil {
					return err
				}
				if err := see(shownRecord{part: f.Partition, Record: r}); err != nil {
					return err
				}
			}
			f.Release()
		}
	}
}
