package group

import (
	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// CommitOffsets stores offsets and answers for each partition, when they are replicated
// or failed. respond runs once, on any goroutine. Mirrors
// GroupCoordinator.handleCommitOffsets.
//
// Who may commit:
//
//	generation -1, group absent or Empty   anybody: the group only keeps offsets here
//	a member of this generation            unless the assignment is being decided
func (c *Coordinator) CommitOffsets(r Commit, respond func(map[topic.Partition]kafkaerr.Code)) {
	refuse := func(code kafkaerr.Code) { respond(codes(r.Offsets, code)) }
	if code := c.check(r.Group, mayBeEmpty); code != kafkaerr.None {
		refuse(code)
		return
	}
	g := c.lookup(r.Group)
	if g == nil && r.Generation >= 0 { // of a generation that nobody remembers
		refuse(kafkaerr.IllegalGeneration)
		return
	}
	if g == nil {
		if g = c.lookupOrCreate(r.Group); g == nil { // resigned since the check
			refuse(kafkaerr.NotCoordinator)
			return
		}
	}
	g.act(func() {
		if code := g.checkCommit(r.Caller); code != kafkaerr.None {
			g.later(func() { refuse(code) })
			return
		}
		g.storeOffsets(r.Offsets, respond)
	})
}

func codes(ps map[topic.Partition]OffsetAndMetadata, code kafkaerr.Code) map[topic.Partition]kafkaerr.Code {
	out := make(map[topic.Partition]kafkaerr.Code, len(ps))
	for p := range ps {
		out[p] = code
	}
	return out
}

// checkCommit says who may commit, in Kafka's order. A commit is a sign of life.
func (g *group) checkCommit(r Caller) kafkaerr.Code {
	if g.is(Empty) && r.Generation < 0 && !g.fenced(r.MemberID, r.InstanceID) {
		return kafkaerr.None
	}
	if code := g.checkMember(r); code != kafkaerr.None {
		return code
	}
	if g.is(CompletingRebalance) {
		return kafkaerr.RebalanceInProgress
	}
	g.expect(g.members[r.MemberID])
	return kafkaerr.None
}

// storeOffsets appends all offsets that may be stored as one batch.
func (g *group) storeOffsets(all map[topic.Partition]OffsetAndMetadata, respond func(map[topic.Partition]kafkaerr.Code)) {
	answer := codes(all, kafkaerr.OffsetMetadataTooLarge)
	fit := map[topic.Partition]OffsetAndMetadata{}
	var entries []entry
	for _, p := range sortedPartitions(all) {
		if text := all[p].Metadata; javaLength(text) <= g.c.cfg.MaxMetadataSize && storable(text, p.Topic) {
			fit[p] = all[p]
			entries = append(entries, entry{offsetKey(g.id, p), offsetValue(all[p])})
		}
	}
	if len(fit) == 0 {
		g.later(func() { respond(answer) })
		return
	}
	g.offsets.prepare(fit)
	g.append(entries, commitSequence, g.c.cfg.CommitAcks, func(r replica.ProduceResult) {
		g.offsetsAppended(fit, r)
		for p := range fit {
			answer[p] = commitCode(r.Code)
		}
		g.later(func() { respond(answer) })
	})
}

// offsetsAppended takes the offsets over, or forgets them. mu is held.
func (g *group) offsetsAppended(fit map[topic.Partition]OffsetAndMetadata, r replica.ProduceResult) {
	for p, o := range fit {
		if r.Code == kafkaerr.None {
			g.offsets.appended(p, committed{o, r.BaseOffset})
		} else {
			g.offsets.failed(p, o)
		}
	}
	if r.Code != kafkaerr.None {
		return
	}
	id, generation := g.id, g.generation
	g.later(func() {
		g.c.d.Journal.At(journal.MomentCoordinatorCommit, id)
		if g.c.d.Journal.On() {
			p := g.partition()
			g.c.d.Journal.Emit(journal.Event{Kind: journal.OffsetsCommitted, Source: "group", Group: id, Generation: generation,
				Topic: p.Topic, Partition: p.Partition, Offset: r.BaseOffset, EndOffset: r.BaseOffset + int64(len(fit))})
		}
	})
}

// FetchOffsets finds committed offsets; nil partitions: all there are. With requireStable a
// partition with a commit under way is UNSTABLE_OFFSET_COMMIT. Anybody may ask. Mirrors
// GroupCoordinator.handleFetchOffsets.
func (c *Coordinator) FetchOffsets(groupID string, requireStable bool, partitions []topic.Partition) (map[topic.Partition]Fetched, kafkaerr.Code) {
	if code := c.check(groupID, mayBeEmpty); code != kafkaerr.None {
		return nil, code
	}
	out := map[topic.Partition]Fetched{}
	nothing := func(code kafkaerr.Code) Fetched { return Fetched{Code: code, Offset: -1, LeaderEpoch: -1} }
	for _, p := range partitions {
		out[p] = nothing(kafkaerr.None)
	}
	g := c.lookup(groupID)
	if g == nil {
		return out, kafkaerr.None
	}
	g.act(func() {
		if g.is(Dead) {
			return
		}
		if partitions == nil {
			partitions = g.offsets.partitions()
		}
		for _, p := range partitions {
			o, stored := g.offsets.stored[p]
			switch {
			case requireStable && g.offsets.unstable(p):
				out[p] = nothing(kafkaerr.UnstableOffsetCommit)
			case stored:
				out[p] = Fetched{Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
			default:
				out[p] = nothing(kafkaerr.None)
			}
		}
	})
	return out, kafkaerr.None
}

// javaLength is String.length(): UTF-16 units.
func javaLength(s string) (n int) {
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}
