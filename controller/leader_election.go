package controller

import (
	"fmt"
	"slices"
	"strings"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// elect reads the state of each partition, decides, and writes, until every partition has
// a result. A write that meets another version is decided again from what is then read:
// the partition's leader may have changed the ISR in between, and to elect somebody whom
// it just threw out would lose records.
//
// Mirrors electLeaderForPartitions.
func (c *Controller) elect(b *batch, ps []topic.Partition, how strategy) error {
	for remaining := ps; len(remaining) > 0; {
		proposals, err := c.propose(remaining, how)
		if err != nil {
			return err
		}
		written, conflicts, err := c.writeStates(proposals)
		if err != nil {
			return err
		}
		for _, w := range written {
			c.cluster.leadership[w.partition] = w.state
			b.leaderAndISR(w.recipients, w.partition, w.state, false)
			c.reportElection(w.partition, w.state, how.name)
			c.setPartitionState(w.partition, OnlinePartition)
		}
		c.log.Info().Str("election", how.name).Int("partitions", len(remaining)).Int("elected", len(written)).Msg("leaders elected")
		if len(conflicts) > 0 {
			c.log.Info().Int("partitions", len(conflicts)).Str("election", how.name).Msg("the state changed meanwhile; electing again")
		}
		remaining = conflicts
	}
	return nil
}

// propose decides for every partition from its state as it is in ZooKeeper now.
func (c *Controller) propose(ps []topic.Partition, how strategy) ([]proposal, error) {
	states, err := c.readStates(ps)
	if err != nil {
		return nil, err
	}
	unclean := map[string]bool{}
	if how.name == offlineElection.name {
		if unclean, err = c.uncleanTopics(ps, states); err != nil {
			return nil, err
		}
	}
	proposals := make([]proposal, 0, len(ps))
	for _, p := range ps {
		now, err := states[p].info, c.mayOverwrite(states[p])
		if err != nil {
			c.failedTransition(p, OnlinePartition, err)
			continue
		}
		v, ok := how.elect(c.cluster.ballot(p, now.isr, unclean[p.Topic]))
		if !ok {
			c.failedTransition(p, OnlinePartition, fmt.Errorf("the %s election finds no leader; ISR %v", how.name, now.isr))
			continue
		}
		proposals = append(proposals, proposal{partition: p, recipients: v.recipients, state: leaderISR{
			leader: v.leader, isr: v.isr,
			leaderEpoch:     now.leaderEpoch + 1, // also when the leader stays
			controllerEpoch: c.cluster.epoch,
			version:         now.version,
		}})
	}
	return proposals, nil
}

// mayOverwrite refuses to build on a state that could not be read, or that a controller of
// a later reign wrote: then we are deposed and only do not know it yet.
func (c *Controller) mayOverwrite(s stateRead) error {
	if s.err != nil {
		return s.err
	}
	if s.info.controllerEpoch > c.cluster.epoch {
		return fmt.Errorf("its state was written by the controller of epoch %d; ours is %d", s.info.controllerEpoch, c.cluster.epoch)
	}
	return nil
}

// uncleanElectionKey is the topic's override of the broker's default.
const uncleanElectionKey = "unclean.leader.election.enable"

// uncleanTopics says for which topics a replica outside the ISR may lead. Only topics
// with a partition that has no online ISR member are asked about, and their config is
// read at this moment, not remembered. A config that cannot be read allows nothing.
//
// Mirrors collectUncleanLeaderElectionState.
func (c *Controller) uncleanTopics(ps []topic.Partition, states map[topic.Partition]stateRead) (map[string]bool, error) {
	var names []string
	for _, p := range ps {
		b := c.cluster.ballot(p, nil, false)
		if s := states[p]; s.err == nil && len(within(s.info.isr, b.online)) == 0 && !slices.Contains(names, p.Topic) {
			names = append(names, p.Topic)
		}
	}
	unclean := map[string]bool{}
	if len(names) == 0 {
		return unclean, nil
	}
	ops := make([]zk.Op, len(names))
	for i, name := range names {
		ops[i] = zk.GetOp(zkpaths.TopicConfig(name))
	}
	results, err := c.do(ops...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		unclean[name], err = uncleanAllowed(results[i], c.uncleanDefault.Load())
		if err != nil {
			c.log.Error().Err(err).Str("topic", name).Msg("topic config cannot be read; no unclean election")
		}
	}
	return unclean, nil
}

// uncleanAllowed reads a topic's config node; byDefault holds where it says nothing.
func uncleanAllowed(r zk.Result, byDefault bool) (bool, error) {
	if r.Err == zk.NoNode {
		return byDefault, nil
	}
	if r.Err != nil {
		return false, r.Err
	}
	config, err := zkpaths.DecodeEntityConfig(r.Data)
	if err != nil {
		return false, err
	}
	switch v, set := config[uncleanElectionKey]; {
	case !set:
		return byDefault, nil
	case strings.EqualFold(strings.TrimSpace(v), "true"):
		return true, nil
	case strings.EqualFold(strings.TrimSpace(v), "false"):
		return false, nil
	default:
		return false, fmt.Errorf("%s is %q, neither true nor false", uncleanElectionKey, v)
	}
}
