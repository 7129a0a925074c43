package controller

import (
	"errors"
	"fmt"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// failover is what an elected controller does before it takes events: read everything,
// tell every broker, mend what broke while nobody reigned. The order matters; each step
// says why it stands where it stands.
//
// Mirrors onControllerFailover.
func (c *Controller) failover() error {
	steps := []struct {
		name string
		run  func() error
	}{
		{"set up /feature", c.disableFeatures},
		// Watches first, reads after: what changes in between fires a watch.
		{"register handlers", c.registerHandlers},
		// Their content is covered by the full read that follows.
		{"delete old notifications", c.deleteOldNotifications},
		{"read brokers", c.readBrokersAtFailover},
		{"read topics", c.readTopicsAtFailover},
		{"read states", c.readAllStates},
		{"start senders", c.startSenders},
		{"look for topic deletions", c.refuseDeletions},
		// A broker accepts a leader only if it knows it as a live broker: so first the live
		// brokers, without any partition.
		{"tell all brokers who is live", func() error { c.sendMetadata(c.cluster.brokerIDs()); return nil }},
		// Replicas before partitions: a dead leader is first taken out of the ISR (leader -1,
		// epoch + 1) and only then replaced (epoch + 1 again). Two bumps, as in Kafka.
		{"start the replica state machine", c.startReplicaStates},
		{"start the partition state machine", c.startPartitionStates},
		{"look for reassignments", c.refuseReassignment},
		{"finish pending preferred elections", c.finishPreferredElections},
	}
	for _, step := range steps {
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		c.log.Debug().Str("step", step.name).Msg("failover")
	}
	if c.cfg.AutoRebalance {
		c.scheduleRebalance(firstRebalance)
	}
	c.log.Info().Int32("epoch", c.cluster.epoch).Int("brokers", len(c.cluster.brokers)).Int("topics", len(c.cluster.topics)).
		Int("partitions", len(c.cluster.leadership)).Msg("controller is ready")
	return nil
}

// registerHandlers registers for what only the controller watches. The child watches are
// armed by the reads that follow, the two data watches here.
func (c *Controller) registerHandlers() error {
	child := func(path string, ev event) { c.zk.RegisterChild(path, func(zk.EventType) { c.queue.put(ev) }) }
	child(zkpaths.BrokerIDs, brokerChange{})
	child(zkpaths.Topics, topicChange{})
	child(zkpaths.DeleteTopics, topicDeletion{})
	child(zkpaths.LogDirEventNotification, logDirNotification{})
	child(zkpaths.ISRChangeNotification, isrChangeNotification{})
	created := func(path string, ev event) {
		c.zk.RegisterData(path, func(t zk.EventType) {
			if t == zk.Created || t == zk.Reread {
				c.queue.put(ev)
			}
		})
	}
	created(zkpaths.PreferredReplicaElection, preferredByZnode{})
	created(zkpaths.ReassignPartitions, zkReassignment{})
	_, err := c.do(zk.ExistsOp(zkpaths.PreferredReplicaElection), zk.ExistsOp(zkpaths.ReassignPartitions))
	return err
}

func (c *Controller) deleteOldNotifications() error {
	for _, dir := range []string{zkpaths.LogDirEventNotification, zkpaths.ISRChangeNotification} {
		paths, err := c.children(dir)
		if err != nil {
			return err
		}
		if err := c.deleteAll(paths); err != nil {
			return err
		}
	}
	return nil
}

// readBrokersAtFailover reads who is registered and watches each registration.
func (c *Controller) readBrokersAtFailover() error {
	brokers, err := c.readBrokers()
	if err != nil {
		return err
	}
	c.cluster.brokers = brokers
	return c.watchBrokers(c.cluster.brokerIDs())
}

func (c *Controller) readTopicsAtFailover() error {
	names, err := c.listTopics()
	if err != nil {
		return err
	}
	read, err := c.readTopics(names)
	if err != nil {
		return err
	}
	for name, as := range read {
		c.adoptTopic(name, as)
	}
	return nil
}

// adoptTopic puts a topic into the cluster. A reassignment that another controller began
// is kept as it is: its replicas are told, nothing is moved.
func (c *Controller) adoptTopic(name string, as map[int32]assignment) {
	if c.cluster.topics[name] == nil {
		c.cluster.topics[name] = map[int32]assignment{}
	}
	for n, a := range as {
		p := topic.Partition{Topic: name, Partition: n}
		c.cluster.setAssignment(p, a)
		if a.isBeingReassigned() {
			c.log.Warn().Stringer("partition", p).Ints32("adding", a.adding).Ints32("removing", a.removing).
				Str("path", zkpaths.Topic(name)).Msg("this controller does not carry on reassignments; the partition is served as it stands")
		}
	}
}

// readAllStates reads every state znode. A partition without one is New.
func (c *Controller) readAllStates() error {
	return c.refreshStates(c.cluster.allPartitions())
}

// refreshStates brings the cached leadership up to what ZooKeeper says.
// Mirrors updateLeaderAndIsrCache.
func (c *Controller) refreshStates(ps []topic.Partition) error {
	states, err := c.readStates(ps)
	if err != nil {
		return err
	}
	for p, s := range states {
		switch {
		case s.err == nil:
			c.cluster.leadership[p] = s.info
		case !errors.Is(s.err, zk.NoNode): // as without a state: nothing can be written over what is there
			c.log.Error().Err(s.err).Stringer("partition", p).Msg("state cannot be read; the partition stays as it is until its znode is mended and another controller is elected")
		}
	}
	return nil
}

func (c *Controller) startSenders() error {
	for _, b := range c.cluster.liveBrokers() {
		c.channels.add(b)
	}
	return nil
}

// startReplicaStates: every replica is Online or DeletionIneligible to begin with; then
// the online ones are told what they are, and the others are taken out of their ISRs.
func (c *Controller) startReplicaStates() error {
	online := c.cluster.replicasWhere(func(p topic.Partition, id int32) bool { return c.cluster.isOnline(id, p) })
	offline := c.cluster.replicasWhere(func(p topic.Partition, id int32) bool { return !c.cluster.isOnline(id, p) })
	for _, r := range online {
		c.cluster.replicas[r] = OnlineReplica
	}
	for _, r := range offline {
		c.cluster.replicas[r] = ReplicaDeletionIneligible
	}
	if err := c.moveReplicas(online, OnlineReplica); err != nil {
		return err
	}
	return c.moveReplicas(offline, OfflineReplica)
}

// startPartitionStates: a partition without state is New, with an online leader Online,
// else Offline; then a leader is sought for those that have none.
func (c *Controller) startPartitionStates() error {
	for _, p := range c.cluster.allPartitions() {
		l, ok := c.cluster.leadership[p]
		switch {
		case !ok:
			c.cluster.partitions[p] = NewPartition
		case c.cluster.isOnline(l.leader, p):
			c.cluster.partitions[p] = OnlinePartition
		default:
			c.setPartitionState(p, OfflinePartition)
		}
	}
	return c.bringOnline("")
}
