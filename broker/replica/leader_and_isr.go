package replica

import (
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// LeaderState is one partition of a LeaderAndIsr request.
type LeaderState struct {
	ControllerEpoch  int32
	Leader           int32
	LeaderEpoch      int32
	ISR              []int32
	ZkVersion        int32
	Replicas         []int32
	AddingReplicas   []int32
	RemovingReplicas []int32
	IsNew            bool // the first LeaderAndIsr ever: the log may be created though a dir is offline
}

// leaderAndISRVerdict decides whether one partition of the request is obeyed. An
// equal epoch is refused like an older one: repeats are normal, and have nothing to
// change. Ref: Kafka 2.8 ReplicaManager.becomeLeaderOrFollower.
func leaderAndISRVerdict(requested, known int32, self int32, replicas []int32) kafkaerr.Code {
	switch {
	case requested <= known:
		return kafkaerr.StaleControllerEpoch
	case !slices.Contains(replicas, self):
		return kafkaerr.UnknownTopicOrPartition
	}
	return kafkaerr.None
}

// BecomeLeaderOrFollower is all of LeaderAndIsr's work. code is the top-level error,
// STALE_CONTROLLER_EPOCH for a request of an older controller; perPartition is nil
// then. The broker epoch is checked by the caller.
func (m *Manager) BecomeLeaderOrFollower(controllerID, controllerEpoch int32, states map[topic.Partition]LeaderState) (perPartition map[topic.Partition]kafkaerr.Code, code kafkaerr.Code) {
	perPartition, wake, code := m.becomeLeaderOrFollower(controllerID, controllerEpoch, states)
	for _, p := range wake {
		m.completeAll(p) // those who waited under the old leadership; no lock is held
	}
	return perPartition, code
}

func (m *Manager) becomeLeaderOrFollower(controllerID, controllerEpoch int32, states map[topic.Partition]LeaderState) (codes map[topic.Partition]kafkaerr.Code, wake []*Partition, code kafkaerr.Code) {
	m.stateMu.Lock()
	defer m.stateMu.Unlock()
	if !m.admitController("LeaderAndIsr", controllerID, controllerEpoch) {
		return nil, nil, kafkaerr.StaleControllerEpoch
	}
	codes = make(map[topic.Partition]kafkaerr.Code, len(states))
	var leaders, followers []*Partition
	// In order, so that logs made in turn land in the same directories every time.
	for _, id := range slices.SortedFunc(maps.Keys(states), topic.Partition.Compare) {
		s := states[id]
		p, code := m.forLeaderAndISR(id, s)
		codes[id] = code
		switch {
		case code != kafkaerr.None:
			m.logIgnored("LeaderAndIsr", id, code, s.LeaderEpoch, controllerID)
		case s.Leader == m.cfg.BrokerID:
			leaders = append(leaders, p)
		default:
			followers = append(followers, p)
		}
	}
	led := m.makeLeaders(leaders, states, codes)
	followed := m.makeFollowers(followers, states, codes)
	for id := range states {
		if p, _ := m.hosted(id); p != nil && p.log == nil {
			m.markOffline(p) // its log could not be made
		}
	}
	if m.onLeadership != nil {
		m.onLeadership(led, followed)
	}
	for _, id := range slices.Concat(led, followed) {
		if p, _ := m.hosted(id); p != nil {
			wake = append(wake, p)
		}
	}
	return codes, wake, kafkaerr.None
}

// admitController notes the newest controller epoch, and refuses older ones.
func (m *Manager) admitController(api string, id, epoch int32) bool {
	if known := m.controllerEpoch.Load(); epoch < known {
		m.log.Warn().Str("api", api).Int32("controller", id).Int32("epoch", epoch).Int32("known", known).
			Msg("request of a controller that has been replaced")
		return false
	}
	m.controllerEpoch.Store(epoch)
	return true
}

// forLeaderAndISR finds or makes the partition and judges the request. m.stateMu is
// held.
func (m *Manager) forLeaderAndISR(id topic.Partition, s LeaderState) (*Partition, kafkaerr.Code) {
	p, offline := m.hosted(id)
	if offline {
		return nil, kafkaerr.KafkaStorageError
	}
	if code := leaderAndISRVerdict(s.LeaderEpoch, m.knownEpoch(id), m.cfg.BrokerID, s.Replicas); code != kafkaerr.None {
		return nil, code
	}
	if p == nil {
		p = newPartition(id, m)
		m.partitionsMu.Lock()
		m.online[id] = p
		m.partitionsMu.Unlock()
	}
	return p, kafkaerr.None
}

// knownEpoch is the leader epoch of the last request obeyed. m.stateMu is held.
func (m *Manager) knownEpoch(id topic.Partition) int32 {
	if p, _ := m.hosted(id); p != nil {
		return p.leaderEpoch // written only under stateMu
	}
	return noEpoch
}

// logIgnored says why a request changed nothing for a partition. A repeat is everyday
// life after a failover and at a controlled shutdown, so it shows at debug only.
func (m *Manager) logIgnored(api string, id topic.Partition, code kafkaerr.Code, requested, controllerID int32) {
	level, why := zerolog.WarnLevel, "this broker is not among the replicas"
	switch known := m.knownEpoch(id); {
	case code == kafkaerr.KafkaStorageError:
		why = "its log directory is offline"
	case requested == known:
		level, why = zerolog.DebugLevel, "it repeats the leader epoch we have"
	case requested < known:
		why = "its leader epoch is older than ours"
	}
	m.log.WithLevel(level).Stringer("partition", id).Int32("leader-epoch", requested).Int32("controller", controllerID).
		Str("answer", code.Name()).Msg(api + " ignored: " + why)
}

// makeLeaders stops the fetchers first: a leader's log grows by its producers only.
func (m *Manager) makeLeaders(ps []*Partition, states map[topic.Partition]LeaderState, codes map[topic.Partition]kafkaerr.Code) (done []topic.Partition) {
	if len(ps) == 0 {
		return nil
	}
	m.removeFetchers(ids(ps))
	for _, p := range ps {
		s := states[p.id]
		if err := p.makeLeader(s); err != nil {
			codes[p.id] = kafkaerr.CodeOf(err)
			m.log.Error().Err(err).Stringer("partition", p.id).Int32("leader-epoch", s.LeaderEpoch).Msg("could not become leader")
			continue
		}
		m.log.Info().Stringer("partition", p.id).Int32("leader-epoch", s.LeaderEpoch).Ints32("isr", s.ISR).
			Int32("zk-version", s.ZkVersion).Msg("leader")
		done = append(done, p.id)
	}
	return done
}

// makeFollowers first stops producing to the partitions (the leader changes), then
// their old fetchers, then fetches from the new leaders.
func (m *Manager) makeFollowers(ps []*Partition, states map[topic.Partition]LeaderState, codes map[topic.Partition]kafkaerr.Code) (done []topic.Partition) {
	if len(ps) == 0 {
		return nil
	}
	alive := m.deps.Metadata.Current()
	starts := map[topic.Partition]FetchStart{}
	for _, p := range ps {
		s := states[p.id]
		endpoint, found := metadata.Endpoint{}, false
		if b, ok := alive.Brokers[s.Leader]; ok {
			endpoint, found = b.Endpoint(m.cfg.InterBrokerListener)
		}
		changed, err := false, error(nil)
		if found {
			changed, err = p.makeFollower(s)
		} else {
			// The log is made even so, that its high watermark is checkpointed on (KAFKA-1647);
			// the epoch stays, so that the repeat of this request is obeyed.
			err = p.ensureLog(s.IsNew)
			line, what := m.log.Error(), "cannot follow: the leader is not among the live brokers"
			if s.Leader == noLeader { // a new controller begins with this, then elects
				line, what = m.log.Info(), "no leader at the moment"
			}
			line.Stringer("partition", p.id).Int32("leader", s.Leader).Int32("leader-epoch", s.LeaderEpoch).Msg(what)
		}
		if err != nil {
			codes[p.id] = kafkaerr.CodeOf(err)
			m.log.Error().Err(err).Stringer("partition", p.id).Int32("leader-epoch", s.LeaderEpoch).Msg("could not become follower")
			continue
		}
		if changed {
			m.log.Info().Stringer("partition", p.id).Int32("leader", s.Leader).Int32("leader-epoch", s.LeaderEpoch).Msg("follower")
			done = append(done, p.id)
			starts[p.id] = FetchStart{LeaderID: s.Leader, Leader: endpoint, LeaderEpoch: s.LeaderEpoch}
		}
	}
	m.removeFetchers(done)
	for _, id := range done {
		p, _ := m.hosted(id)
		start := starts[id]
		start.Offset = p.log.HighWatermark() // read now: the old fetcher may have moved it till its end
		starts[id] = start
	}
	if len(starts) > 0 && !m.stopping && m.fetchers != nil {
		m.fetchers.Add(starts)
	}
	return done
}

func (m *Manager) removeFetchers(ps []topic.Partition) {
	if m.fetchers != nil && len(ps) > 0 {
		m.fetchers.Remove(ps)
	}
}

func ids(ps []*Partition) []topic.Partition {
	out := make([]topic.Partition, len(ps))
	for i, p := range ps {
		out[i] = p.id
	}
	return out
}
