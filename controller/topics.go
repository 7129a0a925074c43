package controller

import (
	"fmt"
	"slices"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// listTopics reads the names and arms the child watch.
func (c *Controller) listTopics() ([]string, error) {
	r, err := c.do1(zk.ChildrenOp(zkpaths.Topics, true))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", zkpaths.Topics, err)
	}
	slices.Sort(r.Children)
	return r.Children, nil
}

// readTopics watches and reads topics, pipelined. Topics that are gone, or whose znode
// cannot be understood, are left out.
func (c *Controller) readTopics(names []string) (map[string]map[int32]assignment, error) {
	ops := make([]zk.Op, len(names))
	for i, name := range names {
		c.zk.RegisterData(zkpaths.Topic(name), func(t zk.EventType) {
			if (t == zk.DataChanged || t == zk.Reread) && c.touchedTopics.add(name) {
				c.queue.put(partitionModifications{})
			}
		})
		ops[i] = zk.GetOp(zkpaths.Topic(name))
	}
	results, err := c.do(ops...)
	if err != nil {
		return nil, err
	}
	topics := make(map[string]map[int32]assignment, len(names))
	for i, r := range results {
		if r.Err == nil {
			var t zkpaths.TopicAssignment
			if t, r.Err = zkpaths.DecodeTopicAssignment(r.Data); r.Err == nil {
				topics[names[i]] = assignmentsOf(t)
				continue
			}
		}
		if r.Err != zk.NoNode {
			c.log.Error().Err(r.Err).Str("path", zkpaths.Topic(names[i])).Msg("topic cannot be read; ignored until its znode changes")
		}
	}
	return topics, nil
}

// topicsChanged compares the topics that are with those that were.
// Mirrors processTopicChange.
func (c *Controller) topicsChanged() error {
	names, err := c.listTopics()
	if err != nil {
		return err
	}
	var added, gone []string
	for _, name := range names {
		if _, known := c.cluster.topics[name]; !known {
			added = append(added, name)
		}
	}
	for name := range c.cluster.topics {
		if _, still := slices.BinarySearch(names, name); !still {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		c.zk.UnregisterData(zkpaths.Topic(name))
		c.cluster.forgetTopic(name)
	}
	read, err := c.readTopics(added)
	if err != nil {
		return err
	}
	if len(added)+len(gone) > 0 {
		c.log.Info().Strs("new", added).Strs("gone", gone).Msg("topics changed")
	}
	for name, as := range read {
		c.adoptTopic(name, as)
	}
	return c.partitionsCreated(c.partitionsOf(added))
}

// partitionsModified looks for partitions that are new in topics we know. Changed replicas
// of known partitions are ignored: only a reassignment may change those. Mirrors
// processPartitionModifications.
func (c *Controller) partitionsModified(names []string) error {
	slices.Sort(names)
	read, err := c.readTopics(names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, known := c.cluster.topics[name]; !known && read[name] == nil {
			c.zk.UnregisterData(zkpaths.Topic(name)) // deleted since
		}
	}
	var fresh []topic.Partition
	for name, as := range read {
		for n, a := range as {
			p := topic.Partition{Topic: name, Partition: n}
			if !c.cluster.known(p) {
				c.cluster.setAssignment(p, a)
				fresh = append(fresh, p)
			}
		}
	}
	slices.SortFunc(fresh, topic.Partition.Compare)
	return c.partitionsCreated(fresh)
}

// partitionsOf are all partitions of the topics, sorted; names is sorted too.
func (c *Controller) partitionsOf(names []string) []topic.Partition {
	return c.cluster.partitionsWhere(func(p topic.Partition, _ assignment) bool {
		_, named := slices.BinarySearch(names, p.Topic)
		return named
	})
}

// partitionsCreated walks new partitions and their replicas through the machines. Mirrors
// onNewPartitionCreation.
func (c *Controller) partitionsCreated(ps []topic.Partition) error {
	if len(ps) == 0 {
		return nil
	}
	if err := c.movePartitions(ps, NewPartition, strategy{}); err != nil {
		return err
	}
	if err := c.moveReplicas(c.cluster.replicasOf(ps), NewReplica); err != nil {
		return err
	}
	if err := c.movePartitions(ps, OnlinePartition, offlineElection); err != nil {
		return err
	}
	return c.moveReplicas(c.cluster.replicasOf(ps), OnlineReplica)
}
