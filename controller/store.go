package controller

import (
	"context"
	"errors"
	"fmt"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// zooKeeper is what the controller uses of *zk.Client.
type zooKeeper interface {
	Do(ctx context.Context, ops ...zk.Op) []zk.Result
	Multi(ctx context.Context, ops ...zk.Op) ([]zk.Result, error)
	RegisterData(path string, f func(zk.EventType))
	UnregisterData(path string)
	RegisterChild(path string, f func(zk.EventType))
	UnregisterChild(path string)
	RegisterSession(name string, before, after func())
	UnregisterSession(name string)
}

// do sends one pipelined batch and waits. Its error ends the whole event: another
// controller reigns (ErrControllerMoved), the session is over, or we are stopping. Results
// of single operations, good or bad, are in the results.
func (c *Controller) do(ops ...zk.Op) ([]zk.Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	results := c.zk.Do(c.life, ops...)
	for _, r := range results {
		if endsEvent(r.Err) {
			return nil, r.Err
		}
	}
	return results, nil
}

func endsEvent(err error) bool {
	return errors.Is(err, zk.ErrControllerMoved) || errors.Is(err, zk.SessionExpired) || errors.Is(err, zk.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// do1 is do for one operation; its error may also be the operation's code.
func (c *Controller) do1(op zk.Op) (zk.Result, error) {
	results, err := c.do(op)
	if err != nil {
		return zk.Result{}, err
	}
	return results[0], results[0].Err
}

// fenced guards a write with the epoch of this reign.
func (c *Controller) fenced(op zk.Op) zk.Op { return op.Fenced(c.cluster.epochVersion) }

// deleteAll removes nodes, fenced. A node that is gone already, or that cannot be deleted,
// is left at that, as in Kafka.
func (c *Controller) deleteAll(paths []string) error {
	ops := make([]zk.Op, len(paths))
	for i, path := range paths {
		ops[i] = c.fenced(zk.DeleteOp(path, zk.AnyVersion))
	}
	results, err := c.do(ops...)
	for i, r := range results {
		if r.Err != nil && r.Err != zk.NoNode {
			c.log.Warn().Err(r.Err).Str("path", paths[i]).Msg("znode cannot be deleted")
		}
	}
	return err
}

// stateRead is one partition's state znode, or why there is none.
type stateRead struct {
	info leaderISR
	err  error
}

// readStates reads the state znodes of the partitions, pipelined.
func (c *Controller) readStates(ps []topic.Partition) (map[topic.Partition]stateRead, error) {
	ops := make([]zk.Op, len(ps))
	for i, p := range ps {
		ops[i] = zk.GetOp(zkpaths.PartitionStatePath(p.Topic, p.Partition))
	}
	results, err := c.do(ops...)
	if err != nil {
		return nil, err
	}
	states := make(map[topic.Partition]stateRead, len(ps))
	for i, p := range ps {
		states[p] = parseState(results[i])
	}
	return states, nil
}

func parseState(r zk.Result) stateRead {
	if r.Err != nil {
		return stateRead{err: fmt.Errorf("reading its state: %w", r.Err)}
	}
	s, err := zkpaths.DecodePartitionState(r.Data)
	if err != nil {
		return stateRead{err: err}
	}
	return stateRead{info: leaderISR{
		leader: s.Leader, leaderEpoch: s.LeaderEpoch, isr: s.ISR,
		controllerEpoch: s.ControllerEpoch, version: r.Stat.Version,
	}}
}

// proposal is a state to be written, over the version it was made from. After the write
// its version is the new one.
type proposal struct {
	partition  topic.Partition
	state      leaderISR
	recipients []int32 // of the LeaderAndIsr that follows
}

// writeStates writes states, fenced and conditionally, pipelined. written are those that
// are now in ZooKeeper; conflicts met another version and must be decided again; all
// others failed and were logged.
//
// A lost connection makes a BadVersion ambiguous: it may be the echo of our own first
// attempt. Such a node is read back; when it says exactly what we wanted, with the version
// that our write makes, the write was ours.
func (c *Controller) writeStates(ps []proposal) (written []proposal, conflicts []topic.Partition, err error) {
	ops := make([]zk.Op, len(ps))
	for i, p := range ps {
		path := zkpaths.PartitionStatePath(p.partition.Topic, p.partition.Partition)
		ops[i] = c.fenced(zk.SetOp(path, p.state.znode().Encode(), p.state.version))
	}
	results, err := c.do(ops...)
	if err != nil {
		return nil, nil, err
	}
	var unsure []proposal
	for i, r := range results {
		p := ps[i]
		p.state.version++ // a set that succeeds makes the demanded version + 1
		switch {
		case r.Err == nil:
			written = append(written, p)
		case r.Err == zk.BadVersion && r.Retried:
			unsure = append(unsure, p)
		case r.Err == zk.BadVersion:
			conflicts = append(conflicts, p.partition)
		default:
			c.log.Error().Err(r.Err).Stringer("partition", p.partition).Msg("state cannot be written")
		}
	}
	ours, others, err := c.readBack(unsure)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range others {
		conflicts = append(conflicts, p.partition)
	}
	return append(written, ours...), conflicts, nil
}

// readBack tells writes that were ours from those that were not.
func (c *Controller) readBack(unsure []proposal) (ours, others []proposal, err error) {
	names := make([]topic.Partition, len(unsure))
	for i, p := range unsure {
		names[i] = p.partition
	}
	states, err := c.readStates(names)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range unsure {
		s := states[p.partition]
		if s.err == nil && s.info.version == p.state.version && s.info.same(p.state) {
			ours = append(ours, p)
		} else {
			others = append(others, p)
		}
	}
	return ours, others, nil
}

// createStates creates the state znodes of new partitions and the two levels above them,
// in three batches. That the upper levels exist already is fine; that a state exists fails
// its partition, unless it is the echo of our own create.
func (c *Controller) createStates(ps []proposal) (created []proposal, err error) {
	var topics, partitions, states []zk.Op
	seen := map[string]bool{}
	for _, p := range ps {
		name, n := p.partition.Topic, p.partition.Partition
		if !seen[name] {
			seen[name] = true
			topics = append(topics, c.fenced(zk.CreateOp(zkpaths.Partitions(name), nil)))
		}
		partitions = append(partitions, c.fenced(zk.CreateOp(zkpaths.Partition(name, n), nil)))
		states = append(states, c.fenced(zk.CreateOp(zkpaths.PartitionStatePath(name, n), p.state.znode().Encode())))
	}
	for _, ops := range [][]zk.Op{topics, partitions} {
		if _, err := c.do(ops...); err != nil {
			return nil, err
		}
	}
	results, err := c.do(states...)
	if err != nil {
		return nil, err
	}
	var unsure []proposal
	for i, r := range results {
		switch {
		case r.Err == nil:
			created = append(created, ps[i])
		case r.Err == zk.NodeExists && r.Retried:
			unsure = append(unsure, ps[i])
		default:
			c.failedTransition(ps[i].partition, OnlinePartition, fmt.Errorf("creating its state: %w", r.Err))
		}
	}
	ours, others, err := c.readBack(unsure)
	for _, p := range others {
		c.failedTransition(p.partition, OnlinePartition, fmt.Errorf("creating its state: %w", zk.NodeExists))
	}
	return append(created, ours...), err
}
