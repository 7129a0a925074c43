package replica

import (
	"time"

	"kz/internal/journal"
	"kz/zkpaths"
)

// A change of the ISR has three steps. Kafka 2.8 at protocol 2.6 does all three under
// the partition's write lock (ZkIsrManager.submit), so a broker that cannot reach
// ZooKeeper stops producing and fetching on the partition. We hold no lock over
// ZooKeeper. Kafka's own pending states make that safe: they exist because from 2.7
// on the write goes through the controller and takes as long.
//
//	propose  under the write lock: committed → pending; HW now waits for the maximal ISR
//	write    on isr-writer, no lock: conditional setData of the state znode
//	commit   under the write lock: pending → committed, if it is still the same pending
//
// When the write fails the partition stays pending: it serves on, and makes no
// further attempt until the next LeaderAndIsr, which a controller that holds another
// version of the znode has sent or will send.

// isrWrite is one proposed change on its way to ZooKeeper.
type isrWrite struct {
	p         *Partition
	proposal  *isrState              // the pending state; also the identity of the write
	state     zkpaths.PartitionState // what to write
	zkVersion int32                  // what the znode must be at
}

// proposeJoin makes a follower a candidate for the ISR, if it still may join.
func (p *Partition) proposeJoin(r *remoteReplica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log == nil || !p.isLeader() || !mayJoin(p.isr, r.id, r.load().end.Offset, p.log.HighWatermark(), p.epochStart) {
		return
	}
	p.propose(&isrState{phase: pendingExpand, isr: p.isr.isr, joining: r.id})
}

// maybeShrink proposes to drop the members of the ISR that lag. Called every half
// lag time by isr-expiration.
func (p *Partition) maybeShrink(now time.Time) {
	if !p.lags(now) { // the common case needs no write lock
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if out := p.outOfSync(now); len(out) > 0 {
		p.m.log.Info().Stringer("partition", p.id).Ints32("isr", p.isr.isr).Ints32("leaving", out).
			Int64("high-watermark", p.log.HighWatermark()).Int64("log-end", p.log.EndOffset()).
			Msg("shrinking the ISR")
		p.propose(&isrState{phase: pendingShrink, isr: p.isr.isr, leaving: out})
	}
}

func (p *Partition) lags(now time.Time) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.outOfSync(now)) > 0
}

// outOfSync is the pure function of the same name on this partition. p.mu is held.
func (p *Partition) outOfSync(now time.Time) []int32 {
	if p.log == nil || !p.isLeader() {
		return nil
	}
	var buf [8]followerState
	return outOfSync(p.isr, p.leader, p.log.EndOffset(), p.followers(buf[:0]), now, p.m.cfg.LagTimeMax)
}

// propose enters a pending state and hands the write to isr-writer, which never
// blocks here. p.mu is held for writing.
func (p *Partition) propose(next *isrState) {
	if !p.isr.mayEnter(next.phase) {
		return
	}
	p.isr = next
	p.touch() // who may join or counts as in sync
	p.m.isrWriter.submit(isrWrite{
		p: p, proposal: next, zkVersion: p.zkVersion,
		state: zkpaths.PartitionState{
			// The epoch of the controller that made us leader, not of the latest one: the
			// decision that this write refines is the former's.
			ControllerEpoch: p.controllerEpoch,
			Leader:          p.leader, LeaderEpoch: p.leaderEpoch, ISR: next.proposed(),
		},
	})
}

// commit ends a write. version is the znode's after it, meaningless with an error. A
// write that a LeaderAndIsr overtook changes nothing: the controller's word is newer.
func (p *Partition) commit(w isrWrite, version int32, err error) (hwMoved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isr != w.proposal {
		return false
	}
	result := "ok"
	if err == nil {
		p.isr = committedISR(w.state.ISR)
		p.zkVersion = version
		p.touch()
		p.m.log.Info().Stringer("partition", p.id).Ints32("isr", w.state.ISR).Int32("zk-version", version).Msg("ISR changed")
		hwMoved = p.raiseHighWatermark(time.Now()) // who left no longer holds it back
	} else {
		result = err.Error()
		p.m.log.Warn().Stringer("partition", p.id).Stringer("isr", w.proposal).Int32("zk-version", w.zkVersion).
			Str("result", result).Msg("the ISR was not changed; the partition stays pending until the next LeaderAndIsr")
	}
	p.announce(w, version, result)
	return hwMoved
}

// announce journals the outcome; Result tells success from failure. p.mu is held.
func (p *Partition) announce(w isrWrite, version int32, result string) {
	j := p.m.deps.Journal
	if !j.On() {
		return
	}
	kind := journal.ISRShrink
	if w.proposal.phase == pendingExpand {
		kind = journal.ISRExpand
	}
	j.Emit(journal.Event{
		Kind: kind, Source: "replica", Topic: p.id.Topic, Partition: p.id.Partition,
		Leader: w.state.Leader, LeaderEpoch: w.state.LeaderEpoch, ControllerEpoch: w.state.ControllerEpoch,
		ISR: w.state.ISR, VersionBefore: w.zkVersion, VersionAfter: version, Result: result,
	})
}
