package controller

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// readPreferred reads /admin/preferred_replica_election; present says whether it is there.
// What cannot be understood asks for nothing.
func (c *Controller) readPreferred() (ps []topic.Partition, present bool, err error) {
	r, err := c.do1(zk.GetOp(zkpaths.PreferredReplicaElection))
	if errors.Is(err, zk.NoNode) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", zkpaths.PreferredReplicaElection, err)
	}
	listed, err := zkpaths.DecodePreferredElection(r.Data)
	if err != nil {
		c.log.Warn().Err(err).Str("path", zkpaths.PreferredReplicaElection).Msg("request cannot be understood; removed")
	}
	for _, tp := range listed {
		ps = append(ps, topic.Partition{Topic: tp.Topic, Partition: tp.Partition})
	}
	slices.SortFunc(ps, topic.Partition.Compare)
	return slices.Compact(ps), true, nil
}

// electPreferredByZnode does what the znode asks for and removes it. Reading it arms the
// watch for the next one. Mirrors processReplicaLeaderElection, triggered by ZooKeeper.
func (c *Controller) electPreferredByZnode() error {
	if r, err := c.do(zk.ExistsOp(zkpaths.PreferredReplicaElection)); err != nil || r[0].Err != nil {
		return err // not there: only the watch was wanted
	}
	asked, _, err := c.readPreferred()
	if err != nil {
		return err
	}
	return c.finishRequest(c.withAnotherLeader(asked))
}

// finishPreferredElections is the same at failover. The znode is deleted even when there
// is none: Kafka always sends that write.
func (c *Controller) finishPreferredElections() error {
	asked, _, err := c.readPreferred()
	if err != nil {
		return err
	}
	return c.finishRequest(c.withAnotherLeader(asked))
}

// finishRequest elects and then removes the znode, whatever became of the elections; the
// tool that wrote it waits for that. The event that follows arms the watch again.
func (c *Controller) finishRequest(ps []topic.Partition) error {
	if err := c.electPreferred(ps); err != nil {
		return err
	}
	if err := c.deleteAll([]string{zkpaths.PreferredReplicaElection}); err != nil {
		return err
	}
	c.queue.put(preferredByZnode{})
	return nil
}

// withAnotherLeader are those that exist and are not led by their preferred replica. The
// controller's cached leadership decides, as in Kafka.
func (c *Controller) withAnotherLeader(ps []topic.Partition) []topic.Partition {
	return slices.DeleteFunc(slices.Clone(ps), func(p topic.Partition) bool {
		l, ok := c.cluster.leadership[p]
		a := c.cluster.assignment(p)
		if !ok || len(a.replicas) == 0 {
			c.log.Info().Stringer("partition", p).Msg("no preferred election: the partition does not exist or never had a leader")
			return true
		}
		return l.leader == a.replicas[0]
	})
}

// electPreferred makes the first replica of each partition its leader where it can.
func (c *Controller) electPreferred(ps []topic.Partition) error {
	if err := c.movePartitions(ps, OnlinePartition, preferredElection); err != nil {
		return err
	}
	for _, p := range ps {
		if now, wanted := c.cluster.leadership[p].leader, c.cluster.assignment(p).replicas[0]; now != wanted {
			c.log.Warn().Stringer("partition", p).Int32("preferred", wanted).Int32("leader", now).Msg("preferred election did not change the leader")
		}
	}
	return nil
}

// firstRebalance is Kafka's, fixed in its code.
const firstRebalance = 5 * time.Second

// scheduleRebalance sets the timer for the next look at the balance. Each look sets the
// next, so the interval counts from the end of one to the beginning of the next.
func (c *Controller) scheduleRebalance(in time.Duration) {
	ev := autoPreferred{epoch: c.cluster.epoch}
	c.rebalance = time.AfterFunc(in, func() { c.queue.put(ev) })
}

// rebalanceLeaders gives leaderships back to the preferred leaders that lead too few of
// their partitions. Mirrors checkAndTriggerAutoLeaderRebalance.
func (c *Controller) rebalanceLeaders() error {
	preferredBy := map[int32][]topic.Partition{}
	for _, p := range c.cluster.allPartitions() {
		if a := c.cluster.assignment(p); len(a.replicas) > 0 {
			preferredBy[a.replicas[0]] = append(preferredBy[a.replicas[0]], p)
		}
	}
	for _, id := range sortedKeys(preferredBy) {
		ps := preferredBy[id]
		astray := slices.DeleteFunc(slices.Clone(ps), func(p topic.Partition) bool {
			l, ok := c.cluster.leadership[p]
			return !ok || l.leader == id
		})
		if !tooMany(len(astray), len(ps), c.cfg.ImbalancePercentage) {
			continue
		}
		able := slices.DeleteFunc(astray, func(p topic.Partition) bool {
			if len(c.cluster.reassigning) > 0 {
				return true // nothing is moved while any partition is being reassigned
			}
			_, can := electPreferred(c.cluster.ballot(p, c.cluster.leadership[p].isr, false))
			return !can
		})
		c.log.Info().Int32("broker", id).Int("astray", len(astray)).Int("of", len(ps)).Int("now", len(able)).Msg("leaders are out of balance")
		if err := c.electPreferred(able); err != nil {
			return err
		}
	}
	return nil
}

// tooMany says whether part of whole is more than the percentage.
func tooMany(part, whole, percentage int) bool { return part*100 > whole*percentage }
