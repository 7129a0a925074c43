package zkconsumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kz/client/consumer"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// rebalance tries until the share is taken or the retries are used up. Members that
// see a change at different moments get in each other's way: the wait between attempts
// lets them come to rest. Mirrors ZKRebalancerListener.syncedRebalance.
func (c *Consumer) rebalance() error {
	var why error
	for i := range c.cfg.RebalanceRetries {
		if i > 0 {
			select {
			case <-time.After(c.cfg.RebalanceBackoff):
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
		if why = c.attempt(c.ctx); why == nil {
			c.mu.Lock()
			c.stats.Rebalances++
			c.mu.Unlock()
			return nil
		}
		if errors.Is(why, errConflict) {
			c.mu.Lock()
			c.stats.Conflicts++
			c.mu.Unlock()
		}
		_ = c.inner.Assign(nil, consumer.Earliest) // nothing is read in between
	}
	return fmt.Errorf("%s: %w: %w", c.id, ErrRebalanceFailed, why)
}

var errConflict = errors.New("a partition still has another owner")

// attempt is one round: look, let go, work out, take, read.
// Mirrors ZKRebalancerListener.rebalance.
func (c *Consumer) attempt(ctx context.Context) error {
	if err := c.comeBack(ctx); err != nil {
		return err
	}
	if there, err := c.anyBroker(ctx); err != nil || !there {
		return err
	}
	group, err := c.look(ctx)
	if err != nil {
		return err
	}
	if err := c.letGo(ctx); err != nil {
		return err
	}
	mine := group.shareOf(c.id)
	starts, err := c.starts(ctx, slices.Collect(maps.Keys(mine)))
	if err != nil {
		return err
	}
	if err := c.take(ctx, mine); err != nil {
		return err
	}
	c.mu.Lock()
	c.owned = mine
	c.mu.Unlock()
	return c.read(mine, starts)
}

// anyBroker says whether there is somebody to read from; if not, the first one wakes us.
func (c *Consumer) anyBroker(ctx context.Context) (bool, error) {
	ids, err := c.zk.Children(ctx, zkpaths.BrokerIDs, false)
	if err != nil || len(ids) > 0 {
		return len(ids) > 0, err
	}
	c.zk.RegisterChild(zkpaths.BrokerIDs, c.fired)
	ids, err = c.zk.Children(ctx, zkpaths.BrokerIDs, true)
	return len(ids) > 0, err
}

// comeBack registers again when the session is new: the old nodes are gone, and what
// we owned may be somebody else's.
func (c *Consumer) comeBack(ctx context.Context) error {
	c.mu.Lock()
	again := c.newSession
	if c.newSession = false; again {
		c.owned = map[topic.Partition]string{}
	}
	c.mu.Unlock()
	if !again {
		return nil
	}
	err := c.register(ctx)
	if err != nil {
		c.mu.Lock()
		c.newSession = true
		c.mu.Unlock()
	}
	return err
}

// group is what one reading of ZooKeeper says: who is there, what they want, what there is.
type group struct {
	members    map[string]map[string]int // member -> topic -> streams
	partitions map[string][]int32        // of each topic
}

// look reads everything, and arms the watches again by reading.
func (c *Consumer) look(ctx context.Context) (group, error) {
	g := group{members: map[string]map[string]int{}, partitions: map[string][]int32{}}
	ids, err := c.zk.Children(ctx, idsPath(c.cfg.Group), true)
	if err != nil {
		return g, err
	}
	existing, err := c.zk.Children(ctx, zkpaths.Topics, len(c.cfg.Topics) == 0)
	if err != nil && !errors.Is(err, zk.NoNode) {
		return g, err
	}
	for _, id := range ids {
		data, _, err := c.zk.Get(ctx, idPath(c.cfg.Group, id))
		if errors.Is(err, zk.NoNode) {
			continue // it has just gone; the watch will say so
		}
		if err != nil {
			return g, err
		}
		r, err := decodeRegistration(data)
		if err == nil {
			g.members[id], err = r.streams(existing, c.cfg.InternalTopics)
		}
		if err != nil {
			return g, fmt.Errorf("member %s: %w", id, err)
		}
	}
	for t := range g.members[c.id] {
		c.zk.RegisterData(zkpaths.Topic(t), c.fired) // before the Get, which arms the watch
		data, _, err := c.zk.Get(ctx, zkpaths.Topic(t))
		if errors.Is(err, zk.NoNode) {
			if _, _, err := c.zk.Exists(ctx, zkpaths.Topic(t)); err != nil { // arms the watch for its creation
				return g, err
			}
			continue
		}
		if err != nil {
			return g, err
		}
		a, err := zkpaths.DecodeTopicAssignment(data)
		if err != nil {
			return g, fmt.Errorf("topic %s: %w", t, err)
		}
		g.partitions[t] = slices.Collect(maps.Keys(a.Partitions))
	}
	return g, nil
}

// shareOf works out what a member gets, and for which of its threads: topic by topic,
// each stream of each member that wants the topic counts once.
func (g group) shareOf(member string) map[topic.Partition]string {
	out := map[topic.Partition]string{}
	for t := range g.members[member] {
		var all []string
		for id, wants := range g.members {
			all = append(all, threads(id, wants[t])...)
		}
		for p, thread := range shareOut(g.partitions[t], all) {
			if slices.Contains(threads(member, g.members[member][t]), thread) {
				out[topic.Partition{Topic: t, Partition: p}] = thread
			}
		}
	}
	return out
}

// letGo stops reading, commits, and deletes our owner nodes. What the caller holds of
// earlier Polls it may still be working on: the next owner may read that, too.
func (c *Consumer) letGo(ctx context.Context) error {
	if c.cfg.AutoCommit {
		if err := c.Commit(ctx); err != nil {
			return err
		}
	}
	_ = c.inner.Assign(nil, consumer.Earliest)
	c.mu.Lock()
	owned := c.owned
	c.owned = map[topic.Partition]string{}
	c.written = map[topic.Partition]int64{} // from here on others write, too
	c.mu.Unlock()
	return c.delete(ctx, owned)
}

func (c *Consumer) delete(ctx context.Context, owned map[topic.Partition]string) error {
	for p := range owned {
		if err := c.zk.Delete(ctx, ownerPath(c.cfg.Group, p.Topic, p.Partition), -1); err != nil && !errors.Is(err, zk.NoNode) {
			return err
		}
	}
	return nil
}

// take claims the share. A node that is somebody else's means that we have read
// something else than they: all that was taken in this round is given back.
func (c *Consumer) take(ctx context.Context, mine map[topic.Partition]string) error {
	taken := map[topic.Partition]string{}
	for _, p := range slices.SortedFunc(maps.Keys(mine), topic.Partition.Compare) {
		path := ownerPath(c.cfg.Group, p.Topic, p.Partition)
		err := c.create(ctx, path, []byte(mine[p]))
		if errors.Is(err, zk.NoNode) {
			if err = c.zk.CreateRecursive(ctx, path[:strings.LastIndexByte(path, '/')], nil); err == nil || errors.Is(err, zk.NodeExists) {
				err = c.create(ctx, path, []byte(mine[p]))
			}
		}
		if err == nil {
			taken[p] = mine[p]
			continue
		}
		if errors.Is(err, zk.NodeExists) {
			err = fmt.Errorf("%s: %w", p, errConflict)
		}
		return errors.Join(err, c.delete(ctx, taken))
	}
	return nil
}

// read begins to read, each partition where the group left off.
func (c *Consumer) read(mine map[topic.Partition]string, starts consumer.Offsets) error {
	from := consumer.Latest
	if c.cfg.Smallest {
		from = consumer.Earliest
	}
	if err := c.inner.Assign(slices.Collect(maps.Keys(mine)), from); err != nil {
		return err
	}
	for p, o := range starts {
		if err := c.inner.Seek(p, o.At); err != nil {
			return err
		}
	}
	return nil
}
