package consumer

import (
	"context"
	"maps"
	"slices"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// keep asks for metadata until the consumer closes: whenever a partition has no leader
// or a subscribed topic is not there, and every metadata.max.age.ms.
func (c *Consumer) keep() {
	age := c.cfg.Client.MetadataMaxAge
	old := time.NewTimer(age)
	defer old.Stop()
	var last time.Time
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.refresh:
		case <-old.C:
		}
		if c.pause(time.Until(last.Add(c.cfg.Client.RetryBackoff))) != nil {
			return
		}
		last = time.Now()
		if c.update() {
			c.lookForLeaders()
		}
		old.Reset(age)
	}
}

func (c *Consumer) pause(d time.Duration) error {
	if d <= 0 {
		return c.ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// update asks about every topic of interest. It reports whether something is still missing.
func (c *Consumer) update() (again bool) {
	names, wanted := c.interests()
	if names != nil && len(names) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Client.RequestTimeout)
	defer cancel()
	cl, err := c.client.Metadata(ctx, names, wanted && c.cfg.CreateTopics)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = cl
	again = c.sub.learn(cl, c.cfg.InternalTopics)
	for _, pos := range c.parts {
		again = c.followLocked(pos, cl) || again
	}
	c.announceLocked()
	return again
}

// interests lists the topics to ask about; nil is all of them. wanted says that they
// are subscribed to, so that the broker may create them.
func (c *Consumer) interests() (names []string, wanted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub.pattern != nil {
		return nil, false
	}
	set := map[string]bool{}
	for p := range c.parts {
		set[p.Topic] = true
	}
	for _, t := range c.sub.topics {
		set[t] = true
	}
	for t := range c.sub.dealt {
		set[t] = true
	}
	return append([]string{}, slices.Sorted(maps.Keys(set))...), len(c.sub.topics) > 0
}

// followLocked takes over a partition's leader, unless the answer is older than what we
// know. It reports whether there is none.
func (c *Consumer) followLocked(pos *position, cl *client.Cluster) (again bool) {
	leader, epoch := leaderOf(cl, pos.part)
	if pos.err != nil {
		return false
	}
	if leader == client.NoLeader || epoch >= 0 && epoch < pos.leaderEpoch {
		return pos.leader == client.NoLeader
	}
	if epoch > pos.leaderEpoch {
		pos.check = pos.epoch >= 0 && pos.known()
	}
	if leader == pos.leader && epoch == pos.leaderEpoch {
		return false
	}
	pos.leader, pos.leaderEpoch = leader, epoch
	c.pokeLocked(pos)
	return false
}

func leaderOf(cl *client.Cluster, tp topic.Partition) (leader, epoch int32) {
	for _, p := range cl.Topics[tp.Topic].Partitions {
		if p.ID == tp.Partition && (p.Err == kafkaerr.None || p.Err == kafkaerr.ReplicaNotAvailable) {
			return p.Leader, p.LeaderEpoch
		}
	}
	return client.NoLeader, -1
}

// fetcherLocked gives the broker's fetcher, starting it when needed. c.mu is held.
func (c *Consumer) fetcherLocked(node int32) *fetcher {
	f := c.fetchers[node]
	if f == nil {
		f = &fetcher{c: c, node: node, wake: make(chan struct{}, 1)}
		c.fetchers[node] = f
		if c.ctx.Err() == nil {
			c.wg.Go(f.run)
		}
	}
	return f
}
