package controller

import (
	"slices"

	"kz/internal/topic"
)

// PartitionState is where a partition stands. Mirrors kafka.controller.PartitionState.
type PartitionState int8

// The zero value is what a partition is before anybody heard of it.
const (
	NonExistentPartition PartitionState = iota // never created, or deleted
	NewPartition                               // replicas assigned, no leader yet, no state znode
	OnlinePartition                            // a leader was elected
	OfflinePartition                           // its leader died and no other was found
)

// partitionFrom is the whole machine: the states each state may be entered from.
var partitionFrom = map[PartitionState][]PartitionState{
	NewPartition:         {NonExistentPartition},
	OnlinePartition:      {NewPartition, OnlinePartition, OfflinePartition},
	OfflinePartition:     {NewPartition, OnlinePartition, OfflinePartition},
	NonExistentPartition: {OfflinePartition},
}

var partitionStateNames = map[PartitionState]string{
	NonExistentPartition: "NonExistent", NewPartition: "New", OnlinePartition: "Online", OfflinePartition: "Offline",
}

func (s PartitionState) String() string { return partitionStateNames[s] }

// mayComeFrom asks the table.
func (s PartitionState) mayComeFrom(prev PartitionState) bool {
	return slices.Contains(partitionFrom[s], prev)
}

// movePartitions takes partitions to a state, as far as the table allows, and sends the
// requests that follow. What fails for one partition is logged and does not stop the
// others; an error ends the event. how is the election for those that go from Online or
// Offline to Online.
//
// Mirrors ZkPartitionStateMachine.handleStateChanges.
func (c *Controller) movePartitions(ps []topic.Partition, to PartitionState, how strategy) error {
	if len(ps) == 0 {
		return nil
	}
	valid := make([]topic.Partition, 0, len(ps))
	for _, p := range ps {
		if from := c.cluster.partitions[p]; to.mayComeFrom(from) {
			valid = append(valid, p)
		} else {
			c.log.Error().Stringer("partition", p).Stringer("from", from).Stringer("to", to).Msg("a partition cannot change its state like this")
		}
	}
	if to != OnlinePartition {
		for _, p := range valid {
			c.setPartitionState(p, to)
		}
		return nil
	}
	b := newBatch(c.cluster)
	var fresh, again []topic.Partition
	for _, p := range valid {
		if c.cluster.partitions[p] == NewPartition {
			fresh = append(fresh, p)
		} else {
			again = append(again, p)
		}
	}
	if err := c.initialize(b, fresh); err != nil {
		return err
	}
	if err := c.elect(b, again, how); err != nil {
		return err
	}
	c.send(b)
	return nil
}

// bringOnline tries to find a leader for everything that waits for one: all topics, or
// only one. Mirrors triggerOnlinePartitionStateChange.
func (c *Controller) bringOnline(only string) error {
	return c.movePartitions(c.cluster.newOrOffline(only), OnlinePartition, offlineElection)
}

func (c *Controller) setPartitionState(p topic.Partition, to PartitionState) {
	from := c.cluster.partitions[p]
	if to == NonExistentPartition {
		delete(c.cluster.partitions, p)
	} else {
		c.cluster.partitions[p] = to
	}
	c.reportPartition(p, from, to)
}

// initialize gives new partitions their first leader and their state znode: the first
// online replica leads, all that are online are the ISR. Without one a partition stays New
// until a broker comes.
//
// Mirrors initializeLeaderAndIsrForPartitions.
func (c *Controller) initialize(b *batch, ps []topic.Partition) error {
	first := make([]proposal, 0, len(ps))
	for _, p := range ps {
		online := c.cluster.ballot(p, nil, false).online
		if len(online) == 0 {
			c.log.Error().Stringer("partition", p).Ints32("replicas", c.cluster.assignment(p).replicas).
				Msg("new partition has no live replica; it stays without a leader")
			continue
		}
		first = append(first, proposal{
			partition:  p,
			state:      leaderISR{leader: online[0], isr: online, controllerEpoch: c.cluster.epoch},
			recipients: online,
		})
	}
	if len(first) == 0 {
		return nil
	}
	created, err := c.createStates(first)
	if err != nil {
		return err
	}
	c.log.Info().Int("partitions", len(ps)).Int("online", len(created)).Msg("new partitions")
	for _, n := range created {
		c.cluster.leadership[n.partition] = n.state
		b.leaderAndISR(n.recipients, n.partition, n.state, true)
		c.reportElection(n.partition, n.state, "New")
		c.setPartitionState(n.partition, OnlinePartition)
	}
	return nil
}
