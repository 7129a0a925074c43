package group

import (
	"maps"
	"slices"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// DeleteGroups removes groups without members, and answers for each. Mirrors
// GroupCoordinator.handleDeleteGroups.
func (c *Coordinator) DeleteGroups(ids []string) map[string]kafkaerr.Code {
	out := make(map[string]kafkaerr.Code, len(ids))
	for _, id := range ids {
		if _, twice := out[id]; !twice {
			out[id] = c.deleteGroup(id)
		}
	}
	return out
}

func (c *Coordinator) deleteGroup(id string) (code kafkaerr.Code) {
	if code := c.check(id, mayBeEmpty); code != kafkaerr.None {
		return code
	}
	g := c.lookup(id)
	if g == nil {
		return kafkaerr.GroupIDNotFound
	}
	g.act(func() {
		switch g.state {
		case Dead:
			code = kafkaerr.GroupIDNotFound
		case Empty:
			g.to(Dead, "deleted")
			g.bury(g.offsets.remove(g.offsets.partitions()))
		default:
			code = kafkaerr.NonEmptyGroup
		}
	})
	return code
}

// DeleteOffsets removes offsets of a group, and answers for each partition, or for all with
// one code. A group of consumers keeps those of the topics it subscribes to; another group
// with members keeps all. Mirrors GroupCoordinator.handleDeleteOffsets.
func (c *Coordinator) DeleteOffsets(id string, ps []topic.Partition) (out map[topic.Partition]kafkaerr.Code, code kafkaerr.Code) {
	if code := c.check(id, mustBeNamed); code != kafkaerr.None {
		return nil, code
	}
	g := c.lookup(id)
	if g == nil {
		return nil, kafkaerr.GroupIDNotFound
	}
	g.act(func() {
		switch {
		case g.is(Dead):
			code = kafkaerr.GroupIDNotFound
			return
		case !g.is(Empty) && g.protocolType != consumerType:
			code = kafkaerr.NonEmptyGroup
			return
		}
		out = map[topic.Partition]kafkaerr.Code{}
		var free []topic.Partition
		for _, p := range ps {
			if !g.is(Empty) && g.mayRead(p.Topic) {
				out[p] = kafkaerr.GroupSubscribedToTopic
			} else {
				out[p], free = kafkaerr.None, append(free, p)
			}
		}
		if len(free) > 0 {
			g.clean(free)
		}
	})
	return out, code
}

// mayRead: a member subscribes to the topic, or who knows.
func (g *group) mayRead(name string) bool { return g.subscribed == nil || g.subscribed[name] }

// TopicsDeleted removes the offsets of partitions that are gone.
func (c *Coordinator) TopicsDeleted(ps []topic.Partition) {
	if len(ps) == 0 {
		return
	}
	for _, g := range c.all() {
		g.act(func() { g.clean(ps) })
	}
}

// expire removes the offsets whose time is over, and the groups that nothing is left of.
func (c *Coordinator) expire() {
	now := nowMs()
	for _, g := range c.all() {
		g.act(func() { g.clean(g.expiredOffsets(now)) })
	}
}

// clean removes offsets, and the group itself when nothing is left of it: no members, no
// offsets. Mirrors GroupMetadataManager.cleanupGroupMetadata. mu is held.
func (g *group) clean(ps []topic.Partition) {
	if g.is(Dead) {
		return
	}
	removed := g.offsets.remove(ps)
	if g.is(Empty) && g.offsets.none() {
		g.to(Dead, "no members and no offsets")
	}
	g.bury(removed)
}

// bury writes tombstones for what was removed, and for the group itself if it is dead and
// was ever written. Nobody waits for their replicas: what is lost will expire again. A dead
// group leaves the table after its tombstone, so that a new group of its name writes behind
// it. mu is held.
func (g *group) bury(removed []topic.Partition) {
	var tombstones []entry
	for _, p := range removed {
		tombstones = append(tombstones, entry{key: offsetKey(g.id, p)})
	}
	dead := g.is(Dead)
	if dead && g.generation > 0 {
		tombstones = append(tombstones, entry{key: groupKey(g.id)})
	}
	if len(tombstones) > 0 {
		g.append(tombstones, plainSequence, 0, nil)
	}
	if dead {
		for id := range maps.Clone(g.pending) {
			g.forgetPending(id)
		}
		g.later(func() { g.c.forget(g) })
	}
}

func sortedPartitions[V any](m map[topic.Partition]V) []topic.Partition {
	return slices.SortedFunc(maps.Keys(m), topic.Partition.Compare)
}
