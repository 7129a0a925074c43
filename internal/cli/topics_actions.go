package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

func createTopic(ctx context.Context, e *env, o *options, s topicService) error {
	t, err := readNewTopic(e, o)
	if err != nil {
		return err
	}
	if topic.HasCollisionChars(t.name) {
		fmt.Fprintln(e.stdout, "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid issues it is best to use either, but not both.")
	}
	err = s.create(ctx, t)
	if kafkaerr.CodeOf(err) == kafkaerr.TopicAlreadyExists && o.has("if-not-exists") {
		return nil
	}
	if err == nil {
		fmt.Fprintf(e.stdout, "Created topic %s.\n", t.name)
	}
	return err
}

func alterTopics(ctx context.Context, e *env, o *options, s topicService) error {
	t, err := readNewTopic(e, o)
	if err != nil {
		return err
	}
	names, err := matching(ctx, o, s, !o.has("if-exists"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.alter(ctx, name, t); err != nil {
			return err
		}
	}
	return nil
}

func listTopics(ctx context.Context, e *env, o *options, s topicService) error {
	names, err := matching(ctx, o, s, false)
	if err != nil {
		return err
	}
	if asJSON, _ := o.json(); asJSON {
		return printJSON(e, append([]string{}, names...))
	}
	if len(names) == 0 && o.has("bootstrap-server") {
		fmt.Fprintln(e.stdout) // Kafka prints the joined names and a newline, even of none
	}
	for _, n := range names {
		note, err := s.note(ctx, n)
		if err != nil {
			return err
		}
		fmt.Fprintln(e.stdout, n+note)
	}
	return nil
}

func describeTopics(ctx context.Context, e *env, o *options, s topicService) error {
	names, err := matching(ctx, o, s, !o.has("if-exists"))
	if err != nil {
		return err
	}
	var d described
	if len(names) > 0 {
		d, err = s.describe(ctx, names)
	}
	f := newTopicFilter(o, d.live)
	if asJSON, _ := o.json(); asJSON {
		if err != nil {
			return err
		}
		return printJSON(e, f.json(d.topics))
	}
	for _, t := range d.topics {
		if f.header(t) {
			fmt.Fprintln(e.stdout, headerLine(t))
		}
		for _, p := range t.partitions {
			if f.partition(t, p) {
				fmt.Fprintln(e.stdout, partitionLine(t, p))
			}
		}
	}
	return err
}

// topicFilter says which lines of a description are wanted. Mirrors DescribeOptions.
type topicFilter struct {
	live      map[int32]bool
	overrides bool // only topics with overrides, and no partitions
	reports   map[string]bool
}

func newTopicFilter(o *options, live map[int32]bool) topicFilter {
	f := topicFilter{live: live, overrides: o.has("topics-with-overrides"), reports: map[string]bool{}}
	for _, r := range reportFlags {
		if o.has(r) {
			f.reports[r] = true
		}
	}
	return f
}

func (f topicFilter) header(t topicInfo) bool {
	return len(f.reports) == 0 && (!f.overrides || len(t.configs) > 0)
}

func (f topicFilter) partition(t topicInfo, p partitionInfo) bool {
	switch {
	case f.overrides:
		return false
	case len(f.reports) == 0:
		return true
	case f.reports["under-replicated-partitions"]:
		return p.factor > len(p.isr)
	case f.reports["unavailable-partitions"]:
		return p.leader < 0 || !f.live[p.leader]
	case f.reports["under-min-isr-partitions"]:
		return p.leader < 0 || len(p.isr) < t.minISR
	default:
		return len(p.isr) == t.minISR
	}
}

func headerLine(t topicInfo) string {
	var kv []string
	for _, c := range t.configs {
		kv = append(kv, c.key+"="+c.value)
	}
	return fmt.Sprintf("Topic: %s\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s%s",
		t.name, len(t.partitions), t.factor, strings.Join(kv, ","), deletionMark(t))
}

func partitionLine(t topicInfo, p partitionInfo) string {
	leader := "none"
	if p.leader >= 0 {
		leader = joinIDs([]int32{p.leader})
	}
	s := fmt.Sprintf("\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s", t.name, p.id, leader, joinIDs(p.replicas), joinIDs(p.isr))
	if p.reassigned {
		s += fmt.Sprintf("\tAdding Replicas: %s\tRemoving Replicas: %s", joinIDs(p.adding), joinIDs(p.removing))
	}
	return s + deletionMark(t)
}

func deletionMark(t topicInfo) string {
	if t.marked {
		return "\tMarkedForDeletion: true"
	}
	return ""
}

// topicJSON and partitionJSON are -o json: every column of the lines, and no more filtering than they have.
type topicJSON struct {
	Topic             string            `json:"topic"`
	PartitionCount    int               `json:"partitionCount"`
	ReplicationFactor int               `json:"replicationFactor"`
	Configs           map[string]string `json:"configs"`
	MarkedForDeletion bool              `json:"markedForDeletion,omitempty"`
	Partitions        []partitionJSON   `json:"partitions,omitempty"`
}

type partitionJSON struct {
	Partition int32   `json:"partition"`
	Leader    *int32  `json:"leader"` // null: none
	Replicas  []int32 `json:"replicas"`
	ISR       []int32 `json:"isr"`
	Adding    []int32 `json:"addingReplicas,omitempty"`
	Removing  []int32 `json:"removingReplicas,omitempty"`
}

func (f topicFilter) json(topics []topicInfo) []topicJSON {
	out := []topicJSON{}
	for _, t := range topics {
		j := topicJSON{Topic: t.name, PartitionCount: len(t.partitions), ReplicationFactor: t.factor, Configs: map[string]string{}, MarkedForDeletion: t.marked}
		for _, c := range t.configs {
			j.Configs[c.key] = c.value
		}
		for _, p := range t.partitions {
			if !f.partition(t, p) {
				continue
			}
			pj := partitionJSON{Partition: p.id, Replicas: p.replicas, ISR: append([]int32{}, p.isr...), Adding: p.adding, Removing: p.removing}
			if p.leader >= 0 {
				pj.Leader = &p.leader
			}
			j.Partitions = append(j.Partitions, pj)
		}
		if f.header(t) || len(j.Partitions) > 0 {
			out = append(out, j)
		}
	}
	return out
}

func printJSON(e *env, v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
