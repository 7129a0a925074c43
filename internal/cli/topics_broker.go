package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"kz/client"
	"kz/client/admin"
	"kz/internal/kafkaerr"
)

// brokerTopics asks brokers. Mirrors AdminClientTopicService.
type brokerTopics struct{ a *admin.Admin }

func openBrokerTopics(e *env, props map[string]string) (topicService, error) {
	p := client.NewProperties(props)
	cfg := p.Common()
	if err := p.Err(); err != nil {
		return nil, exitf(exitFailed, "kz topics: %v", err)
	}
	for _, k := range p.Unknown() {
		fmt.Fprintf(e.stderr, "WARN The configuration '%s' was supplied but isn't a known config.\n", k)
	}
	cfg.Network, cfg.Unreachable = e.network, warnUnreachable(e)
	return &brokerTopics{admin.New(cfg)}, nil
}

func (s *brokerTopics) close() { s.a.Close() }

func (s *brokerTopics) names(ctx context.Context) ([]string, error) {
	cl, err := s.a.Topics(ctx, "listTopics", nil)
	if err != nil {
		return nil, err
	}
	return cl.Names(), nil
}

func (s *brokerTopics) note(context.Context, string) (string, error) { return "", nil }

func (s *brokerTopics) create(ctx context.Context, t newTopic) error {
	if t.replicationFactor != -1 && (t.replicationFactor < 1 || t.replicationFactor > math.MaxInt16) {
		return fmt.Errorf("The replication factor must be between 1 and %d inclusive", math.MaxInt16)
	}
	if t.partitions != -1 && t.partitions < 1 {
		return errors.New("The partitions must be greater than 0")
	}
	return s.a.CreateTopic(ctx, admin.NewTopic{
		Name: t.name, Partitions: t.partitions, ReplicationFactor: int16(t.replicationFactor), Assignment: t.assignment, Configs: t.add,
	})
}

func (s *brokerTopics) alter(ctx context.Context, name string, t newTopic) error {
	assignment := t.assignment
	if assignment != nil {
		cl, err := s.a.Topics(ctx, "describeTopics", []string{name})
		if err != nil {
			return err
		}
		assignment = assignment[min(len(assignment), len(cl.Topics[name].Partitions)):]
	}
	return s.a.CreatePartitions(ctx, name, t.partitions, assignment)
}

func (s *brokerTopics) describe(ctx context.Context, names []string) (described, error) {
	d := described{live: map[int32]bool{}}
	configs, fault := s.a.TopicConfigs(ctx, names)
	if len(configs) == 0 {
		return d, fault
	}
	cluster, err := s.a.DescribeCluster(ctx)
	if err != nil {
		return d, err
	}
	for _, b := range cluster.Brokers {
		d.live[b.ID] = true
	}
	cl, err := s.a.Topics(ctx, "describeTopics", names)
	if err != nil {
		return d, err
	}
	ids := map[string][]int32{}
	for _, name := range names {
		t := cl.Topics[name]
		if t.Err != kafkaerr.None {
			return d, t.Err
		}
		for _, p := range t.Partitions {
			ids[name] = append(ids[name], p.ID)
		}
	}
	moving, err := s.a.Reassignments(ctx, ids)
	if err != nil {
		return d, err
	}
	for _, name := range names {
		if c, ok := configs[name]; ok {
			d.topics = append(d.topics, topicOf(cl.Topics[name], c, moving[name]))
		}
	}
	return d, fault
}

func topicOf(t client.Topic, configs []admin.ConfigEntry, moving map[int32]admin.Reassignment) topicInfo {
	info := topicInfo{name: t.Name, minISR: -1}
	for _, c := range configs {
		if !c.Default {
			info.configs = append(info.configs, setting{c.Name, c.Value})
		}
		if c.Name == "min.insync.replicas" {
			if n, err := strconv.Atoi(c.Value); err == nil {
				info.minISR = n
			}
		}
	}
	for _, p := range t.Partitions {
		pi := partitionInfo{id: p.ID, leader: p.Leader, replicas: p.Replicas, isr: p.ISR, factor: len(p.Replicas)}
		if m, ok := moving[p.ID]; ok {
			pi.reassigned, pi.adding, pi.removing = true, m.Adding, m.Removing
			if overlaps(p.Replicas, m.Adding, m.Removing) {
				pi.factor = len(m.Replicas) - len(m.Adding)
			}
		}
		info.partitions = append(info.partitions, pi)
	}
	if len(info.partitions) > 0 {
		info.factor = info.partitions[0].factor
	}
	return info
}

// overlaps says whether a reassignment is still going on: one that ended between two
// of our questions no longer shows in the replicas.
func overlaps(replicas, adding, removing []int32) bool {
	for _, r := range replicas {
		for _, c := range append(append([]int32{}, adding...), removing...) {
			if r == c {
				return true
			}
		}
	}
	return false
}
