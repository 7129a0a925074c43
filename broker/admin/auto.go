package admin

import (
	"errors"
	"strconv"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// AutoCreate writes topics that somebody asked for and that do not exist, and says what
// to answer for each: LEADER_NOT_AVAILABLE when it was written, UNKNOWN_TOPIC_OR_PARTITION
// while another request writes it, or why it cannot be. It does not wait for leaders:
// the client asks again. Any broker may do it. Mirrors DefaultAutoTopicCreationManager.
func (m *Manager) AutoCreate(names []string) map[string]kafkaerr.Code {
	out := make(map[string]kafkaerr.Code, len(names))
	var mine []NewTopic
	for _, name := range names {
		switch {
		case topic.ValidateName(name) != nil:
			out[name] = kafkaerr.InvalidTopicException
		case !m.claim(name):
			out[name] = kafkaerr.UnknownTopicOrPartition
		default:
			mine = append(mine, m.autoTopic(name))
		}
	}
	defer m.release(mine)
	m.CreateTopics(mine, 0, false, func(results []Result) {
		for _, r := range results {
			code := kafkaerr.CodeOf(r.Err)
			if errors.Is(r.Err, errTimedOut) || code == kafkaerr.TopicAlreadyExists {
				code = kafkaerr.LeaderNotAvailable // it stands now
			}
			out[r.Name] = code
		}
	})
	return out
}

// claim marks a topic as being created; false when it already is.
func (m *Manager) claim(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inflight[name] {
		return false
	}
	m.inflight[name] = true
	return true
}

func (m *Manager) release(topics []NewTopic) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range topics {
		delete(m.inflight, t.Name)
	}
}

// autoTopic is how a topic nobody described is made; the brokers' own have settings of their own.
func (m *Manager) autoTopic(name string) NewTopic {
	entry := func(name, value string) ConfigEntry { return ConfigEntry{name, &value} }
	switch name {
	case topic.ConsumerOffsets:
		c := m.cfg.OffsetsTopic
		return NewTopic{Name: name, Partitions: c.Partitions, ReplicationFactor: c.ReplicationFactor, Configs: []ConfigEntry{
			entry("cleanup.policy", "compact"), entry("segment.bytes", strconv.Itoa(c.SegmentBytes)), entry("compression.type", "producer")}}
	case topic.TransactionState:
		c := m.cfg.TransactionTopic
		return NewTopic{Name: name, Partitions: c.Partitions, ReplicationFactor: c.ReplicationFactor, Configs: []ConfigEntry{
			entry("unclean.leader.election.enable", "false"), entry("compression.type", "uncompressed"), entry("cleanup.policy", "compact"),
			entry("min.insync.replicas", strconv.Itoa(c.MinInsyncReplicas)), entry("segment.bytes", strconv.Itoa(c.SegmentBytes))}}
	}
	return NewTopic{Name: name, Partitions: m.cfg.NumPartitions, ReplicationFactor: m.cfg.DefaultReplicationFactor}
}
