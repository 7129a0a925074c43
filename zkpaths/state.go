package zkpaths

import "fmt"

// PartitionState is the data of /brokers/topics/<topic>/partitions/<n>/state: the leader
// and the in-sync replicas. The node is persistent. Mirrors
// kafka.zk.TopicPartitionStateZNode.
//
//	written by  the controller (creation, election), the leader (ISR shrink, expand)
//	guarded by  the znode version: a writer with an old copy gets BADVERSION. The
//	            controller's writes are fenced by its epoch on top
//	watched by  the controller, only while the partition is being reassigned
//
//	{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":5,"isr":[2,3]}
type PartitionState struct {
	ControllerEpoch int32   // of the controller that made Leader the leader
	Leader          int32   // -1 = none
	LeaderEpoch     int32   // up by one with every new leader and every change by the controller
	ISR             []int32 // in the order of whoever wrote it, not of the assignment
}

// Encode writes version 1.
func (s PartitionState) Encode() []byte {
	w := &writer{}
	w.raw(`{"controller_epoch":`).num(int64(s.ControllerEpoch)).raw(`,"leader":`).num(int64(s.Leader))
	w.raw(`,"version":1,"leader_epoch":`).num(int64(s.LeaderEpoch)).raw(`,"isr":`).ids(s.ISR)
	return w.raw("}").buf
}

// DecodePartitionState reads it back; all four values must be there.
func DecodePartitionState(b []byte) (PartitionState, error) {
	s, err := decodePartitionState(b)
	if err != nil {
		return PartitionState{}, fmt.Errorf("partition state: %w", err)
	}
	return s, nil
}

func decodePartitionState(b []byte) (s PartitionState, err error) {
	o, err := parseObject(b)
	if err != nil {
		return s, err
	}
	if s.Leader, err = get[int32](o, "leader"); err != nil {
		return s, err
	}
	if s.LeaderEpoch, err = get[int32](o, "leader_epoch"); err != nil {
		return s, err
	}
	if s.ControllerEpoch, err = get[int32](o, "controller_epoch"); err != nil {
		return s, err
	}
	s.ISR, err = ids(o, "isr")
	return s, err
}
