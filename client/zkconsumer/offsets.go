package zkconsumer

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"kz/client/consumer"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Commit writes how far Poll has got: into ZooKeeper, as decimal text; with
// offsets.storage=kafka into __consumer_offsets; with dual first there, then into
// ZooKeeper.
func (c *Consumer) Commit(ctx context.Context) error {
	offsets := c.inner.Consumed()
	if len(offsets) == 0 {
		return nil
	}
	if c.cfg.Storage != consumer.StoreZooKeeper {
		if err := c.inner.CommitOffsets(ctx, offsets); err != nil {
			return err
		}
	}
	if c.cfg.Storage == consumer.StoreKafka {
		return nil
	}
	var failures []error
	for p, o := range offsets {
		c.mu.Lock()
		last, known := c.written[p]
		c.mu.Unlock()
		if known && last == o.At {
			continue // nothing new to say
		}
		if err := c.write(ctx, p, o.At); err != nil {
			failures = append(failures, err)
			if ctx.Err() != nil {
				break // the others would say the same
			}
			continue
		}
		c.mu.Lock()
		c.written[p] = o.At
		c.mu.Unlock()
	}
	return errors.Join(failures...)
}

// write sets the node whatever it holds (version -1): nobody checks who owns the
// partition. Its parents are made on first use.
func (c *Consumer) write(ctx context.Context, p topic.Partition, at int64) error {
	path, data := zkpaths.ConsumerOffset(c.cfg.Group, p.Topic, p.Partition), []byte(strconv.FormatInt(at, 10))
	_, err := c.zk.Set(ctx, path, data, -1)
	if !errors.Is(err, zk.NoNode) {
		return err
	}
	if err = c.zk.CreateRecursive(ctx, path, data); errors.Is(err, zk.NodeExists) {
		_, err = c.zk.Set(ctx, path, data, -1) // somebody was faster
	}
	return err
}

// starts gives where the group left off, for the partitions that it has read before.
// With dual the greater of the two places holds.
func (c *Consumer) starts(ctx context.Context, parts []topic.Partition) (consumer.Offsets, error) {
	out := consumer.Offsets{}
	if len(parts) == 0 {
		return out, nil
	}
	if c.cfg.Storage != consumer.StoreZooKeeper {
		var err error
		if out, err = c.inner.Committed(ctx, parts...); err != nil {
			return nil, err
		}
	}
	if c.cfg.Storage == consumer.StoreKafka {
		return out, nil
	}
	for _, p := range parts {
		data, _, err := c.zk.Get(ctx, zkpaths.ConsumerOffset(c.cfg.Group, p.Topic, p.Partition))
		if errors.Is(err, zk.NoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		at, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil || at < 0 {
			continue // no offset: auto.offset.reset
		}
		if have, ok := out[p]; !ok || at > have.At {
			out[p] = consumer.Offset{At: at, LeaderEpoch: -1}
		}
	}
	return out, nil
}
