package admin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/internal/kafkaerr"
)

// UseDefault as a number of partitions or replicas means the broker's default.
const UseDefault = -1

// NewTopic is one topic of a CreateTopics request.
type NewTopic struct {
	Name              string
	Partitions        int32 // UseDefault
	ReplicationFactor int16 // UseDefault
	Assignment        []PartitionReplicas
	Configs           []ConfigEntry
}

// PartitionReplicas is one partition of an assignment; of two for the same partition the last counts.
type PartitionReplicas struct {
	Partition int32
	Replicas  []int32
}

// ConfigEntry is one override; a nil value is refused.
type ConfigEntry struct {
	Name  string
	Value *string
}

// Result is the outcome for one topic.
type Result struct {
	Name string
	Err  error // carries Kafka's code; nil when the topic stands and has leaders

	// Set when the checks passed, for the answers from version 5 on.
	Partitions        int
	ReplicationFactor int
	Configs           []Entry
}

// CreateTopics checks and writes topics and calls respond once, when every topic that
// was written has leaders or timeout is over. The topics' names must differ. A timeout
// of 0 or less answers REQUEST_TIMED_OUT at once although the topic was written.
//
// The checks, in Kafka's order: topic known, null configs, counts beside an assignment,
// partitions, replication factor, name, topic in ZooKeeper, collision, assignment, configs.
func (m *Manager) CreateTopics(topics []NewTopic, timeout time.Duration, validateOnly bool, respond func([]Result)) {
	results := make([]Result, len(topics))
	var written []pending
	brokers := m.aliveBrokers()
	for i, t := range topics {
		a, err := m.createOne(t, brokers, validateOnly, &results[i])
		results[i].Name, results[i].Err = t.Name, err
		switch {
		case err == nil && !validateOnly:
			written = append(written, pending{t.Name, a})
		case err != nil && !errors.Is(err, kafkaerr.TopicAlreadyExists):
			m.log.Info().Str("topic", t.Name).Err(err).Msg("topic not created")
		}
	}
	m.answer(results, written, timeout, respond)
}

// answer waits for leaders when there is anything to wait for.
func (m *Manager) answer(results []Result, written []pending, timeout time.Duration, respond func([]Result)) {
	timedOut := func(name string) {
		for i := range results {
			if results[i].Name == name && results[i].Err == nil {
				results[i].Err = errTimedOut
			}
		}
	}
	switch {
	case len(written) == 0:
		respond(results)
	case timeout <= 0:
		for _, p := range written {
			timedOut(p.name)
		}
		respond(results)
	default:
		m.await(written, timeout, func(missing map[string]bool) {
			for name := range missing {
				timedOut(name)
			}
			respond(results)
		})
	}
}

// aliveBrokers are the brokers the metadata cache knows, in its order.
func (m *Manager) aliveBrokers() []Broker {
	var out []Broker
	for _, b := range m.meta.Current().AliveBrokers() {
		out = append(out, Broker{b.ID, b.Rack})
	}
	return out
}

// createOne checks one topic, fills in what is told of it, and writes it.
func (m *Manager) createOne(t NewTopic, brokers []Broker, validateOnly bool, r *Result) (Assignment, error) {
	if len(m.meta.Current().Topics[t.Name]) > 0 {
		return nil, alreadyExists(t.Name)
	}
	configs, err := overrides(t.Configs)
	if err != nil {
		return nil, err
	}
	a, err := m.resolveAssignment(t, brokers)
	if err != nil {
		return nil, err
	}
	if err := m.topics.ValidateCreate(m.ctx, t.Name, a, configs); err != nil {
		return nil, err
	}
	r.Partitions, r.ReplicationFactor = len(a), len(a[0])
	r.Configs = m.configs.describeOverrides(configs)
	if validateOnly {
		return a, nil
	}
	m.log.Info().Str("topic", t.Name).Int("partitions", len(a)).Int("replicas", len(a[0])).Interface("config", configs).Msg("creating topic")
	return a, m.topics.write(m.ctx, t.Name, a, configs)
}

// overrides makes a map of the entries; of two with the same name the last counts.
func overrides(entries []ConfigEntry) (map[string]string, error) {
	var nulls []string
	out := map[string]string{}
	for _, e := range entries {
		if e.Value == nil {
			nulls = append(nulls, e.Name)
			continue
		}
		out[e.Name] = *e.Value
	}
	if len(nulls) > 0 {
		return nil, kafkaerr.New(kafkaerr.InvalidRequest, "Null value not supported for topic configs : "+strings.Join(nulls, ","))
	}
	return out, nil
}

func (m *Manager) resolveAssignment(t NewTopic, brokers []Broker) (Assignment, error) {
	if len(t.Assignment) == 0 {
		partitions, rf := t.Partitions, t.ReplicationFactor
		if partitions == UseDefault {
			partitions = m.cfg.NumPartitions
		}
		if rf == UseDefault {
			rf = m.cfg.DefaultReplicationFactor
		}
		return Assign(brokers, int(partitions), int(rf))
	}
	if t.Partitions != UseDefault || t.ReplicationFactor != UseDefault {
		return nil, kafkaerr.New(kafkaerr.InvalidRequest, "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time.")
	}
	// Brokers that do not exist are accepted here, unlike in CreatePartitions.
	a, replicas := make(Assignment, len(t.Assignment)), 0
	for _, p := range t.Assignment {
		a[p.Partition] = slices.Clone(p.Replicas)
		replicas += len(p.Replicas)
	}
	if 12*len(a)+11*replicas > maxZnode {
		return nil, kafkaerr.New(kafkaerr.InvalidReplicaAssignment, fmt.Sprintf("The assignment of %d partitions does not fit into one znode.", len(a)))
	}
	return a, nil
}
