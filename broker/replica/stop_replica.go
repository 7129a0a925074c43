package replica

import (
	"slices"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// StopState is one partition of a StopReplica request. LeaderEpoch -1: unknown (from
// before version 3); -2: the topic is being deleted, which does not raise the epoch.
type StopState struct {
	LeaderEpoch int32
	Delete      bool
}

// stopVerdict decides whether one partition of the request is obeyed.
// Ref: Kafka 2.8 ReplicaManager.stopReplicas.
func stopVerdict(requested, known int32) kafkaerr.Code {
	if requested == noEpoch || requested == deletedEpoch || requested > known {
		return kafkaerr.None
	}
	return kafkaerr.FencedLeaderEpoch
}

// StopReplicas is all of StopReplica's work: it stops the fetchers and, where asked,
// deletes the replica. A partition that is not here is "stopped" as well, and its
// stray log deleted: the topic may have been deleted while this broker was down.
func (m *Manager) StopReplicas(controllerID, controllerEpoch int32, states map[topic.Partition]StopState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code) {
	codes, wake, code := m.stopReplicas(controllerID, controllerEpoch, states)
	for _, p := range wake {
		m.completeAll(p) // no lock is held
	}
	return codes, code
}

func (m *Manager) stopReplicas(controllerID, controllerEpoch int32, states map[topic.Partition]StopState) (codes map[topic.Partition]kafkaerr.Code, wake []*Partition, code kafkaerr.Code) {
	m.stateMu.Lock()
	defer m.stateMu.Unlock()
	if !m.admitController("StopReplica", controllerID, controllerEpoch) {
		return nil, nil, kafkaerr.StaleControllerEpoch
	}
	codes = make(map[topic.Partition]kafkaerr.Code, len(states))
	var stopped []topic.Partition
	for id, s := range states {
		p, offline := m.hosted(id)
		switch {
		case offline:
			codes[id] = kafkaerr.KafkaStorageError
		case p != nil:
			codes[id] = stopVerdict(s.LeaderEpoch, p.leaderEpoch)
		default:
			codes[id] = kafkaerr.None
		}
		if codes[id] == kafkaerr.None {
			stopped = append(stopped, id)
			if p != nil {
				wake = append(wake, p)
			}
		} else {
			m.logIgnored("StopReplica", id, codes[id], s.LeaderEpoch, controllerID)
		}
	}
	m.removeFetchers(stopped)
	for _, id := range stopped {
		if states[id].Delete {
			if err := m.deleteReplica(id); err != nil {
				codes[id] = kafkaerr.CodeOf(err)
				m.log.Error().Err(err).Stringer("partition", id).Msg("could not delete the log")
			}
		}
	}
	m.tellGone(slices.DeleteFunc(slices.Clone(stopped), func(id topic.Partition) bool { return !states[id].Delete }))
	return codes, wake, kafkaerr.None
}

// tellGone: a replica that was deleted, or whose disk failed, leads no longer, and no
// LeaderAndIsr says so. m.stateMu is held.
func (m *Manager) tellGone(ids []topic.Partition) {
	if m.onLeadership != nil && len(ids) > 0 {
		m.onLeadership(nil, ids)
	}
}

// deleteReplica takes the partition out of the map before its log goes: who holds it
// already gets NOT_LEADER_OR_FOLLOWER. m.stateMu is held, the fetcher is stopped.
func (m *Manager) deleteReplica(id topic.Partition) error {
	if p, _ := m.hosted(id); p != nil {
		m.partitionsMu.Lock()
		delete(m.online, id)
		m.partitionsMu.Unlock()
		p.forget()
	}
	err := m.deps.Logs.Delete(id)
	switch {
	case kafkaerr.CodeOf(err) != kafkaerr.UnknownTopicOrPartition:
		return err
	case len(m.deps.Logs.OfflineDirs()) > 0: // it may be there, and come back with the disk
		return kafkaerr.Wrap(kafkaerr.KafkaStorageError, "delete "+id.String(), err)
	}
	return nil // there is none to delete
}

// UpdateMetadata checks the controller epoch and applies the update to the cache. It
// shares the lock of LeaderAndIsr, so that a follower finds the leader that the
// UpdateMetadata before it named.
func (m *Manager) UpdateMetadata(u metadata.Update) (deleted []topic.Partition, code kafkaerr.Code) {
	m.stateMu.Lock()
	defer m.stateMu.Unlock()
	if !m.admitController("UpdateMetadata", u.ControllerID, u.ControllerEpoch) {
		return nil, kafkaerr.StaleControllerEpoch
	}
	deleted = m.deps.Metadata.Apply(u)
	for _, id := range deleted {
		if p, _ := m.hosted(id); p != nil {
			p.touch() // from now on its fetches are refused
		}
	}
	return deleted, kafkaerr.None
}
