package group

import (
	"fmt"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// loaded is what a partition of __consumer_offsets says, read from the front: of each key
// the last value counts.
type loaded struct {
	groups  map[string]*storedGroup // nil value: its tombstone came last
	offsets map[string]map[topic.Partition]committed
	// open are offsets of transactions whose marker has not come, by producer.
	open    map[int64]map[string]map[topic.Partition]committed
	skipped []error // what could not be read
}

func newLoaded() *loaded {
	return &loaded{groups: map[string]*storedGroup{}, offsets: map[string]map[topic.Partition]committed{}, open: map[int64]map[string]map[topic.Partition]committed{}}
}

// load reads a partition to its end and serves its groups, if the reign lasts so long.
// Mirrors GroupMetadataManager.doLoadGroupsAndOffsets.
func (c *Coordinator) load(partition int32, reign *ownership) {
	p := topic.Partition{Topic: topic.ConsumerOffsets, Partition: partition}
	l, err := c.read(p, func() bool { return c.ctx.Err() == nil && c.reigns(partition, reign) })
	if err != nil {
		c.log.Error().Err(err).Stringer("partition", p).Msg("offsets and groups could not be loaded: what was read counts")
	}
	for _, why := range l.skipped {
		c.log.Warn().Err(why).Stringer("partition", p).Msg("a record of the offsets topic is passed over")
	}
	groups := c.assemble(l)
	c.mu.Lock()
	lasts := c.owned[partition] == reign
	if lasts {
		for id, g := range groups {
			c.groups[id] = g
		}
		reign.loading = false
	}
	c.mu.Unlock()
	if !lasts {
		return
	}
	for _, g := range groups {
		g.act(g.begin)
	}
	c.log.Info().Stringer("partition", p).Int("groups", len(groups)).Msg("coordinator: groups loaded")
	if c.d.Journal.On() {
		c.d.Journal.Emit(journal.Event{Kind: journal.GroupsLoaded, Source: "group", Topic: p.Topic, Partition: p.Partition, Text: fmt.Sprintf("%d groups", len(groups))})
	}
}

// read goes through the log, as long as goOn says so and this broker leads.
func (c *Coordinator) read(p topic.Partition, goOn func() bool) (*loaded, error) {
	l := newLoaded()
	for offset := int64(-1); goOn(); {
		r, err := c.d.Replicas.ReadLed(p, offset, c.cfg.LoadBufferSize)
		if kafkaerr.CodeOf(err) == kafkaerr.NotLeaderOrFollower {
			return l, nil // an unload will follow
		}
		if err != nil || len(r.Data) == 0 {
			return l, err
		}
		next, err := l.batches(r.Data, r.Offset)
		if err != nil || next <= offset {
			return l, err
		}
		offset = next
	}
	return l, nil
}

// batches reads whole batches, and says where the next one begins. Those below from were
// read before: a read begins at the front of a batch.
func (l *loaded) batches(b []byte, from int64) (next int64, err error) {
	next = from
	for batch, err := range record.Batches(b) {
		if err != nil {
			if next > from {
				return next, nil // cut at the end of what was read; if not, the next read says so
			}
			return next, err
		}
		if batch.LastOffset() >= next {
			l.batch(batch)
			next = batch.LastOffset() + 1
		}
	}
	return next, nil
}

func (l *loaded) batch(b record.Batch) {
	if b.IsControl() {
		if m, err := record.ParseMarker(b); err == nil {
			l.end(b.ProducerID(), m.Type == record.Commit)
		}
		return
	}
	for r, err := range b.Records() {
		if err == nil {
			err = l.record(b, r)
		}
		if err != nil {
			l.skipped = append(l.skipped, fmt.Errorf("offset %d: %w", r.Offset, err))
		}
	}
}

func (l *loaded) record(b record.Batch, r record.Record) error {
	key, err := readKey(r.Key)
	if err != nil {
		return err
	}
	if !key.isOffset {
		if r.Value == nil {
			l.groups[key.group] = nil
			return nil
		}
		g, err := readGroupValue(r.Value)
		if err == nil {
			l.groups[key.group] = &g
		}
		return err
	}
	into := l.offsets
	if b.IsTransactional() {
		if l.open[b.ProducerID()] == nil {
			l.open[b.ProducerID()] = map[string]map[topic.Partition]committed{}
		}
		into = l.open[b.ProducerID()]
	}
	if r.Value == nil {
		delete(into[key.group], key.offset)
		return nil
	}
	o, err := readOffsetValue(r.Value)
	if err != nil {
		return err
	}
	if into[key.group] == nil {
		into[key.group] = map[topic.Partition]committed{}
	}
	into[key.group][key.offset] = committed{o, b.BaseOffset()}
	return nil
}

// end is a transaction's marker: its offsets count from now on, or never did.
func (l *loaded) end(producer int64, commit bool) {
	for group, offsets := range l.open[producer] {
		for p, o := range offsets {
			old, ok := l.offsets[group][p]
			if !commit || ok && old.at >= o.at {
				continue
			}
			if l.offsets[group] == nil {
				l.offsets[group] = map[topic.Partition]committed{}
			}
			l.offsets[group][p] = o
		}
	}
	delete(l.open, producer)
}

// assemble makes the groups. Offsets without a group's record belong to a group that
// never had members, or is forgotten.
func (c *Coordinator) assemble(l *loaded) map[string]*group {
	groups := map[string]*group{}
	get := func(id string) *group {
		if groups[id] == nil {
			groups[id] = c.newGroup(id)
		}
		return groups[id]
	}
	for id, s := range l.groups {
		if s != nil {
			groups[id] = c.restore(id, *s)
		}
	}
	for id, offsets := range l.offsets {
		if len(offsets) > 0 {
			get(id).offsets.stored = offsets
		}
	}
	for producer, byGroup := range l.open {
		for id, offsets := range byGroup {
			if len(offsets) > 0 {
				get(id).offsets.transactional[producer] = offsets
			}
		}
	}
	return groups
}

// begin is a loaded group's first act here: the sessions of its members begin anew. mu is
// held.
func (g *group) begin() {
	if g.is(Dead) {
		return
	}
	for _, m := range g.order {
		g.expect(m)
	}
	if len(g.order) > g.c.cfg.MaxSize {
		g.prepareRebalance(fmt.Sprintf("loaded with more members than group.max.size=%d", g.c.cfg.MaxSize))
	}
}
