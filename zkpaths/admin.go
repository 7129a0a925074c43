package zkpaths

import (
	"encoding/json"
	"fmt"
	"slices"
)

// EncodePreferredElection is the data of /admin/preferred_replica_election: give these
// partitions back to their first replica. Mirrors kafka.zk.PreferredReplicaElectionZNode.
//
//	written by  the old election tool with --zookeeper
//	guarded by  NODEEXISTS: one election at a time
//	watched by  the controller (creation), who deletes it when done
//
//	{"version":1,"partitions":[{"topic":"t","partition":0}]}
func EncodePreferredElection(ps []TopicPartition) []byte { return encodePartitions(ps) }

// DecodePreferredElection reads it back. Where the data is no JSON, Kafka acts as if the
// list were empty; here that is the caller's decision.
func DecodePreferredElection(b []byte) ([]TopicPartition, error) {
	ps, err := decodePartitions(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PreferredReplicaElection, err)
	}
	return ps, nil
}

// Reassignment is one entry of /admin/reassign_partitions: the replicas a partition shall
// have. Mirrors kafka.zk.ReassignPartitionsZNode.
//
//	written by  kafka-reassign-partitions.sh --zookeeper; the controller shrinks the list
//	guarded by  NODEEXISTS: one reassignment at a time
//	watched by  the controller (creation), who deletes it when the list is empty
//
//	{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,3]}]}
type Reassignment struct {
	TopicPartition
	Replicas []int32
}

// EncodeReassignments writes version 1, in the given order.
func EncodeReassignments(rs []Reassignment) []byte {
	w := &writer{}
	w.raw(`{"version":1,"partitions":`)
	list(w, rs, func(r Reassignment) {
		w.raw(`{"topic":`).str(r.Topic).raw(`,"partition":`).num(int64(r.Partition))
		w.raw(`,"replicas":`).ids(r.Replicas).raw("}")
	})
	return w.raw("}").buf
}

// DecodeReassignments is strict, as Kafka is here: an unknown key anywhere, or data that
// is no JSON, refuses the whole list.
func DecodeReassignments(b []byte) ([]Reassignment, error) {
	rs, err := decodeReassignments(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ReassignPartitions, err)
	}
	return rs, nil
}

func decodeReassignments(b []byte) ([]Reassignment, error) {
	o, err := parseObject(b)
	if err != nil {
		return nil, err
	}
	if err := onlyKeys(o, "version", "partitions"); err != nil {
		return nil, err
	}
	if _, err := getOr(o, "version", 0); err != nil {
		return nil, err
	}
	entries, err := get[[]json.RawMessage](o, "partitions")
	if err != nil {
		return nil, err
	}
	rs := make([]Reassignment, len(entries))
	for i, raw := range entries {
		if rs[i], err = decodeReassignment(raw); err != nil {
			return nil, fmt.Errorf("partitions[%d]: %w", i, err)
		}
	}
	return rs, nil
}

func decodeReassignment(raw []byte) (r Reassignment, err error) {
	o, err := parseObject(raw)
	if err != nil {
		return r, err
	}
	if err := onlyKeys(o, "topic", "partition", "replicas"); err != nil {
		return r, err
	}
	if r.Topic, err = get[string](o, "topic"); err != nil {
		return r, err
	}
	if r.Partition, err = getOr(o, "partition", int32(0)); err != nil {
		return r, err
	}
	r.Replicas, err = ids(o, "replicas")
	return r, err
}

func onlyKeys(o object, known ...string) error {
	for k := range o {
		if !slices.Contains(known, k) {
			return fmt.Errorf("unknown key %q", k)
		}
	}
	return nil
}
