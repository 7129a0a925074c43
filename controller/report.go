package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"kz/internal/journal"
	"kz/internal/topic"
)

// reportPartition journals a transition that happened.
func (c *Controller) reportPartition(p topic.Partition, from, to PartitionState) {
	l, led := c.cluster.leadership[p]
	if !led {
		l.leader = noLeader
	}
	c.log.Debug().Stringer("partition", p).Stringer("from", from).Stringer("to", to).Int32("leader", l.leader).Msg("partition changed state")
	if !c.journal.On() {
		return
	}
	c.journal.Emit(journal.Event{
		Kind: journal.PartitionChange, Source: source, Topic: p.Topic, Partition: p.Partition,
		From: from.String(), To: to.String(), ControllerEpoch: c.cluster.epoch,
		Leader: l.leader, LeaderEpoch: l.leaderEpoch, ISR: l.isr,
		Text: fmt.Sprintf("partition %s: %s -> %s", p, from, to),
	})
}

// reportReplica journals a transition that happened.
func (c *Controller) reportReplica(r replica, from, to ReplicaState) {
	c.log.Debug().Stringer("partition", r.partition).Int32("replica", r.broker).Stringer("from", from).Stringer("to", to).Msg("replica changed state")
	if !c.journal.On() {
		return
	}
	l, led := c.cluster.leadership[r.partition]
	if !led {
		l.leader = noLeader
	}
	c.journal.Emit(journal.Event{
		Kind: journal.ReplicaChange, Source: source, Topic: r.partition.Topic, Partition: r.partition.Partition,
		Replica: r.broker, From: from.String(), To: to.String(), ControllerEpoch: c.cluster.epoch,
		Leader: l.leader, LeaderEpoch: l.leaderEpoch, ISR: l.isr,
		Text: fmt.Sprintf("replica %d of %s: %s -> %s", r.broker, r.partition, from, to),
	})
}

// reportElection journals an election whose result is in ZooKeeper.
func (c *Controller) reportElection(p topic.Partition, l leaderISR, how string) {
	c.log.Debug().Stringer("partition", p).Int32("leader", l.leader).Int32("leaderEpoch", l.leaderEpoch).Ints32("isr", l.isr).
		Int32("version", l.version).Str("election", how).Msg("leader elected")
	if !c.journal.On() {
		return
	}
	c.journal.Emit(journal.Event{
		Kind: journal.Election, Source: source, Topic: p.Topic, Partition: p.Partition,
		Leader: l.leader, LeaderEpoch: l.leaderEpoch, ISR: l.isr, VersionAfter: l.version, ControllerEpoch: c.cluster.epoch,
		Text: fmt.Sprintf("%s election: %d leads %s, leader epoch %d, ISR %v", how, l.leader, p, l.leaderEpoch, l.isr),
	})
}

// failedTransition logs why a partition did not change its state. An online partition
// whose election found nobody better still has its leader: no error.
func (c *Controller) failedTransition(p topic.Partition, to PartitionState, err error) {
	from := c.cluster.partitions[p]
	line, what := c.log.Error(), "partition does not change its state"
	if from == to {
		line, what = c.log.Warn(), "partition stays as it is"
	}
	line.Err(err).Stringer("partition", p).Stringer("from", from).Stringer("to", to).Msg(what)
}

// failedReplica logs why a replica did not change its state.
func (c *Controller) failedReplica(r replica, to ReplicaState, err error) {
	c.log.Error().Err(err).Stringer("partition", r.partition).Int32("replica", r.broker).
		Stringer("from", c.cluster.replicas[r]).Stringer("to", to).Msg("replica does not change its state")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
