package controller

import (
	"slices"

	"kz/internal/topic"
)

// ReplicaState is where one replica stands. Mirrors kafka.controller.ReplicaState.
type ReplicaState int8

// The zero value is what a replica is before anybody heard of it.
const (
	NonExistentReplica        ReplicaState = iota // never created, or deleted
	NewReplica                                    // just assigned; may only become follower
	OnlineReplica                                 // may become leader or follower
	OfflineReplica                                // its broker died or stops, or its log directory failed
	ReplicaDeletionStarted                        // told to delete its log
	ReplicaDeletionSuccessful                     // answered that the log is gone
	ReplicaDeletionIneligible                     // cannot be deleted now; also every replica that is not online when a controller takes over
)

// replicaFrom is the whole machine: the states each state may be entered from.
var replicaFrom = map[ReplicaState][]ReplicaState{
	NewReplica:                {NonExistentReplica},
	OnlineReplica:             {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
	OfflineReplica:            {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
	ReplicaDeletionStarted:    {OfflineReplica},
	ReplicaDeletionSuccessful: {ReplicaDeletionStarted},
	ReplicaDeletionIneligible: {OfflineReplica, ReplicaDeletionStarted},
	NonExistentReplica:        {ReplicaDeletionSuccessful},
}

var replicaStateNames = map[ReplicaState]string{
	NonExistentReplica: "NonExistent", NewReplica: "New", OnlineReplica: "Online", OfflineReplica: "Offline",
	ReplicaDeletionStarted: "DeletionStarted", ReplicaDeletionSuccessful: "DeletionSuccessful",
	ReplicaDeletionIneligible: "DeletionIneligible",
}

func (s ReplicaState) String() string { return replicaStateNames[s] }

// mayComeFrom asks the table.
func (s ReplicaState) mayComeFrom(prev ReplicaState) bool {
	return slices.Contains(replicaFrom[s], prev)
}

// moveReplicas takes replicas to a state, as far as the table allows, and sends the
// requests that follow, all in one batch. Broker by broker, because a replica's way out of
// the ISR depends on who left before it.
//
// Mirrors ZkReplicaStateMachine.handleStateChanges.
func (c *Controller) moveReplicas(rs []replica, to ReplicaState) error {
	if len(rs) == 0 {
		return nil
	}
	byBroker := map[int32][]topic.Partition{}
	var brokers []int32
	for _, r := range rs {
		from := c.cluster.replicas[r]
		if !to.mayComeFrom(from) {
			c.log.Error().Stringer("partition", r.partition).Int32("replica", r.broker).
				Stringer("from", from).Stringer("to", to).Msg("a replica cannot change its state like this")
			continue
		}
		if byBroker[r.broker] == nil {
			brokers = append(brokers, r.broker)
		}
		byBroker[r.broker] = append(byBroker[r.broker], r.partition)
	}
	slices.Sort(brokers)
	b := newBatch(c.cluster)
	for _, id := range brokers {
		if err := c.moveReplicasOf(b, id, byBroker[id], to); err != nil {
			return err
		}
	}
	c.send(b)
	return nil
}

// moveReplicasOf does it for one broker; the transitions are valid.
func (c *Controller) moveReplicasOf(b *batch, id int32, ps []topic.Partition, to ReplicaState) error {
	switch to {
	case NewReplica:
		c.startReplicas(b, id, ps)
	case OnlineReplica:
		c.bringReplicasOnline(b, id, ps)
	case OfflineReplica:
		return c.takeReplicasOffline(b, id, ps)
	case ReplicaDeletionStarted:
		for _, p := range ps {
			b.stopReplica(id, p, true)
			c.setReplicaState(replica{p, id}, to)
		}
	case ReplicaDeletionSuccessful, ReplicaDeletionIneligible:
		for _, p := range ps {
			c.setReplicaState(replica{p, id}, to)
		}
	case NonExistentReplica:
		for _, p := range ps {
			a := c.cluster.assignment(p)
			gone := []int32{id}
			c.cluster.setAssignment(p, assignment{without(a.replicas, gone), without(a.adding, gone), without(a.removing, gone)})
			c.setReplicaState(replica{p, id}, to)
		}
	}
	return nil
}

// startReplicas: a replica of a partition that has a leader already is told about it; a
// replica of a new partition will be told with the election.
func (c *Controller) startReplicas(b *batch, id int32, ps []topic.Partition) {
	for _, p := range ps {
		if l, ok := c.cluster.leadership[p]; ok {
			if l.leader == id {
				c.log.Error().Stringer("partition", p).Int32("replica", id).Msg("a new replica cannot already be the leader")
				continue
			}
			b.leaderAndISR([]int32{id}, p, l, true)
		}
		c.setReplicaState(replica{p, id}, NewReplica)
	}
}

// bringReplicasOnline tells a replica once more what it is, unless it is new: then the
// election has just done so.
func (c *Controller) bringReplicasOnline(b *batch, id int32, ps []topic.Partition) {
	for _, p := range ps {
		r := replica{p, id}
		if c.cluster.replicas[r] == NewReplica {
			if a := c.cluster.assignment(p); !a.contains(id) {
				a.replicas = append(slices.Clone(a.replicas), id)
				c.cluster.setAssignment(p, a)
			}
		} else if l, ok := c.cluster.leadership[p]; ok {
			b.leaderAndISR([]int32{id}, p, l, false)
		}
		c.setReplicaState(r, OnlineReplica)
	}
}

// takeReplicasOffline stops the replicas (their brokers may still live: controlled
// shutdown, a failed directory), takes them out of the ISR and tells the others.
//
// The StopReplica is built first and so carries the leader epoch from before the ISR
// write. A 2.8 follower has that same epoch and ignores the request; this is Kafka's
// order, and the reason why a follower in controlled shutdown can be taken back into the
// ISR.
func (c *Controller) takeReplicasOffline(b *batch, id int32, ps []topic.Partition) error {
	var led, unled []topic.Partition
	for _, p := range ps {
		b.stopReplica(id, p, false)
		if _, ok := c.cluster.leadership[p]; ok {
			led = append(led, p)
		} else {
			unled = append(unled, p)
		}
	}
	removed, err := c.removeFromISR(id, led)
	if err != nil {
		return err
	}
	for _, n := range removed {
		others := without(c.cluster.assignment(n.partition).replicas, []int32{id})
		b.leaderAndISR(others, n.partition, n.state, false)
		c.setReplicaState(replica{n.partition, id}, OfflineReplica)
	}
	for _, p := range unled {
		b.updateMetadata(c.cluster.brokerIDs(), p)
		c.setReplicaState(replica{p, id}, OfflineReplica)
	}
	return nil
}

// setReplicaState remembers and reports.
func (c *Controller) setReplicaState(r replica, to ReplicaState) {
	from := c.cluster.replicas[r]
	if to == NonExistentReplica {
		delete(c.cluster.replicas, r)
	} else {
		c.cluster.replicas[r] = to
	}
	c.reportReplica(r, from, to)
}
