package replica

import (
	"slices"
	"sync"
	"time"

	"kz/broker/commitlog"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/mutant"
	"kz/internal/topic"
)

// Leader ids and epochs that mean "none".
const (
	noLeader     int32 = -1
	noEpoch      int32 = -1 // no LeaderAndIsr has come yet; in StopReplica: unknown
	deletedEpoch int32 = -2 // in StopReplica: the topic is being deleted
)

// Partition is one replica on this broker, leader or follower. Mirrors
// kafka.cluster.Partition.
//
// Its lock is a read-write one. Appends, reads and fetch bookkeeping hold it for
// reading, over the log's work: whoever holds it knows that the leader, the epoch and
// the ISR stay what they are until it lets go. Changes of those hold it for writing.
// It is never held over a socket or ZooKeeper, and never while the purgatory is
// asked: completed operations run their callers' code.
type Partition struct {
	id topic.Partition
	m  *Manager

	mu sync.RWMutex // guards all below; after Manager.stateMu, before the log's, the watchers' and remoteReplica's

	// log is nil until the first LeaderAndIsr, and again after deletion.
	log *commitlog.Log

	leader      int32 // broker id, or noLeader
	leaderEpoch int32 // of the last LeaderAndIsr obeyed, or noEpoch; only grows
	// leadsSince is the epoch at which this broker began to lead without a break; it
	// stays when the epoch rises and the leader does not change. An append waits for its
	// acks only in the reign it was made in: later, other records may have its offsets.
	leadsSince int32
	// epochStart is the log end at which this broker began to lead in leaderEpoch;
	// -1 on a follower.
	epochStart int64

	// controllerEpoch and zkVersion are what the last LeaderAndIsr said, and zkVersion
	// also what our own last write made it: the guard of the next ISR write.
	controllerEpoch int32
	zkVersion       int32

	replicas, adding, removing []int32          // the assignment, in order
	remotes                    []*remoteReplica // one for each replica but this broker
	isr                        *isrState        // on a follower: committed and empty

	watchers watchers // the fetch sessions that must hear of changes; locks itself
}

func newPartition(id topic.Partition, m *Manager) *Partition {
	return &Partition{
		id: id, m: m,
		leader: noLeader, leaderEpoch: noEpoch, leadsSince: noEpoch, epochStart: -1,
		isr: committedISR(nil),
	}
}

func (p *Partition) isLeader() bool { return p.leader == p.m.cfg.BrokerID }

// checkEpoch compares the leader epoch that a request carries (-1: does not say) with
// the one this replica knows. Ref: Kafka 2.8 Partition.checkCurrentLeaderEpoch.
func checkEpoch(requested, known int32) kafkaerr.Code {
	switch {
	case requested == noEpoch || requested == known || mutant.AnyEpoch():
		return kafkaerr.None
	case requested < known:
		return kafkaerr.FencedLeaderEpoch // the asker has not heard of the new leader
	}
	return kafkaerr.UnknownLeaderEpoch // we have not
}

// localLog is the log to serve a request from, or the code to refuse it with. p.mu
// is held.
func (p *Partition) localLog(requestedEpoch int32, leaderOnly bool) (*commitlog.Log, kafkaerr.Code) {
	if c := checkEpoch(requestedEpoch, p.leaderEpoch); c != kafkaerr.None {
		return nil, c
	}
	if p.log == nil || leaderOnly && !p.isLeader() {
		return nil, kafkaerr.NotLeaderOrFollower
	}
	return p.log, kafkaerr.None
}

// ensureLog opens or makes the log and gives it the high watermark that was
// checkpointed. Manager.stateMu is held, so p.log does not change meanwhile.
func (p *Partition) ensureLog(isNew bool) error {
	if p.log != nil {
		return nil
	}
	d := &p.m.deps
	log, err := d.Logs.GetOrCreate(p.id, d.LogConfig(p.id.Topic), isNew)
	if err != nil {
		return err
	}
	log.SetHighWatermark(d.Logs.CheckpointedHighWatermark(p.id))
	log.Watch(p.touch)
	p.mu.Lock()
	p.log = log
	p.touch()
	p.mu.Unlock()
	return nil
}

