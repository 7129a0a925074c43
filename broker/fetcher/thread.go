package fetcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// idleLinger is how long a thread without partitions waits for new ones. It spares the
// reconnect when a LeaderAndIsr takes the partitions away only to give them back at
// the next epoch.
const idleLinger = 5 * time.Second

// replicas is what a thread needs of *replica.Manager.
type replicas interface {
	FollowerLog(topic.Partition) (*commitlog.Log, error)
	FollowerAppend(p topic.Partition, leaderEpoch int32, records []byte, leaderHW, leaderLogStart int64) (commitlog.AppendInfo, error)
	FollowerTruncate(p topic.Partition, offset int64) error
	FollowerTruncateFully(p topic.Partition, offset int64) error
}

// thread fetches some of the partitions that one broker leads. Mirrors
// ReplicaFetcherThread and AbstractFetcherThread.
//
// Its goroutine is the only one that talks to the leader and appends. Others only
// change what it has to do, under mu. It is held over one append or truncation, so
// that Remove can wait for it; never over the network.
type thread struct {
	m      *Manager
	key    threadKey
	source source
	leader leader  // the goroutine's
	sent   session // the goroutine's: what the leader remembers of our fetches
	log    zerolog.Logger

	ctx    context.Context // ends with end
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1: there is something new to do

	lookedAtAll time.Time // the goroutine's: see ready

	mu    sync.Mutex // guards parts
	parts partitions
}

func newThread(m *Manager, key threadKey, from source) *thread {
	t := &thread{
		m: m, key: key, source: from,
		wake: make(chan struct{}, 1), parts: newPartitions(),
		log: m.log.With().Int32("leader", key.broker).Int("fetcher", key.index).Logger(),
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.leader = m.dial(from, t)
	return t
}

// clientID is how the leader sees us, as Kafka's followers call themselves.
func (t *thread) clientID() string {
	return fmt.Sprintf("broker-%d-fetcher-%d", t.m.cfg.BrokerID, t.key.index)
}

// run is the goroutine: truncate what must be truncated, fetch what may be fetched,
// sleep when there is neither. It ends with its context, or when it idles too long.
func (t *thread) run() {
	defer t.leader.close()
	defer t.cancel()
	for t.ctx.Err() == nil {
		t.maybeTruncate()
		if t.maybeFetch() {
			continue
		}
		wait := t.nextWork(time.Now())
		timer := time.NewTimer(wait)
		select {
		case <-t.ctx.Done():
		case <-t.wake:
		case <-timer.C:
			if t.count() == 0 && t.m.retire(t) {
				timer.Stop()
				return
			}
		}
		timer.Stop()
	}
}

// nextWork is how long until the first delayed partition may be tried again: not at
// all if one waits for nothing.
func (t *thread) nextWork(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts.len() == 0 {
		return idleLinger
	}
	wait := t.m.cfg.Backoff
	for _, p := range t.parts.at {
		wait = min(wait, max(0, p.until.Sub(now)))
	}
	return wait
}

func (t *thread) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *thread) add(starts map[topic.Partition]replica.FetchStart) {
	ids := make([]topic.Partition, 0, len(starts))
	for id := range starts {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, topic.Partition.Compare) // a request that can be predicted
	t.mu.Lock()
	for _, id := range ids {
		t.parts.put(follow(id, starts[id], t.parts.get(id)))
	}
	t.mu.Unlock()
	t.signal()
}

// inherit takes over another thread's partitions as they are.
func (t *thread) inherit(ps []*partition) {
	t.mu.Lock()
	for _, p := range ps {
		t.parts.put(p)
	}
	t.mu.Unlock()
	t.signal()
}

// remove waits for an append of the partition that is under way: it holds the lock.
func (t *thread) remove(id topic.Partition) {
	t.mu.Lock()
	t.parts.remove(id)
	t.mu.Unlock()
}

// end makes the goroutine end soon, and returns its partitions: it appends no more.
func (t *thread) end() []*partition {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.parts.all()
	t.parts = newPartitions()
	return out
}

func (t *thread) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parts.len()
}

// delay leaves partitions alone for a while after an error.
func (t *thread) delay(ids ...topic.Partition) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if p := t.parts.get(id); p != nil {
			p.refusals++
			t.parts.rest(p, now.Add(backoffAfter(p.refusals, t.m.cfg.Backoff)))
		}
	}
}

// fail gives a partition up until the next LeaderAndIsr. t.mu is held.
func (t *thread) fail(id topic.Partition, why error) {
	t.parts.remove(id)
	t.m.failed.add(id)
	if errors.Is(why, kafkaerr.FencedLeaderEpoch) { // the leader has heard of the election before us
		t.log.Info().Stringer("partition", id).Msg("the leader is in a later epoch; waiting for the LeaderAndIsr that says so")
		return
	}
	t.log.Error().Err(why).Stringer("partition", id).Msg("following failed; waiting for the next LeaderAndIsr")
}

// fenced handles FENCED_LEADER_EPOCH on a request made at epoch: the leader knows of a
// later one. If that is still our epoch there is nothing to do but wait for the
// controller; else the request was older than what we know by now. t.mu is held.
func (t *thread) fenced(id topic.Partition, epoch int32) (retry bool) {
	p := t.parts.get(id)
	if p == nil {
		return false
	}
	if p.leaderEpoch == epoch {
		t.fail(id, kafkaerr.FencedLeaderEpoch)
		return false
	}
	return true
}

// at is a moment of the follower's. No lock is held.
func (t *thread) at(m journal.Moment, id topic.Partition) { t.m.journal.At(m, id.String()) }
