package controller

import (
	"slices"
	"testing"
)

// Ref: Kafka 2.8 PartitionLeaderElectionAlgorithms, Election; rows marked T are cases of its
// PartitionLeaderElectionAlgorithmsTest.
func TestElections(t *testing.T) {
	type ids = []int32
	const none = noLeader
	tests := []struct {
		name   string
		how    strategy
		b      ballot
		leader int32
		isr    ids
		told   ids
	}{
		// offlinePartitionLeaderElection
		{"T offline: the first live in-sync replica leads, the dead leave the ISR", offlineElection,
			ballot{assigned: ids{2, 4}, isr: ids{2, 4}, online: ids{4}}, 4, ids{4}, ids{4}},
		{"T offline: no live in-sync replica, stay without a leader", offlineElection,
			ballot{assigned: ids{2, 4}, isr: ids{2}, online: ids{4}}, none, nil, nil},
		{"T offline: unclean takes a live one anyway, the ISR is it alone", offlineElection,
			ballot{assigned: ids{2, 4}, isr: ids{2}, online: ids{4}, unclean: true}, 4, ids{4}, ids{4}},
		{"offline: the order of the assignment decides, not that of the ISR", offlineElection,
			ballot{assigned: ids{1, 2, 3}, isr: ids{3, 2}, online: ids{2, 3}}, 2, ids{3, 2}, ids{2, 3}},
		{"offline: unclean is not used while a member of the ISR lives", offlineElection,
			ballot{assigned: ids{1, 2, 3}, isr: ids{3}, online: ids{2, 3}, unclean: true}, 3, ids{3}, ids{2, 3}},
		{"offline: the ISR keeps its own order", offlineElection,
			ballot{assigned: ids{1, 2, 3}, isr: ids{3, 1, 2}, online: ids{1, 2, 3}}, 1, ids{3, 1, 2}, ids{1, 2, 3}},
		{"offline: unclean with nobody alive finds nobody", offlineElection,
			ballot{assigned: ids{1, 2}, isr: ids{1}, unclean: true}, none, nil, nil},
		{"offline: a member of the ISR that is not assigned cannot lead", offlineElection,
			ballot{assigned: ids{1, 2}, isr: ids{9}, online: ids{1, 2}}, none, nil, nil},

		// reassignPartitionLeaderElection
		{"T reassign: the first target that is live and in sync", reassignElection,
			ballot{assigned: ids{2, 4, 5}, target: ids{2, 4}, isr: ids{2, 4}, online: ids{4, 5}}, 4, ids{2, 4}, ids{2, 4}},
		{"T reassign: no live target", reassignElection,
			ballot{assigned: ids{2, 4}, target: ids{2, 4}, isr: ids{2}}, none, nil, nil},
		{"T reassign: empty ISR", reassignElection,
			ballot{assigned: ids{2, 4}, target: ids{2, 4}, online: ids{2}}, none, nil, nil},
		{"reassign: one that goes does not lead, though it is live and in sync", reassignElection,
			ballot{assigned: ids{1, 2}, target: ids{2}, isr: ids{1, 2}, online: ids{1, 2}}, 2, ids{1, 2}, ids{2}},

		// preferredReplicaPartitionLeaderElection
		{"T preferred: the first of the assignment, ISR unchanged, all replicas told", preferredElection,
			ballot{assigned: ids{2, 4}, isr: ids{4, 2}, online: ids{2, 4}}, 2, ids{4, 2}, ids{2, 4}},
		{"T preferred: in sync and dead", preferredElection,
			ballot{assigned: ids{2, 4}, isr: ids{2}}, none, nil, nil},
		{"T preferred: live and not in sync", preferredElection,
			ballot{assigned: ids{2, 4}, isr: ids{4}, online: ids{2, 4}}, none, nil, nil},
		{"T preferred: neither", preferredElection,
			ballot{assigned: ids{2, 4}}, none, nil, nil},
		{"preferred: no replicas at all", preferredElection, ballot{}, none, nil, nil},

		// controlledShutdownPartitionLeaderElection
		{"T shutdown: the next in sync; the stopping leave the ISR and are told", controlledShutdownElection,
			ballot{assigned: ids{2, 4}, isr: ids{2, 4}, online: ids{4}, live: ids{2, 4}, shuttingDown: ids{2}}, 4, ids{4}, ids{2, 4}},
		{"T shutdown: the last of the ISR stops", controlledShutdownElection,
			ballot{assigned: ids{2, 4}, isr: ids{2}, online: ids{4}, live: ids{2, 4}, shuttingDown: ids{2}}, none, nil, nil},
		{"T shutdown: the whole ISR stops at once", controlledShutdownElection,
			ballot{assigned: ids{2, 4}, isr: ids{2, 4}, live: ids{2, 4}, shuttingDown: ids{2, 4}}, none, nil, nil},
		{"shutdown: all that stop leave the ISR, not only the leader", controlledShutdownElection,
			ballot{assigned: ids{1, 2, 3}, isr: ids{1, 2, 3}, online: ids{3}, live: ids{1, 2, 3}, shuttingDown: ids{1, 2}}, 3, ids{3}, ids{1, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, ok := tt.how.elect(tt.b)
			if !ok {
				v.leader = none
			}
			if v.leader != tt.leader || !slices.Equal(v.isr, tt.isr) || !slices.Equal(v.recipients, tt.told) {
				t.Errorf("leader %d, ISR %v, told %v; want %d, %v, %v", v.leader, v.isr, v.recipients, tt.leader, tt.isr, tt.told)
			}
		})
	}
}

// Ref: Kafka 2.8 ReplicaStateMachine.doRemoveReplicasFromIsr.
func TestLeaveISR(t *testing.T) {
	for _, tt := range []struct {
		name   string
		who    int32
		now    leaderISR
		leader int32
		isr    []int32
	}{
		{"a follower leaves, the leader stays", 2, leaderISR{leader: 1, isr: []int32{1, 2}}, 1, []int32{1}},
		{"a leader leaves no leader behind", 1, leaderISR{leader: 1, isr: []int32{1, 2}}, noLeader, []int32{2}},
		{"the last name stays, its leadership does not", 1, leaderISR{leader: 1, isr: []int32{1}}, noLeader, []int32{1}},
		{"the last name stays also without leadership", 1, leaderISR{leader: noLeader, isr: []int32{1}}, noLeader, []int32{1}},
	} {
		if leader, isr := leaveISR(tt.who, tt.now); leader != tt.leader || !slices.Equal(isr, tt.isr) {
			t.Errorf("%s: leader %d, ISR %v", tt.name, leader, isr)
		}
	}
}

func TestTooMany(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		part, whole, percentage int
		want                    bool
	}{
		{"exactly the limit is not more", 1, 10, 10, false},
		{"more is", 2, 10, 10, true},
		{"0 percent: one is too many", 1, 1000, 0, true},
		{"none never is", 0, 10, 0, false},
	} {
		if got := tooMany(tt.part, tt.whole, tt.percentage); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
