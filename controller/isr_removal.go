package controller

import (
	"slices"

	"kz/internal/topic"
)

// removeFromISR takes one broker out of the ISR of its partitions in ZooKeeper and
// returns what the partitions' states are now, also those it did not have to write. A
// write that meets another version is decided again, without limit.
//
// Mirrors removeReplicasFromIsr.
func (c *Controller) removeFromISR(id int32, ps []topic.Partition) (done []proposal, err error) {
	for remaining := ps; len(remaining) > 0; {
		states, err := c.readStates(remaining)
		if err != nil {
			return nil, err
		}
		var smaller []proposal
		for _, p := range remaining {
			now := states[p].info
			if err := c.mayOverwrite(states[p]); err != nil {
				c.failedReplica(replica{p, id}, OfflineReplica, err)
				continue
			}
			if !slices.Contains(now.isr, id) {
				// Nothing to write. The cache gets our epoch although the znode keeps the
				// old one: Kafka's LeaderAndIsr says the same.
				now.controllerEpoch = c.cluster.epoch
				done = append(done, proposal{partition: p, state: now})
				continue
			}
			leader, isr := leaveISR(id, now)
			smaller = append(smaller, proposal{partition: p, state: leaderISR{
				leader: leader, isr: isr, leaderEpoch: now.leaderEpoch + 1,
				controllerEpoch: c.cluster.epoch, version: now.version,
			}})
		}
		written, conflicts, err := c.writeStates(smaller)
		if err != nil {
			return nil, err
		}
		done = append(done, written...)
		remaining = conflicts
	}
	slices.SortFunc(done, func(a, b proposal) int { return a.partition.Compare(b.partition) })
	for _, n := range done {
		c.cluster.leadership[n.partition] = n.state
	}
	return done, nil
}

// leaveISR is the state of a partition once the broker is out. A leader that leaves
// leaves no leader behind. The last member stays in the ISR even when it is dead: only it
// has everything that was acknowledged, and to forget its name would be to lose that.
func leaveISR(id int32, now leaderISR) (leader int32, isr []int32) {
	leader, isr = now.leader, now.isr
	if leader == id {
		leader = noLeader
	}
	if len(isr) > 1 {
		isr = without(isr, []int32{id})
	}
	return leader, isr
}
