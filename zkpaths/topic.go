package zkpaths

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// TopicAssignment is the data of /brokers/topics/<topic>: which brokers hold which
// partition. The first replica is the preferred leader. Mirrors kafka.zk.TopicZNode.
//
//	written by  the broker that serves CreateTopics or creates automatically, the
//	            --zookeeper tools, CreatePartitions; the controller (reassignment)
//	guarded by  NODEEXISTS at creation; afterwards nothing (version -1), except that the
//	            controller's writes are fenced by its epoch
//	watched by  the controller (children of /brokers/topics, data of each topic)
//
//	{"partitions":{"0":[1,2],"1":[2,1]},"adding_replicas":{},"removing_replicas":{},"version":3}
//
// A topic_id comes after partitions, only if one was there (protocol 2.8 and later).
// From 12 partitions on the keys are in Scala's hash order: 11,0,1,…,10.
type TopicAssignment struct {
	Partitions map[int32][]int32
	Adding     map[int32][]int32 // replicas a reassignment is adding
	Removing   map[int32][]int32 // replicas a reassignment will remove
	TopicID    string            // "" = absent
}

// Encode writes version 3, as 2.8 does also without a topic id.
func (t TopicAssignment) Encode() []byte {
	w := &writer{}
	w.raw(`{"partitions":`)
	w.assignment(t.Partitions)
	if t.TopicID != "" {
		w.raw(`,"topic_id":`).str(t.TopicID)
	}
	w.raw(`,"adding_replicas":`)
	w.assignment(nonEmpty(t.Adding))
	w.raw(`,"removing_replicas":`)
	w.assignment(nonEmpty(t.Removing))
	return w.raw(`,"version":3}`).buf
}

func (w *writer) assignment(m map[int32][]int32) {
	byKey := make(map[string][]int32, len(m))
	for p, replicas := range m {
		byKey[itoa(p)] = replicas
	}
	keys := scalaTableOrder(slices.Sorted(maps.Keys(byKey)), javaHash)
	dict(w, keys, func(k string) { w.ids(byKey[k]) })
}

// nonEmpty leaves out partitions with no replicas to add or remove, as Kafka does.
func nonEmpty(m map[int32][]int32) map[int32][]int32 {
	out := make(map[int32][]int32, len(m))
	for p, replicas := range m {
		if len(replicas) > 0 {
			out[p] = replicas
		}
	}
	return out
}

// DecodeTopicAssignment reads versions 1 to 3 (the version is not looked at). Missing
// "partitions" is an assignment of none. Where the data is no JSON, Kafka acts as if the
// topic had no partitions; here that is the caller's decision.
func DecodeTopicAssignment(b []byte) (TopicAssignment, error) {
	t, err := decodeTopicAssignment(b)
	if err != nil {
		return TopicAssignment{}, fmt.Errorf("topic assignment: %w", err)
	}
	return t, nil
}

func decodeTopicAssignment(b []byte) (t TopicAssignment, err error) {
	o, err := parseObject(b)
	if err != nil {
		return t, err
	}
	if t.TopicID, err = getOr(o, "topic_id", ""); err != nil {
		return t, err
	}
	if t.Partitions, err = assignment(o, "partitions"); err != nil {
		return t, err
	}
	if t.Adding, err = assignment(o, "adding_replicas"); err != nil {
		return t, err
	}
	t.Removing, err = assignment(o, "removing_replicas")
	return t, err
}

func assignment(o object, key string) (map[int32][]int32, error) {
	byKey, err := getOr[map[string]json.RawMessage](o, key, nil)
	if err != nil {
		return nil, err
	}
	out := make(map[int32][]int32, len(byKey))
	for k := range byKey {
		p, err := strconv.ParseInt(k, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("key %q: partition %q is not a number", key, k)
		}
		if out[int32(p)], err = ids(byKey, k); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	return out, nil
}
