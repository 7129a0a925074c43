package consumer

import (
	"context"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
)

// keep finds leaders for partitions that have none, until the consumer closes.
func (c *Consumer) keep() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.refresh:
		}
		if c.findLeaders() {
			if c.pause(c.cfg.Client.RetryBackoff) != nil {
				return
			}
			c.lookForLeaders()
		}
	}
}

func (c *Consumer) pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// findLeaders reports whether some partition is still without one.
func (c *Consumer) findLeaders() (again bool) {
	var names []string
	seen := map[string]bool{}
	c.mu.Lock()
	for p, pos := range c.parts {
		if pos.leader == client.NoLeader && pos.err == nil && !seen[p.Topic] {
			seen[p.Topic] = true
			names = append(names, p.Topic)
		}
	}
	c.mu.Unlock()
	if len(names) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Client.RequestTimeout)
	defer cancel()
	cl, err := c.client.Metadata(ctx, names, false)
	if err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, pos := range c.parts {
		if pos.leader != client.NoLeader || pos.err != nil || !seen[p.Topic] {
			continue
		}
		leader := leaderOf(cl, p.Topic, p.Partition)
		if leader == client.NoLeader {
			again = true
			continue
		}
		pos.leader = leader
		c.fetcherLocked(leader).poke()
	}
	return again
}

func leaderOf(cl *client.Cluster, name string, id int32) int32 {
	for _, p := range cl.Topics[name].Partitions {
		if p.ID == id && (p.Err == kafkaerr.None || p.Err == kafkaerr.ReplicaNotAvailable) {
			return p.Leader
		}
	}
	return client.NoLeader
}

// fetcherLocked gives the broker's fetcher, starting it when needed. c.mu is held.
func (c *Consumer) fetcherLocked(node int32) *fetcher {
	f := c.fetchers[node]
	if f == nil {
		f = &fetcher{c: c, node: node, wake: make(chan struct{}, 1)}
		c.fetchers[node] = f
		c.wg.Go(f.run)
	}
	return f
}
