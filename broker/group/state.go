package group

import (
	"fmt"
	"slices"
)

// State is where a group stands.
type State int8

// The states. What each does with a request is in the file of that request.
const (
	// Empty: no members. It may hold offsets: their owners were here, or only commit.
	Empty State = iota
	// PreparingRebalance: members must join (again). It ends when all have, or when the
	// slowest member's rebalance timeout is over.
	PreparingRebalance
	// CompletingRebalance: the generation is decided and its leader computes the
	// assignment. It ends when the assignment is written to __consumer_offsets.
	CompletingRebalance
	// Stable: every member can have its assignment.
	Stable
	// Dead: removed here, because it was deleted, expired, or has another coordinator.
	Dead
)

// machine is the whole state machine: the name that clients see, and the states each may
// be entered from. Mirrors GroupState.
var machine = [...]struct {
	name string
	from []State
}{
	Empty:               {"Empty", []State{PreparingRebalance}},
	PreparingRebalance:  {"PreparingRebalance", []State{Stable, CompletingRebalance, Empty}},
	CompletingRebalance: {"CompletingRebalance", []State{PreparingRebalance}},
	Stable:              {"Stable", []State{CompletingRebalance}},
	Dead:                {"Dead", []State{Stable, PreparingRebalance, CompletingRebalance, Empty, Dead}},
}

// String is the name that clients see.
func (s State) String() string { return machine[s].name }

// canBecome asks the table.
func (s State) canBecome(next State) bool { return slices.Contains(machine[next].from, s) }

// become is the one place where a group's state changes. A step that the table does not
// have is a bug of ours.
func (s State) become(next State) State {
	if !s.canBecome(next) {
		panic(fmt.Sprintf("group: %v cannot become %v", s, next))
	}
	return next
}
