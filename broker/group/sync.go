package group

import (
	"kz/internal/kafkaerr"
)

// Sync answers a member with its assignment, when the leader has sent it and it is
// written. respond runs once, on any goroutine. Mirrors GroupCoordinator.handleSyncGroup.
func (c *Coordinator) Sync(r SyncRequest, respond func(SyncResult)) {
	code := c.check(r.Group, mustBeNamed)
	if code == kafkaerr.CoordinatorLoadInProgress {
		// The rebalance was lost with the former coordinator: begin again with JoinGroup.
		code = kafkaerr.RebalanceInProgress
	}
	if code != kafkaerr.None {
		respond(SyncResult{Code: code})
		return
	}
	g := c.lookup(r.Group)
	if g == nil {
		respond(SyncResult{Code: kafkaerr.UnknownMemberID})
		return
	}
	g.act(func() {
		if code := g.checkSync(r); code != kafkaerr.None {
			g.later(func() { respond(SyncResult{Code: code}) })
			return
		}
		m := g.members[r.MemberID]
		g.synced(m)
		if g.is(Stable) {
			result := g.syncResult(m)
			g.later(func() { respond(result) })
			g.expect(m)
			return
		}
		g.answerSync(m, SyncResult{Code: kafkaerr.RebalanceInProgress}) // its client has given up on the older request
		m.onSync = respond
		if m.id == g.leader {
			g.assign(r.Assignment)
		}
	})
}

// checkSync refuses what cannot wait for an assignment, in Kafka's order.
func (g *group) checkSync(r SyncRequest) kafkaerr.Code {
	differs := func(said, is *string) bool { return said != nil && (is == nil || *is != *said) }
	code := g.checkMember(r.Caller)
	switch {
	case code != kafkaerr.None:
		return code
	case differs(r.ProtocolType, orNil(g.protocolType)) || differs(r.Protocol, g.protocol):
		return kafkaerr.InconsistentGroupProtocol
	case g.is(Empty):
		return kafkaerr.UnknownMemberID
	case g.is(PreparingRebalance):
		return kafkaerr.RebalanceInProgress
	}
	return kafkaerr.None
}

// checkMember: the group lives, the caller is one of its members, of this generation.
func (g *group) checkMember(r Caller) kafkaerr.Code {
	switch {
	case g.is(Dead): // removed just now: look for the coordinator anew
		return kafkaerr.CoordinatorNotAvailable
	case g.fenced(r.MemberID, r.InstanceID):
		return kafkaerr.FencedInstanceID
	case !g.has(r.MemberID):
		return kafkaerr.UnknownMemberID
	case r.Generation != g.generation:
		return kafkaerr.IllegalGeneration
	}
	return kafkaerr.None
}

// assign writes the leader's assignment, and hands it out when it is written: a
// coordinator that takes over must know what the members were told. Members that the
// leader left out get nothing to do.
func (g *group) assign(assignment map[string][]byte) {
	generation := g.generation
	of := func(m *member) []byte { return assignment[m.id] }
	g.store(g.stored(of).encode(), func(code kafkaerr.Code) {
		if !g.is(CompletingRebalance) || g.generation != generation {
			return // another rebalance has begun
		}
		if code != kafkaerr.None {
			g.prepareRebalanceAfter(code)
			return
		}
		g.propagate(kafkaerr.None, of)
		g.to(Stable, "assigned")
	})
}

// prepareRebalanceAfter: the assignment could not be written.
func (g *group) prepareRebalanceAfter(code kafkaerr.Code) {
	g.propagate(code, func(*member) []byte { return nil })
	g.prepareRebalance("the assignment could not be written: " + code.Name())
}

// propagate sets every member's assignment and answers those that wait for it. Their
// sessions begin anew: waiting, they could not send heartbeats.
func (g *group) propagate(code kafkaerr.Code, of func(*member) []byte) {
	for _, m := range g.order {
		m.assignment = of(m)
		result := SyncResult{Code: code}
		if code == kafkaerr.None {
			result = g.syncResult(m)
		}
		if g.answerSync(m, result) {
			g.expect(m)
		}
	}
}
