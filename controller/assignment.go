package controller

import (
	"slices"

	"kz/internal/topic"
	"kz/zkpaths"
)

// assignment says which brokers keep a partition. Mirrors ReplicaAssignment.
//
//	replicas  everybody now, in order; the first is the preferred leader ("AR")
//	adding    those of replicas that a reassignment brings
//	removing  those of replicas that a reassignment takes away
//
// adding and removing are empty unless a reassignment was begun. This controller begins
// none, but reads and passes on what another one left in the topic's znode.
type assignment struct {
	replicas, adding, removing []int32
}

// target is what a reassignment leads to: replicas without those that go.
func (a assignment) target() []int32 { return without(a.replicas, a.removing) }

// isBeingReassigned says whether a reassignment was begun and not finished.
func (a assignment) isBeingReassigned() bool { return len(a.adding) > 0 || len(a.removing) > 0 }

// contains says whether the broker keeps the partition.
func (a assignment) contains(broker int32) bool { return slices.Contains(a.replicas, broker) }

// assignmentsOf splits a topic's znode into its partitions.
func assignmentsOf(t zkpaths.TopicAssignment) map[int32]assignment {
	as := make(map[int32]assignment, len(t.Partitions))
	for p, replicas := range t.Partitions {
		as[p] = assignment{replicas: replicas, adding: t.Adding[p], removing: t.Removing[p]}
	}
	return as
}

// A replica is one partition on one broker. Mirrors PartitionAndReplica.
type replica struct {
	partition topic.Partition
	broker    int32
}

func compareReplicas(a, b replica) int {
	if c := a.partition.Compare(b.partition); c != 0 {
		return c
	}
	return int(a.broker) - int(b.broker)
}

// noLeader is the leader of a partition that has none.
const noLeader int32 = -1

// leaderISR is what the state znode of a partition says, and its version. Mirrors
// LeaderIsrAndControllerEpoch.
type leaderISR struct {
	leader          int32 // noLeader: none
	leaderEpoch     int32 // +1 with each write of the controller, never with the leader's own
	isr             []int32
	controllerEpoch int32 // of the controller that wrote last
	version         int32 // of the znode
}

// znode is the JSON's content.
func (l leaderISR) znode() zkpaths.PartitionState {
	return zkpaths.PartitionState{
		ControllerEpoch: l.controllerEpoch, Leader: l.leader, LeaderEpoch: l.leaderEpoch, ISR: l.isr,
	}
}

// same says whether two say the same, whatever their versions.
func (l leaderISR) same(o leaderISR) bool {
	return l.leader == o.leader && l.leaderEpoch == o.leaderEpoch &&
		l.controllerEpoch == o.controllerEpoch && slices.Equal(l.isr, o.isr)
}

// without is ids, in their order, less those in gone. It shares nothing with ids.
func without(ids, gone []int32) []int32 {
	rest := make([]int32, 0, len(ids))
	for _, id := range ids {
		if !slices.Contains(gone, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

// within is ids, in their order, as far as they are in some.
func within(ids, some []int32) []int32 {
	both := make([]int32, 0, len(ids))
	for _, id := range ids {
		if slices.Contains(some, id) {
			both = append(both, id)
		}
	}
	return both
}
