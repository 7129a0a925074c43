package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kz/internal/zk"
	"kz/zkpaths"
)

// readBrokers reads all registrations and arms the child watch. A registration that cannot
// be understood is left out: a broker nobody can reach is no reason to have no controller.
func (c *Controller) readBrokers() (map[int32]liveBroker, error) {
	r, err := c.do1(zk.ChildrenOp(zkpaths.BrokerIDs, true))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", zkpaths.BrokerIDs, err)
	}
	var ids []int32
	for _, name := range r.Children {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			c.log.Error().Str("path", zkpaths.BrokerIDs+"/"+name).Msg("not a broker id; ignored")
			continue
		}
		ids = append(ids, int32(id))
	}
	slices.Sort(ids)
	return c.readRegistrations(ids)
}

// readRegistrations reads some brokers' znodes; those that are gone are left out.
func (c *Controller) readRegistrations(ids []int32) (map[int32]liveBroker, error) {
	ops := make([]zk.Op, len(ids))
	for i, id := range ids {
		ops[i] = zk.GetOp(zkpaths.Broker(id))
	}
	results, err := c.do(ops...)
	if err != nil {
		return nil, err
	}
	brokers := map[int32]liveBroker{}
	for i, r := range results {
		if r.Err == zk.NoNode {
			continue
		}
		if r.Err != nil {
			return nil, fmt.Errorf("reading %s: %w", zkpaths.Broker(ids[i]), r.Err)
		}
		info, err := zkpaths.DecodeBrokerInfo(r.Data)
		if err != nil {
			c.log.Error().Err(err).Str("path", zkpaths.Broker(ids[i])).Msg("registration cannot be understood; the broker is ignored")
			continue
		}
		brokers[ids[i]] = liveBroker{id: ids[i], epoch: r.Stat.Czxid, info: info}
	}
	return brokers, nil
}

// watchBrokers watches the data of registrations.
func (c *Controller) watchBrokers(ids []int32) error {
	ops := make([]zk.Op, len(ids))
	for i, id := range ids {
		path := zkpaths.Broker(id)
		c.zk.RegisterData(path, func(t zk.EventType) {
			// Created and Deleted are the child watch's business.
			if (t == zk.DataChanged || t == zk.Reread) && c.touchedBrokers.add(strconv.Itoa(int(id))) {
				c.queue.put(brokerModifications{})
			}
		})
		ops[i] = zk.ExistsOp(path)
	}
	_, err := c.do(ops...)
	return err
}

// brokersChanged compares who is registered with who was. A broker that went and came back
// between two looks shows only by its larger czxid: it bounced, and is treated as dead and
// then new.
//
// Mirrors processBrokerChange.
func (c *Controller) brokersChanged() error {
	now, err := c.readBrokers()
	if err != nil {
		return err
	}
	added, bounced, dead := compareBrokers(c.cluster.brokers, now)
	if len(added)+len(bounced)+len(dead) == 0 {
		return nil
	}
	c.log.Info().Ints32("new", added).Ints32("dead", dead).Ints32("bounced", bounced).
		Ints32("registered", slices.Sorted(maps.Keys(now))).Msg("brokers changed")
	for _, id := range added {
		c.channels.add(now[id])
	}
	for _, id := range bounced {
		c.channels.remove(id)
		c.channels.add(now[id])
	}
	for _, id := range dead {
		c.channels.remove(id)
	}
	adopt := func(ids []int32) {
		for _, id := range ids {
			c.cluster.brokers[id] = now[id]
		}
	}
	if len(added) > 0 {
		adopt(added)
		if err := c.brokersStarted(added); err != nil {
			return err
		}
	}
	if len(bounced) > 0 {
		c.cluster.removeBrokers(bounced)
		if err := c.brokersFailed(bounced); err != nil {
			return err
		}
		adopt(bounced)
		if err := c.brokersStarted(bounced); err != nil {
			return err
		}
	}
	if len(dead) > 0 {
		c.cluster.removeBrokers(dead)
		return c.brokersFailed(dead)
	}
	return nil
}

// compareBrokers sorts the difference into three, each ascending.
func compareBrokers(was, now map[int32]liveBroker) (added, bounced, dead []int32) {
	for id, b := range now {
		old, known := was[id]
		switch {
		case !known:
			added = append(added, id)
		case b.epoch > old.epoch:
			bounced = append(bounced, id)
		}
	}
	for id := range was {
		if _, still := now[id]; !still {
			dead = append(dead, id)
		}
	}
	slices.Sort(added)
	slices.Sort(bounced)
	slices.Sort(dead)
	return added, bounced, dead
}

// brokersStarted: the others hear of the new brokers, the new ones of everything, and of
// their own replicas; then whoever waits for a leader may have one now.
//
// Mirrors onBrokerStartup.
func (c *Controller) brokersStarted(ids []int32) error {
	for _, id := range ids {
		delete(c.cluster.offlineDirs, id)
	}
	c.sendMetadata(without(c.cluster.brokerIDs(), ids))
	c.sendMetadata(ids, c.cluster.withLeadership()...)
	if err := c.moveReplicas(c.cluster.replicasOn(ids), OnlineReplica); err != nil {
		return err
	}
	if err := c.bringOnline(""); err != nil {
		return err
	}
	return c.watchBrokers(ids)
}

// brokersFailed: their replicas are offline. Mirrors onBrokerFailure.
func (c *Controller) brokersFailed(ids []int32) error {
	for _, id := range ids {
		delete(c.cluster.offlineDirs, id)
		delete(c.cluster.shuttingDown, id)
	}
	if err := c.replicasFailed(c.cluster.replicasOn(ids)); err != nil {
		return err
	}
	for _, id := range ids {
		c.zk.UnregisterData(zkpaths.Broker(id))
	}
	return nil
}

// replicasFailed: partitions whose leader is gone go Offline and seek another; then the
// replicas leave their ISRs. In this order a partition that lost its leader is written
// once: the election has already left the dead replica out.
//
// Mirrors onReplicasBecomeOffline.
func (c *Controller) replicasFailed(rs []replica) error {
	leaderless := c.cluster.withOfflineLeader()
	if err := c.movePartitions(leaderless, OfflinePartition, strategy{}); err != nil {
		return err
	}
	if err := c.bringOnline(""); err != nil {
		return err
	}
	if err := c.moveReplicas(rs, OfflineReplica); err != nil {
		return err
	}
	if len(leaderless) == 0 { // else the elections have told everybody
		c.sendMetadata(c.cluster.brokerIDs())
	}
	return nil
}

// brokersModified: a broker rewrote its registration, which is how it changes listeners.
func (c *Controller) brokersModified(names []string) error {
	var ids []int32
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 32); err == nil {
			ids = append(ids, int32(id))
		}
	}
	slices.Sort(ids)
	read, err := c.readRegistrations(ids)
	if err != nil {
		return err
	}
	changed := false
	for id, b := range read {
		old, known := c.cluster.brokers[id]
		if !known || slices.Equal(old.info.Endpoints, b.info.Endpoints) && maps.Equal(old.info.SecurityMap, b.info.SecurityMap) {
			continue
		}
		old.info = b.info // not the epoch: a new one is the child watch's business
		c.cluster.brokers[id] = old
		changed = true
		c.log.Info().Int32("broker", id).Msg("broker changed its endpoints")
	}
	if changed {
		c.sendMetadata(c.cluster.brokerIDs())
	}
	return nil
}
