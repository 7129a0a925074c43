package controller

import (
	"fmt"
	"strings"
	"testing"
)

// The machines as whole matrices: row = from, column = to, x = allowed.
// Ref: Kafka 2.8 PartitionStateMachine.scala, ReplicaStateMachine.scala (validPreviousStates).
func TestPartitionStates(t *testing.T) {
	want := `
             NonExistent New Online Offline
NonExistent  .           x   .      .
New          .           .   x      x
Online       .           .   x      x
Offline      x           .   x      x
`
	states := []PartitionState{NonExistentPartition, NewPartition, OnlinePartition, OfflinePartition}
	compareMatrix(t, want, states, func(from, to PartitionState) bool { return to.mayComeFrom(from) })
}

func TestReplicaStates(t *testing.T) {
	want := `
                   NonExistent New Online Offline DeletionStarted DeletionSuccessful DeletionIneligible
NonExistent        .           x   .      .       .               .                  .
New                .           .   x      x       .               .                  .
Online             .           .   x      x       .               .                  .
Offline            .           .   x      x       x               .                  x
DeletionStarted    .           .   .      .       .               x                  x
DeletionSuccessful x           .   .      .       .               .                  .
DeletionIneligible .           .   x      x       .               .                  .
`
	states := []ReplicaState{NonExistentReplica, NewReplica, OnlineReplica, OfflineReplica,
		ReplicaDeletionStarted, ReplicaDeletionSuccessful, ReplicaDeletionIneligible}
	compareMatrix(t, want, states, func(from, to ReplicaState) bool { return to.mayComeFrom(from) })
}

func compareMatrix[S fmt.Stringer](t *testing.T, want string, states []S, may func(from, to S) bool) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i, name := range strings.Fields(lines[0]) {
		if states[i].String() != name {
			t.Fatalf("state %d is %s, the table says %s", i, states[i], name)
		}
	}
	for i, line := range lines[1:] {
		f := strings.Fields(line)
		if f[0] != states[i].String() {
			t.Fatalf("row %d is %s, the table says %s", i, states[i], f[0])
		}
		for j, mark := range f[1:] {
			if got := may(states[i], states[j]); got != (mark == "x") {
				t.Errorf("%s -> %s: %v", states[i], states[j], got)
			}
		}
	}
}

func TestQueue(t *testing.T) {
	q := newQueue[int]()
	for i := range 3 {
		q.put(i)
	}
	if v, ok := q.take(); v != 0 || !ok {
		t.Errorf("first in is %d, %v; want 0", v, ok)
	}
	if dropped, _ := q.replace(9); fmt.Sprint(dropped) != "[1 2]" {
		t.Errorf("replace dropped %v, want what waited", dropped)
	}
	if v, _ := q.take(); v != 9 {
		t.Errorf("after replace comes %d, want 9", v)
	}
	q.put(5)
	taken := make(chan bool)
	if dropped := q.close(); fmt.Sprint(dropped) != "[5]" {
		t.Errorf("close dropped %v, want what waited", dropped)
	}
	go func() { _, ok := q.take(); taken <- ok }()
	if <-taken || q.put(1) {
		t.Error("a closed queue gives and takes")
	}
	if _, ok := q.replace(1); ok {
		t.Error("a closed queue takes by replace")
	}
}

func TestNameSet(t *testing.T) {
	var s nameSet
	if !s.add("a") || s.add("b") || s.add("a") {
		t.Error("only the first name of an empty set is first")
	}
	if n := s.drain(); len(n) != 2 {
		t.Errorf("drained %v", n)
	}
	if !s.add("c") {
		t.Error("after drain the next name is first again")
	}
}
