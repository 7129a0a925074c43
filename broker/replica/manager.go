package replica

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/purgatory"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Manager holds every partition of this broker. Mirrors kafka.server.ReplicaManager.
// Its methods may be called from any goroutine.
//
// Lock order: stateMu, Partition.mu, (partitionsMu | isrWriter.mu | the log's, watchers.mu,
// fetchSession.mu, remoteReplica.mu). partitionsMu is held only to look up or change the map.
type Manager struct {
	cfg  Config
	deps Deps
	log  zerolog.Logger

	produce *purgatory.Purgatory[topic.Partition]
	fetch   *purgatory.Purgatory[fetchKey]

	isrWriter *isrWriter

	// stateMu serializes what the controller asks for and what a failed disk does, from
	// the epoch check to the last effect. Held over log creation and Fetchers.Remove;
	// never over ZooKeeper. Mirrors replicaStateChangeLock.
	stateMu         sync.Mutex
	fetchers        Fetchers
	stopping        bool // no more fetchers are started
	onLeadership    func(leaders, followers []topic.Partition)
	controllerEpoch atomic.Int32 // highest seen; written under stateMu

	partitionsMu sync.RWMutex // guards online and offline
	online       map[topic.Partition]*Partition
	offline      map[topic.Partition]struct{} // on a log dir that failed

	ctx    context.Context // ends with Stop: what waits for ZooKeeper gives up
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

// NewManager makes a manager without partitions. It starts the purgatories; Stop
// ends them.
func NewManager(cfg Config, d Deps) *Manager {
	m := &Manager{
		cfg: cfg, deps: d,
		log:     d.Log.With().Str("room", "replica").Logger(),
		produce: purgatory.New[topic.Partition]("Produce", cfg.ProducePurgeInterval),
		fetch:   purgatory.New[fetchKey]("Fetch", cfg.FetchPurgeInterval),
		online:  map[topic.Partition]*Partition{},
		offline: map[topic.Partition]struct{}{},
	}
	m.isrWriter = newISRWriter(m)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// SetFetchers hands in the follower's side; before Start.
func (m *Manager) SetFetchers(f Fetchers) { m.fetchers = f }

// OnLeadershipChange registers the one listener that learns which partitions this
// broker leads or follows since a LeaderAndIsr, or has no more (as if it followed): the
// coordinators load and unload by it. Before Start. It is called in order, under the manager's state lock: it must
// only hand the news on.
func (m *Manager) OnLeadershipChange(f func(leaders, followers []topic.Partition)) {
	m.onLeadership = f
}

// Start begins looking for lagging followers and writing ISRs.
func (m *Manager) Start() {
	m.tasks.Go(func() { m.isrWriter.run(m.ctx) })
	m.tasks.Go(func() { m.isrWriter.propagate(m.ctx) })
	m.tasks.Go(func() { m.expireISRs(m.ctx) })
}

// Leave begins a shutdown: from now on no LeaderAndIsr starts a fetcher. The controller is moving our
// leaderships away and makes us followers while it does; were we to fetch, the new leaders would take us
// back into ISRs that we have just left. Fetchers that run go on.
// Ref: Kafka 2.8 ReplicaManager.makeFollowers (isShuttingDown).
func (m *Manager) Leave() {
	m.stateMu.Lock()
	defer m.stateMu.Unlock()
	m.stopping = true
}

// Stop ends replication: no more fetchers, everyone who waits is answered with what
// there is, and the high watermarks are on disk.
func (m *Manager) Stop() {
	m.halt()
	m.deps.Logs.CheckpointHighWatermarks()
}

// Kill is Stop without the checkpoint: what a kill -9 leaves on disk, in a process
// that lives on. For tests.
func (m *Manager) Kill() { m.halt() }

func (m *Manager) halt() {
	m.Leave()
	if m.fetchers != nil {
		m.fetchers.Stop()
	}
	m.cancel()
	m.tasks.Wait()
	m.fetch.Stop()
	m.produce.Stop()
}

// expireISRs is the goroutine isr-expiration. Its period is half the lag time, so a
// dead follower leaves after 1 to 1.5 times the lag time.
func (m *Manager) expireISRs(ctx context.Context) {
	tick := time.NewTicker(m.cfg.LagTimeMax / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, p := range m.onlinePartitions() {
				p.maybeShrink(now)
			}
		}
	}
}

// partition finds a partition, or the code that clients get for its absence. A topic
// that exists but is not here sends them to look for its place anew.
// Ref: Kafka 2.8 ReplicaManager.getPartitionOrError.
func (m *Manager) partition(id topic.Partition) (*Partition, kafkaerr.Code) {
	m.partitionsMu.RLock()
	p := m.online[id]
	_, offline := m.offline[id]
	m.partitionsMu.RUnlock()
	switch {
	case p != nil:
		return p, kafkaerr.None
	case offline:
		return nil, kafkaerr.KafkaStorageError
	}
	if _, known := m.deps.Metadata.Current().Partition(id); known {
		return nil, kafkaerr.NotLeaderOrFollower
	}
	return nil, kafkaerr.UnknownTopicOrPartition
}

// hosted is the partition, or nil; offline says whether it lies on a failed dir.
func (m *Manager) hosted(id topic.Partition) (p *Partition, offline bool) {
	m.partitionsMu.RLock()
	defer m.partitionsMu.RUnlock()
	_, offline = m.offline[id]
	return m.online[id], offline
}

func (m *Manager) onlinePartitions() []*Partition {
	m.partitionsMu.RLock()
	defer m.partitionsMu.RUnlock()
	ps := make([]*Partition, 0, len(m.online))
	for _, p := range m.online {
		ps = append(ps, p)
	}
	return ps
}

func (m *Manager) markOffline(p *Partition) {
	m.partitionsMu.Lock()
	delete(m.online, p.id)
	m.offline[p.id] = struct{}{}
	m.partitionsMu.Unlock()
	p.touch()
}

// completeAll lets everyone who waits for a partition look again: leadership, epoch
// or availability changed. No lock is held.
func (m *Manager) completeAll(p *Partition) {
	m.produce.CheckAndComplete(p.id)
	m.completeFetches(p, true)
}

// completeFetches lets fetches that wait for a partition look again. Where only the high
// watermark moved, the sessions of followers are left alone: they read to the log end. No
// lock is held.
func (m *Manager) completeFetches(p *Partition, followersToo bool) {
	m.fetch.CheckAndComplete(fetchKey{partition: p.id})
	var buf [8]*fetchSession
	for _, s := range p.sessions(buf[:0]) {
		if followersToo || !s.privileged {
			m.fetch.CheckAndComplete(fetchKey{session: s})
		}
	}
}

// completeAfterHighWatermark wakes producers with acks=all and consumers. No lock is
// held: what they answer runs here.
func (m *Manager) completeAfterHighWatermark(p *Partition) {
	m.deps.Journal.At(journal.MomentLeaderHWAdvance, p.id.String())
	m.produce.CheckAndComplete(p.id)
	m.completeFetches(p, false)
}

// changed journals what a LeaderAndIsr made of a partition. p.mu is held.
func (m *Manager) changed(kind journal.Kind, p *Partition) {
	if !m.deps.Journal.On() {
		return
	}
	m.deps.Journal.Emit(journal.Event{
		Kind: kind, Source: "replica", Topic: p.id.Topic, Partition: p.id.Partition,
		Leader: p.leader, LeaderEpoch: p.leaderEpoch, ControllerEpoch: p.controllerEpoch,
		ISR: p.isr.isr, Offset: p.log.HighWatermark(), EndOffset: p.log.EndOffset(),
	})
}

// Status is one local replica, for tests and `kz replicas`.
type Status struct {
	Partition     topic.Partition
	IsLeader      bool
	Leader        int32 // -1 none
	LeaderEpoch   int32
	ISR           []int32 // committed; nil on a follower, which does not know it
	ISRPending    bool    // a change of the ISR is under way or failed
	LogStart      int64
	HighWatermark int64
	LogEnd        int64
}

// Status lists the replicas here that are online, by topic and number.
func (m *Manager) Status() []Status {
	ps := m.onlinePartitions()
	out := make([]Status, 0, len(ps))
	for _, p := range ps {
		p.mu.RLock()
		s := Status{
			Partition: p.id, IsLeader: p.isLeader(), Leader: p.leader, LeaderEpoch: p.leaderEpoch,
			ISR: p.isr.isr, ISRPending: p.isr.phase != committed,
		}
		if p.log != nil {
			s.LogStart, s.HighWatermark, s.LogEnd = p.log.StartOffset(), p.log.HighWatermark(), p.log.EndOffset()
		}
		p.mu.RUnlock()
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Status) int { return a.Partition.Compare(b.Partition) })
	return out
}

// ControllerEpoch is the highest seen; 0 before the first request of a controller.
func (m *Manager) ControllerEpoch() int32 { return m.controllerEpoch.Load() }

// UpdateTopicConfig applies a changed topic config to the logs of the topic.
func (m *Manager) UpdateTopicConfig(name string, c commitlog.Config) {
	for _, log := range m.deps.Logs.All() {
		if log.Partition().Topic == name {
			log.SetConfig(c)
		}
	}
}
