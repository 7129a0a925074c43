package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// children lists a directory's nodes as whole paths, sorted, and arms its child watch. A
// directory that is missing is empty.
func (c *Controller) children(dir string) ([]string, error) {
	r, err := c.do1(zk.ChildrenOp(dir, true))
	if errors.Is(err, zk.NoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	paths := make([]string, len(r.Children))
	for i, name := range r.Children {
		paths[i] = dir + "/" + name
	}
	slices.Sort(paths)
	return paths, nil
}

// readEach reads nodes, pipelined, and hands the data of those that are there to use. What
// use cannot understand is logged.
func (c *Controller) readEach(paths []string, use func(data []byte) error) error {
	ops := make([]zk.Op, len(paths))
	for i, path := range paths {
		ops[i] = zk.GetOp(path)
	}
	results, err := c.do(ops...)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err == nil {
			r.Err = use(r.Data)
		}
		if r.Err != nil && r.Err != zk.NoNode {
			c.log.Error().Err(r.Err).Str("path", paths[i]).Msg("notification cannot be read; removed")
		}
	}
	return nil
}

// isrsChanged: leaders wrote new ISRs into ZooKeeper and then say so here, a few seconds
// later and many at once. The controller reads the states and tells everybody.
//
// Mirrors processIsrChangeNotification.
func (c *Controller) isrsChanged() error {
	paths, err := c.children(zkpaths.ISRChangeNotification)
	if err != nil {
		return err
	}
	var ps []topic.Partition
	err = c.readEach(paths, func(data []byte) error {
		listed, err := zkpaths.DecodeISRChange(data)
		for _, tp := range listed {
			if p := (topic.Partition{Topic: tp.Topic, Partition: tp.Partition}); c.cluster.known(p) {
				ps = append(ps, p)
			}
		}
		return err
	})
	if err == nil && len(ps) > 0 {
		slices.SortFunc(ps, topic.Partition.Compare)
		ps = slices.Compact(ps)
		if err = c.refreshStates(ps); err == nil {
			c.sendMetadata(c.cluster.brokerIDs(), ps...)
		}
	}
	// These children and no others, and also after an error: the next notification names
	// the partition again if its ISR moves again.
	return errors.Join(err, c.deleteAll(paths))
}

// logDirsFailed: a broker lost a log directory but does not say which partitions were in
// it. It is sent a LeaderAndIsr for all it keeps, with epochs unchanged; its answers name
// the partitions by KAFKA_STORAGE_ERROR. The notification is deleted once that request is
// queued.
//
// Mirrors processLogDirEventNotification.
func (c *Controller) logDirsFailed() error {
	paths, err := c.children(zkpaths.LogDirEventNotification)
	if err != nil {
		return err
	}
	var ids []int32
	err = c.readEach(paths, func(data []byte) error {
		id, err := zkpaths.DecodeLogDirEvent(data)
		if err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return err
	})
	if err == nil && len(ids) > 0 {
		c.log.Info().Ints32("brokers", ids).Msg("log directories failed; asking which partitions were in them")
		err = c.moveReplicas(c.cluster.replicasOn(ids), OnlineReplica)
	}
	return errors.Join(err, c.deleteAll(paths))
}

// leaderAndISRAnswered looks for replicas whose log directory does not work. They count as
// offline until the broker says otherwise or registers again.
//
// Mirrors processLeaderAndIsrResponseReceived.
func (c *Controller) leaderAndISRAnswered(broker int32, r *kmsg.LeaderAndISRResponse) error {
	if !c.logAnswer(broker, "LeaderAndIsr", r.ErrorCode) {
		return nil
	}
	var failed []replica
	for _, a := range r.Partitions {
		p := topic.Partition{Topic: a.Topic, Partition: a.Partition}
		offline := c.cluster.offlineDirs[broker]
		switch kafkaerr.Code(a.ErrorCode) {
		case kafkaerr.None:
			delete(offline, p)
		case kafkaerr.KafkaStorageError:
			if offline == nil {
				offline = map[topic.Partition]bool{}
				c.cluster.offlineDirs[broker] = offline
			}
			if !offline[p] && c.cluster.known(p) {
				offline[p] = true
				failed = append(failed, replica{p, broker})
			}
		}
	}
	if len(failed) == 0 {
		return nil
	}
	c.log.Warn().Int32("broker", broker).Int("partitions", len(failed)).Msg("replicas are offline: their log directory failed")
	slices.SortFunc(failed, compareReplicas)
	return c.replicasFailed(failed)
}
