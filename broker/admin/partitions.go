package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"kz/internal/kafkaerr"
	"kz/zkpaths"
)

// MorePartitions is one topic of a CreatePartitions request.
type MorePartitions struct {
	Name       string
	Count      int32     // how many there shall be in all
	Assignment [][]int32 // of the new ones, in order; nil: to be chosen
}

// CreatePartitions adds partitions and calls respond once, as CreateTopics does. The
// topics' names must differ.
func (m *Manager) CreatePartitions(topics []MorePartitions, timeout time.Duration, validateOnly bool, respond func([]Result)) {
	results := make([]Result, len(topics))
	var written []pending
	brokers, err := m.topics.Brokers(m.ctx, true)
	if err == nil && SomeRacksMissing(brokers) {
		err = errSomeRacks
	}
	for i, t := range topics {
		results[i].Name = t.Name
		if results[i].Err = err; err != nil {
			continue
		}
		all, err := m.topics.AddPartitions(m.ctx, t, brokers, validateOnly)
		if results[i].Err = err; err == nil && !validateOnly {
			written = append(written, pending{t.Name, all})
		}
	}
	m.answer(results, written, timeout, respond)
}

// AddPartitions checks and writes more partitions of a topic and returns the whole
// assignment. brokers must be in ascending order. The checks, in Kafka's order:
// reassignment under way, unknown topic, count, unknown brokers, number of assignments,
// each assignment. Mirrors AdminZkClient.addPartitions and ZkAdminManager.createPartitions.
func (t *Topics) AddPartitions(ctx context.Context, more MorePartitions, brokers []Broker, validateOnly bool) (Assignment, error) {
	grow := func(old zkpaths.TopicAssignment, exists bool) (Assignment, error) {
		return grown(old, exists, more, brokers)
	}
	if !validateOnly {
		return t.ChangeAssignment(ctx, more.Name, grow)
	}
	old, exists, err := t.Assignment(ctx, more.Name)
	if err != nil {
		return nil, err
	}
	return grow(old, exists)
}

// grown is a topic's old partitions and the new ones.
func grown(old zkpaths.TopicAssignment, exists bool, more MorePartitions, brokers []Broker) (Assignment, error) {
	if len(old.Adding) > 0 || len(old.Removing) > 0 {
		return nil, kafkaerr.New(kafkaerr.ReassignmentInProgress, fmt.Sprintf("A partition reassignment is in progress for the topic '%s'.", more.Name))
	}
	if !exists || len(old.Partitions) == 0 {
		return nil, kafkaerr.New(kafkaerr.UnknownTopicOrPartition, fmt.Sprintf("The topic '%s' does not exist.", more.Name))
	}
	added, err := assignAdded(old.Partitions, more, brokers)
	if err != nil {
		return nil, err
	}
	all := Assignment(maps.Clone(old.Partitions))
	maps.Copy(all, added)
	return all, nil
}

// assignAdded decides who gets the new partitions.
func assignAdded(old Assignment, more MorePartitions, brokers []Broker) (Assignment, error) {
	count := len(old)
	increment := int(more.Count) - count
	switch {
	case increment < 0:
		return nil, kafkaerr.New(kafkaerr.InvalidPartitions, fmt.Sprintf("Topic currently has %d partitions, which is higher than the requested %d.", count, more.Count))
	case increment == 0:
		return nil, kafkaerr.New(kafkaerr.InvalidPartitions, fmt.Sprintf("Topic already has %d partitions.", count))
	}
	partition0, ok := old[0]
	if !ok {
		return nil, fmt.Errorf("the assignment of topic %s has no partition 0", more.Name)
	}
	if all := maxPartitions(len(partition0)); int(more.Count) > all {
		return nil, kafkaerr.New(kafkaerr.InvalidPartitions, fmt.Sprintf("Number of partitions must be at most %d with replication factor %d: all must fit into one znode.", all, len(partition0)))
	}
	if more.Assignment == nil {
		return AssignMore(brokers, increment, partition0, count)
	}
	if err := checkAdded(more.Assignment, increment, count, len(partition0), brokers); err != nil {
		return nil, err
	}
	out := Assignment{}
	for i, replicas := range more.Assignment {
		out[int32(count+i)] = slices.Clone(replicas)
	}
	return out, nil
}

// checkAdded checks a hand-made assignment of new partitions.
func checkAdded(given [][]int32, increment, count, rf int, brokers []Broker) error {
	bad := func(format string, args ...any) error {
		return kafkaerr.New(kafkaerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...))
	}
	var unknown []int32
	for _, replicas := range given {
		for _, id := range replicas {
			known := slices.ContainsFunc(brokers, func(b Broker) bool { return b.ID == id })
			if !known && !slices.Contains(unknown, id) {
				unknown = append(unknown, id)
			}
		}
	}
	if len(unknown) > 0 {
		return bad("Unknown broker(s) in replica assignment: %s.", joinIDs(unknown))
	}
	if len(given) != increment {
		return bad("Increasing the number of partitions by %d but %d assignments provided.", increment, len(given))
	}
	var wrong, sizes []string
	for i, replicas := range given {
		p := count + i
		switch {
		case len(replicas) == 0:
			return bad("Cannot have replication factor of 0 for partition id %d.", p)
		case hasDuplicates(replicas):
			return bad("Duplicate brokers not allowed in replica assignment: %s for partition id %d.", joinIDs(replicas), p)
		case len(replicas) != rf:
			wrong, sizes = append(wrong, strconv.Itoa(p)), append(sizes, strconv.Itoa(len(replicas)))
		}
	}
	if len(wrong) > 0 {
		return bad("Inconsistent replication factor between partitions, partition 0 has %d while partitions [%s] have replication factors [%s], respectively.",
			rf, strings.Join(wrong, ", "), strings.Join(sizes, ", "))
	}
	return nil
}
