package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"kz/internal/journal"
	"kz/internal/mutant"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// isrWriter writes proposed ISRs to ZooKeeper, and tells the controller of the ones
// that were written. Mirrors ZkIsrManager, with the queue of DefaultAlterIsrManager.
//
// Two goroutines: isr-writer sends all waiting proposals as one pipelined batch, so a
// dead follower of a thousand partitions costs one round trip; at most one proposal
// per partition waits. isr-change-propagation writes the notifications. Both wait for
// ZooKeeper as long as it takes; stop ends them.
type isrWriter struct {
	m    *Manager
	wake chan struct{} // capacity 1: something is in waiting

	mu      sync.Mutex // guards below; after a partition's lock, nothing is taken under it
	waiting []isrWrite
	changed map[topic.Partition]struct{} // written, the controller not yet told
	last    time.Time                    // when changed last grew
	told    time.Time                    // when the controller was last told
}

func newISRWriter(m *Manager) *isrWriter {
	now := time.Now()
	return &isrWriter{m: m, wake: make(chan struct{}, 1), changed: map[topic.Partition]struct{}{}, last: now, told: now}
}

// submit queues a write. It never blocks: its caller holds a partition's lock. A
// write of the same partition that still waits is obsolete and dropped.
func (w *isrWriter) submit(write isrWrite) {
	w.mu.Lock()
	w.waiting = slices.DeleteFunc(w.waiting, func(o isrWrite) bool { return o.p == write.p })
	w.waiting = append(w.waiting, write)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine isr-writer.
func (w *isrWriter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		w.mu.Lock()
		batch := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		w.write(ctx, batch)
	}
}

// write sends a batch and commits every outcome. No lock is held.
func (w *isrWriter) write(ctx context.Context, batch []isrWrite) {
	ops := make([]zk.Op, len(batch))
	for i, b := range batch {
		w.m.deps.Journal.At(journal.MomentLeaderWriteISR, b.p.id.String())
		path := zkpaths.PartitionStatePath(b.p.id.Topic, b.p.id.Partition)
		version := b.zkVersion
		if mutant.UnconditionalStateWrite() {
			version = zk.AnyVersion
		}
		ops[i] = zk.SetOp(path, b.state.Encode(), version)
	}
	for i, r := range w.m.deps.Zk.Do(ctx, ops...) {
		version, err := r.Stat.Version, r.Err
		if errors.Is(err, zk.BadVersion) {
			version, err = w.readBack(ctx, ops[i].Path, batch[i].state)
		}
		if err == nil {
			w.noteChange(batch[i].p.id)
		}
		if batch[i].p.commit(batch[i], version, err) {
			w.m.completeAfterHighWatermark(batch[i].p)
		}
	}
}

// readBack tells somebody else's write from the echo of our own. After a lost
// connection a repeated setData finds the version that its first attempt made.
// Ref: Kafka 2.8 ReplicationUtils.checkLeaderAndIsrZkData.
func (w *isrWriter) readBack(ctx context.Context, path string, want zkpaths.PartitionState) (version int32, err error) {
	r := w.m.deps.Zk.Do(ctx, zk.GetOp(path))[0]
	if r.Err != nil {
		return 0, zk.BadVersion
	}
	got, err := zkpaths.DecodePartitionState(r.Data)
	if err != nil || got.Leader != want.Leader || got.LeaderEpoch != want.LeaderEpoch ||
		got.ControllerEpoch != want.ControllerEpoch || !slices.Equal(got.ISR, want.ISR) {
		return 0, zk.BadVersion
	}
	return r.Stat.Version, nil
}

func (w *isrWriter) noteChange(p topic.Partition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed[p] = struct{}{}
	w.last = time.Now()
}

// propagate is the goroutine isr-change-propagation.
func (w *isrWriter) propagate(ctx context.Context) {
	tick := time.NewTicker(w.m.cfg.ISRPropagationCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.maybePropagate(ctx, time.Now())
		}
	}
}

// maybePropagate writes one notification with all changed partitions, if it is time.
// On an error they stay for the next time. The controller then reads the state nodes
// and sends UpdateMetadata to everybody.
func (w *isrWriter) maybePropagate(ctx context.Context, now time.Time) {
	w.mu.Lock()
	due := propagationDue(len(w.changed), now.Sub(w.last), now.Sub(w.told), w.m.cfg.ISRPropagationQuiet, w.m.cfg.ISRPropagationMax)
	changed := w.changed
	if due {
		w.changed = map[topic.Partition]struct{}{}
		w.told = now
	}
	w.mu.Unlock()
	if !due {
		return
	}
	ps := make([]topic.Partition, 0, len(changed))
	for p := range changed {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, topic.Partition.Compare)
	list := make([]zkpaths.TopicPartition, len(ps))
	for i, p := range ps {
		list[i] = zkpaths.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	}
	if _, err := w.m.deps.Zk.CreateSequential(ctx, zkpaths.ISRChangePrefix, zkpaths.EncodeISRChange(list)); err != nil {
		w.m.log.Warn().Err(err).Int("partitions", len(ps)).Msg("could not tell the controller of changed ISRs; will try again")
		w.mu.Lock()
		for _, p := range ps {
			w.changed[p] = struct{}{}
		}
		w.mu.Unlock()
	}
}

// propagationDue keeps a storm of changes from becoming a storm of notifications: it
// is time when nothing changed for quiet, or nothing was told for longest.
// Ref: Kafka 2.8 ZkIsrManager.maybePropagateIsrChanges.
func propagationDue(changed int, sinceChange, sinceTold, quiet, longest time.Duration) bool {
	return changed > 0 && (sinceChange > quiet || sinceTold > longest)
}
