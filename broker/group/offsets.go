package group

import (
	"maps"
	"slices"

	"kz/internal/topic"
)

// committed is an offset and where its record is. Of two records the one further on in
// the log counts, whichever is heard of first: that is what a coordinator that loads the
// log will find. Mirrors CommitRecordMetadataAndOffset.
type committed struct {
	OffsetAndMetadata
	at int64 // base offset of its batch in __consumer_offsets
}

// offsets are the committed offsets of a group. Guarded by the group's lock.
type offsets struct {
	stored map[topic.Partition]committed
	// pending are on their way into the log: not to be expired, and not stable yet.
	pending map[topic.Partition]OffsetAndMetadata
	// transactional are those of transactions whose end is not in the log yet, by producer
	// id. They come from logs that Kafka wrote.
	transactional map[int64]map[topic.Partition]committed
}

func newOffsets() offsets {
	return offsets{stored: map[topic.Partition]committed{}, pending: map[topic.Partition]OffsetAndMetadata{}, transactional: map[int64]map[topic.Partition]committed{}}
}

// prepare notes offsets before they are appended.
func (o *offsets) prepare(all map[topic.Partition]OffsetAndMetadata) { maps.Copy(o.pending, all) }

// appended takes an offset over. One that is not pending any more was removed meanwhile:
// its topic was deleted.
func (o *offsets) appended(p topic.Partition, c committed) {
	pending, ok := o.pending[p]
	if !ok {
		return
	}
	o.put(p, c)
	if pending == c.OffsetAndMetadata {
		delete(o.pending, p)
	}
}

// put keeps the younger record.
func (o *offsets) put(p topic.Partition, c committed) {
	if old, ok := o.stored[p]; !ok || old.at < c.at {
		o.stored[p] = c
	}
}

// failed forgets an offset that could not be appended; an older one stays.
func (o *offsets) failed(p topic.Partition, was OffsetAndMetadata) {
	if pending, ok := o.pending[p]; ok && pending == was {
		delete(o.pending, p)
	}
}

// unstable says whether a newer offset may be about to replace the one stored.
func (o *offsets) unstable(p topic.Partition) bool {
	if _, ok := o.pending[p]; ok {
		return true
	}
	for _, t := range o.transactional {
		if _, ok := t[p]; ok {
			return true
		}
	}
	return false
}

func (o *offsets) none() bool {
	return len(o.stored) == 0 && len(o.pending) == 0 && len(o.transactional) == 0
}

// remove forgets partitions, and says which had an offset, in order.
func (o *offsets) remove(ps []topic.Partition) (had []topic.Partition) {
	for _, p := range ps {
		delete(o.pending, p)
		for _, t := range o.transactional {
			delete(t, p)
		}
		if _, ok := o.stored[p]; ok {
			delete(o.stored, p)
			had = append(had, p)
		}
	}
	slices.SortFunc(had, topic.Partition.Compare)
	return had
}

func (o *offsets) partitions() []topic.Partition {
	return slices.SortedFunc(maps.Keys(o.stored), topic.Partition.Compare)
}

// expired lists the offsets whose time is over. since is when the retention began to run
// for one; kept are topics that somebody still reads. An offset with an expiry of its own
// goes by that.
func (o *offsets) expired(now, retentionMs int64, since func(committed) int64, kept topics) (out []topic.Partition) {
	for p, c := range o.stored {
		_, pending := o.pending[p]
		over := now-since(c) >= retentionMs
		if c.ExpireTimestamp >= 0 {
			over = now >= c.ExpireTimestamp
		}
		if over && !pending && !kept[p.Topic] {
			out = append(out, p)
		}
	}
	return out
}

// expiredOffsets says which offsets of the group are to go, by what the group is:
//
//	had members, none now     since it became Empty (or the commit, where an old record does not tell)
//	consumers, Stable         since the commit, topics that nobody subscribes to
//	never had members         since the commit
//	otherwise                 none: somebody may need them
//
// Mirrors GroupMetadata.removeExpiredOffsets.
func (g *group) expiredOffsets(now int64) []topic.Partition {
	retention := g.c.cfg.Retention.Milliseconds()
	commit := func(c committed) int64 { return c.CommitTimestamp }
	switch {
	case g.protocolType == "":
		return g.offsets.expired(now, retention, commit, nil)
	case g.is(Empty):
		return g.offsets.expired(now, retention, func(c committed) int64 {
			if g.stateTimestamp < 0 {
				return commit(c)
			}
			return g.stateTimestamp
		}, nil)
	case g.protocolType == consumerType && g.is(Stable) && g.subscribed != nil:
		return g.offsets.expired(now, retention, commit, g.subscribed)
	}
	return nil
}
