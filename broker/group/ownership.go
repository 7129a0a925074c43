package group

import (
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// ownership is one reign over a partition of __consumer_offsets. A new reign is a new
// value, so that who loads for an old one can tell.
type ownership struct{ loading bool }

// code is what requests about the partition's groups are told; NONE: they are served.
func (o *ownership) code() kafkaerr.Code {
	switch {
	case o == nil:
		return kafkaerr.NotCoordinator
	case o.loading:
		return kafkaerr.CoordinatorLoadInProgress
	}
	return kafkaerr.None
}

// task is a load (reign is set) or an unload of one partition.
type task struct {
	partition int32
	reign     *ownership
}

// OnLeadershipChange hears which partitions this broker began to lead (or goes on leading,
// at another epoch) and which it does not lead any more. It only notes it: replica's lock
// is held, and reading a log takes long. From now on the groups answer
// COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR.
func (c *Coordinator) OnLeadershipChange(leaders, followers []topic.Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range leaders {
		if p.Topic == topic.ConsumerOffsets && c.owned[p.Partition] == nil {
			reign := &ownership{loading: true}
			c.owned[p.Partition] = reign
			c.tasks = append(c.tasks, task{p.Partition, reign})
		}
	}
	for _, p := range followers {
		if p.Topic == topic.ConsumerOffsets && c.owned[p.Partition] != nil {
			delete(c.owned, p.Partition)
			c.tasks = append(c.tasks, task{partition: p.Partition})
		}
	}
	if len(c.tasks) > 0 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// runTasks is the goroutine that loads and unloads, one after the other, so that the
// groups of one reign are gone before those of the next come.
func (c *Coordinator) runTasks() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.wake:
		}
		for t, ok := c.nextTask(); ok && c.ctx.Err() == nil; t, ok = c.nextTask() {
			if t.reign == nil {
				c.unload(t.partition)
			} else {
				c.load(t.partition, t.reign)
			}
		}
	}
}

func (c *Coordinator) nextTask() (task, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tasks) == 0 {
		return task{}, false
	}
	t := c.tasks[0]
	c.tasks = c.tasks[1:]
	return t, true
}

// reigns says whether a reign still lasts.
func (c *Coordinator) reigns(partition int32, reign *ownership) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned[partition] == reign
}

// loadsAny says whether some partition is not loaded yet.
func (c *Coordinator) loadsAny() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.owned {
		if o.loading {
			return true
		}
	}
	return false
}

// unload ends the groups of a partition that another broker coordinates now.
func (c *Coordinator) unload(partition int32) {
	var gone []*group
	c.mu.Lock()
	for id, g := range c.groups {
		if c.PartitionFor(id) == partition {
			gone = append(gone, g)
			delete(c.groups, id)
		}
	}
	c.mu.Unlock()
	for _, g := range gone {
		g.unload()
	}
	c.log.Info().Int32("partition", partition).Int("groups", len(gone)).Msg("no longer coordinator: groups unloaded")
}

// unload ends a group here: it writes nothing any more, and everybody who waits is sent to
// the new coordinator. Mirrors GroupCoordinator.onGroupUnloaded.
func (g *group) unload() {
	g.writing.Lock()
	g.unloaded = true
	g.writing.Unlock()
	g.act(func() {
		if !g.is(Dead) {
			g.to(Dead, "unloaded")
		}
		g.join.stop()
		g.expectNoSync()
		for id := range g.pending {
			g.pending[id].stop()
		}
		clear(g.pending)
		for _, m := range g.order {
			g.answerJoin(m, refuseJoin(m.id, kafkaerr.NotCoordinator))
			g.answerSync(m, SyncResult{Code: kafkaerr.NotCoordinator})
			m.session.stop()
		}
	})
}