// setAssignment takes over replicas and ISR from a LeaderAndIsr. Followers that stay
// keep what is known of them. A change of the ISR that was under way is forgotten:
// its commit will find another isrState. p.mu is held for writing.
func (p *Partition) setAssignment(s LeaderState, isr []int32) {
	p.controllerEpoch, p.zkVersion = s.ControllerEpoch, s.ZkVersion
	p.replicas = slices.Clone(s.Replicas)
	p.adding, p.removing = slices.Clone(s.AddingReplicas), slices.Clone(s.RemovingReplicas)
	remotes := make([]*remoteReplica, 0, len(s.Replicas))
	for _, id := range s.Replicas {
		if id == p.m.cfg.BrokerID {
			continue
		}
		i := slices.IndexFunc(p.remotes, func(r *remoteReplica) bool { return r.id == id })
		if i >= 0 {
			remotes = append(remotes, p.remotes[i])
		} else {
			remotes = append(remotes, newRemoteReplica(id))
		}
	}
	p.remotes = remotes
	p.isr = committedISR(slices.Clone(isr))
}

// makeLeader obeys a LeaderAndIsr that names this broker. Manager.stateMu is held and
// the fetcher has been stopped, so the log end stands still.
func (p *Partition) makeLeader(s LeaderState) error {
	if err := p.ensureLog(s.IsNew); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	start := p.log.EndOffset()
	// The epoch is recorded even before it has records: a follower may hold records of
	// a later epoch than any in this log, and must be told where this one begins.
	if err := p.log.AssignEpoch(s.LeaderEpoch, start); err != nil {
		return err
	}
	newLeader := !p.isLeader()
	p.setAssignment(s, s.ISR)
	p.leader, p.leaderEpoch, p.epochStart = p.m.cfg.BrokerID, s.LeaderEpoch, start
	now := time.Now()
	for _, r := range p.remotes {
		inISR := slices.Contains(s.ISR, r.id)
		r.update(func(f followerState) followerState { return f.underNewEpoch(start, now, inISR, newLeader) })
	}
	if newLeader {
		p.leadsSince = s.LeaderEpoch
	}
	p.m.changed(journal.BecameLeader, p)
	p.touch()
	p.raiseHighWatermark(now) // the ISR may be this broker alone
	return nil
}

// makeFollower obeys a LeaderAndIsr that names another leader. It reports whether the
// fetcher has to start anew. Manager.stateMu is held.
func (p *Partition) makeFollower(s LeaderState) (changed bool, err error) {
	if err := p.ensureLog(s.IsNew); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = p.leader != s.Leader || p.leaderEpoch != s.LeaderEpoch
	p.setAssignment(s, nil) // only a leader knows the ISR
	p.leader, p.leaderEpoch, p.epochStart = s.Leader, s.LeaderEpoch, -1
	p.leadsSince = noEpoch
	p.m.changed(journal.BecameFollower, p)
	p.touch()
	return changed, nil
}

// forget ends a replica that is being deleted: whoever still holds the Partition gets
// NOT_LEADER_OR_FOLLOWER. It waits for appends under way, so the log may go.
func (p *Partition) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log, p.remotes = nil, nil
	p.replicas, p.adding, p.removing = nil, nil, nil
	p.leader, p.leadsSince, p.epochStart = noLeader, noEpoch, -1
	p.isr = committedISR(nil)
	p.touch()
}

// followers appends what is known of every follower to buf. p.mu is held.
func (p *Partition) followers(buf []followerState) []followerState {
	for _, r := range p.remotes {
		buf = append(buf, r.load())
	}
	return buf
}

// raiseHighWatermark moves the leader's mark as far as the followers allow, and
// reports whether it moved. p.mu is held, for reading or writing; the caller asks the
// purgatory after letting go.
func (p *Partition) raiseHighWatermark(now time.Time) bool {
	var buf [8]followerState
	mark := highWatermark(p.log.End(), p.followers(buf[:0]), p.isr, now, p.m.cfg.LagTimeMax)
	old, moved := p.log.MaybeIncrementHighWatermark(mark)
	if moved && old.Offset != mark.Offset && p.m.deps.Journal.On() {
		p.m.deps.Journal.Emit(journal.Event{
			Kind: journal.HighWatermark, Source: "replica",
			Topic: p.id.Topic, Partition: p.id.Partition,
			Leader: p.leader, LeaderEpoch: p.leaderEpoch, Offset: mark.Offset,
		})
	}
	return moved
}
