package controller

import (
	"slices"

	"kz/internal/mutant"
)

// The four ways to choose a leader. They are pure: what they need comes in a ballot, what
// they decide goes out in a verdict. Candidates are always looked at in the order of the
// assignment, never in that of the ISR.
//
// Mirrors Election and PartitionLeaderElectionAlgorithms.

// ballot is what an election knows of its partition.
type ballot struct {
	assigned     []int32 // all replicas; the first is the preferred leader
	target       []int32 // assigned, less those that a reassignment takes away
	isr          []int32 // as the state znode has it
	online       []int32 // of assigned: broker up and not shutting down, log directory working
	live         []int32 // of assigned: as online, but brokers in controlled shutdown count too
	shuttingDown []int32 // all brokers in controlled shutdown
	unclean      bool    // a replica outside the ISR may lead, if none inside is online
}

// verdict is an election's result.
type verdict struct {
	leader     int32
	isr        []int32
	recipients []int32 // who must be told by LeaderAndIsr
}

// strategy is one of the four.
type strategy struct {
	name  string
	elect func(ballot) (verdict, bool) // false: nobody can lead
}

var (
	offlineElection            = strategy{"Offline", electOffline}
	reassignElection           = strategy{"Reassign", electReassigned}
	preferredElection          = strategy{"Preferred", electPreferred}
	controlledShutdownElection = strategy{"ControlledShutdown", electAtShutdown}
)

// electOffline serves partitions that lost their leader. An unclean leader starts an ISR
// of its own: what the others know that it does not know is lost.
func electOffline(b ballot) (verdict, bool) {
	for _, id := range b.assigned {
		if slices.Contains(b.online, id) && (slices.Contains(b.isr, id) || mutant.LeaderNotInISR()) {
			return verdict{leader: id, isr: within(b.isr, b.online), recipients: b.online}, true
		}
	}
	if b.unclean && len(b.online) > 0 {
		return verdict{leader: b.online[0], isr: []int32{b.online[0]}, recipients: b.online}, true
	}
	return verdict{}, false
}

// electReassigned finds a leader among those who stay after a reassignment.
func electReassigned(b ballot) (verdict, bool) {
	for _, id := range b.target {
		if slices.Contains(b.online, id) && slices.Contains(b.isr, id) {
			return verdict{leader: id, isr: b.isr, recipients: b.target}, true
		}
	}
	return verdict{}, false
}

// electPreferred gives the leadership to the first of the assignment, or to nobody.
func electPreferred(b ballot) (verdict, bool) {
	if len(b.assigned) == 0 {
		return verdict{}, false
	}
	first := b.assigned[0]
	if !slices.Contains(b.online, first) || !slices.Contains(b.isr, first) {
		return verdict{}, false
	}
	return verdict{leader: first, isr: b.isr, recipients: b.assigned}, true
}

// electAtShutdown moves the leadership off the brokers that are about to stop and takes
// all of those out of the ISR at once. They are told too: they must stop leading.
func electAtShutdown(b ballot) (verdict, bool) {
	for _, id := range b.assigned {
		if slices.Contains(b.live, id) && slices.Contains(b.isr, id) && !slices.Contains(b.shuttingDown, id) {
			return verdict{leader: id, isr: without(b.isr, b.shuttingDown), recipients: b.live}, true
		}
	}
	return verdict{}, false
}
