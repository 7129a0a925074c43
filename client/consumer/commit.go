package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Offset is a place in a partition that a group keeps: the next record to read, never
// the last one read. Mirrors OffsetAndMetadata.
type Offset struct {
	At          int64
	LeaderEpoch int32  // of the record before it, -1 unknown
	Metadata    string // anything; the broker keeps it
}

// Offsets is a place per partition.
type Offsets map[topic.Partition]Offset

// ErrCommitFailed says that the group gave our partitions to others: what was read
// since the last commit will be read again, by them.
var ErrCommitFailed = errors.New("commit cannot be completed since the group has already rebalanced: Poll was not called often enough (max.poll.interval.ms), or no heartbeat came through (session.timeout.ms)")

// Consumed is what a commit says now: the places up to which Poll has given everything.
func (c *Consumer) Consumed() Offsets {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Offsets{}
	for tp, p := range c.parts {
		if p.consumed >= 0 {
			out[tp] = Offset{At: p.consumed, LeaderEpoch: p.epoch}
		}
	}
	return out
}

// CommitSync commits everything that Poll has given, and waits until it is kept.
func (c *Consumer) CommitSync(ctx context.Context) error { return c.CommitOffsets(ctx, c.Consumed()) }

// CommitOffsets commits the given places. It repeats what may be repeated, up to
// default.api.timeout.ms.
func (c *Consumer) CommitOffsets(ctx context.Context, offsets Offsets) error {
	if c.group == nil {
		return ErrNoGroup
	}
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	ctx, cancel, _ := c.client.Deadline(ctx)
	defer cancel()
	return c.group.commit(ctx, offsets)
}

// CommitAsync sends a commit and returns; nil offsets are those that Poll has given. It
// is not repeated when it fails: a later one may have been kept by then. done, which may
// be nil, runs inside a later Poll or Close.
func (c *Consumer) CommitAsync(offsets Offsets, done func(Offsets, error)) error {
	if c.group == nil {
		return ErrNoGroup
	}
	if offsets == nil {
		offsets = c.Consumed()
	}
	offsets = maps.Clone(offsets)
	wait, finished := c.group.queue()
	c.wg.Go(func() {
		defer close(finished)
		err := wait(c.ctx)
		if err == nil {
			err = c.group.commitOnce(c.ctx, offsets)
		}
		if done == nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.callbacks = append(c.callbacks, func() { done(offsets, err) })
		c.announceLocked()
	})
	return nil
}

// runCallbacks runs what finished commits owe.
func (c *Consumer) runCallbacks() {
	c.mu.Lock()
	due := c.callbacks
	c.callbacks = nil
	c.mu.Unlock()
	if len(due) == 0 {
		return
	}
	c.listens.Store(true)
	defer c.listens.Store(false)
	for _, f := range due {
		f()
	}
}

// queue puts a commit in line: they go out one after the other, in the order of the
// calls, so that an older place cannot overtake a newer one.
func (g *membership) queue() (wait func(context.Context) error, finished chan struct{}) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	before := g.lastInLine
	finished = make(chan struct{})
	g.lastInLine = finished
	return func(ctx context.Context) error {
		if before == nil {
			return nil
		}
		select {
		case <-before:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, finished
}

// drainCommits waits for the commits in line.
func (g *membership) drainCommits(ctx context.Context) error {
	wait, finished := g.queue()
	defer close(finished)
	return wait(ctx)
}

// commit repeats commitOnce until it is kept, cannot be, or ctx ends.
func (g *membership) commit(ctx context.Context, offsets Offsets) error {
	if len(offsets) == 0 {
		return nil
	}
	wait, finished := g.queue()
	defer close(finished)
	if err := wait(ctx); err != nil {
		return err
	}
	for {
		err := g.commitOnce(ctx, offsets)
		if !client.Retriable(err) || kafkaerr.CodeOf(err) == kafkaerr.RebalanceInProgress || g.c.client.Backoff(ctx) != nil {
			return err
		}
	}
}

// commitOnce sends the offsets to where offsets.storage says. With dual, ZooKeeper gets
// them after Kafka has kept them.
func (g *membership) commitOnce(ctx context.Context, offsets Offsets) error {
	if len(offsets) == 0 {
		return nil
	}
	if g.c.cfg.Storage != StoreZooKeeper {
		if err := g.commitToKafka(ctx, offsets); err != nil {
			return err
		}
	}
	if g.c.cfg.Storage != StoreKafka {
		return g.commitToZooKeeper(ctx, offsets)
	}
	return nil
}

// standing is who commits: a member of a generation, or, with assigned partitions,
// nobody in particular.
func (g *membership) standing() (generation int32, memberID string, err error) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	switch {
	case !g.c.sub.active:
		return -1, "", nil
	case g.fenced != nil:
		return 0, "", g.fenced
	case g.state == joining:
		return 0, "", kafkaerr.New(kafkaerr.RebalanceInProgress, "the group is rebalancing; call Poll until it is done, then commit again")
	case g.state == unjoined:
		return 0, "", ErrCommitFailed
	}
	return g.generation, g.memberID, nil
}

// autoCommit commits when enable.auto.commit says so; it gives how long until it is due again.
func (c *Consumer) autoCommit() time.Duration {
	if !c.cfg.AutoCommit {
		return 0
	}
	c.mu.Lock()
	due := time.Until(c.group.nextCommit)
	if due <= 0 {
		c.group.nextCommit = time.Now().Add(c.cfg.AutoCommitEvery)
	}
	ready := !c.sub.active || c.group.state == stable
	c.mu.Unlock()
	if due > 0 {
		return due
	}
	if ready {
		_ = c.CommitAsync(nil, nil) // the next one says more
	}
	return c.cfg.AutoCommitEvery
}

// Committed gives what the group has committed of the partitions; those without are not in it.
func (c *Consumer) Committed(ctx context.Context, parts ...topic.Partition) (Offsets, error) {
	if c.group == nil {
		return nil, ErrNoGroup
	}
	ctx, cancel, _ := c.client.Deadline(ctx)
	defer cancel()
	return c.group.committed(ctx, parts)
}

// resolveCommitted looks up where the group left off, for the partitions that start
// there, beside Poll.
func (c *Consumer) resolveCommitted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []topic.Partition
	asked := map[topic.Partition]int{}
	for tp, p := range c.parts {
		if p.offset == Committed && p.err == nil {
			parts = append(parts, tp)
			asked[tp] = p.version
		}
	}
	if len(parts) == 0 || c.resolving {
		return
	}
	c.resolving = true
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Client.APITimeout)
		defer cancel()
		offsets, err := c.group.committed(ctx, parts)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.resolving = false
		for tp, version := range asked {
			if p := c.parts[tp]; p != nil && p.version == version && p.offset == Committed {
				c.startLocked(p, offsets, err)
			}
		}
		c.announceLocked()
	})
}

// startLocked sets where a partition starts. A lookup that may succeed later is made
// again by the next Poll.
func (c *Consumer) startLocked(p *position, offsets Offsets, err error) {
	o, found := offsets[p.part]
	switch {
	case client.Retriable(err) || errors.Is(err, context.DeadlineExceeded):
		return
	case err != nil:
		p.err = err
	case found:
		p.offset, p.consumed, p.epoch, p.check = o.At, o.At, o.LeaderEpoch, o.LeaderEpoch >= 0
	case c.cfg.NoReset:
		p.err = fmt.Errorf("%v: %w", p.part, ErrNoOffset)
	default:
		p.offset = c.cfg.reset()
	}
	c.pokeLocked(p)
}
