package group

import "kz/internal/kafkaerr"

// replaceStatic: a static member was restarted and comes without an id. It takes the
// place of its former life, whoever still claims to be that is fenced. In a Stable group
// nothing else need change: the new life is told the generation and fetches the old
// assignment, and nobody else notices. That is what static membership is for. Mirrors
// GroupCoordinator.updateStaticMemberAndRebalance.
//
// The member's client id stays that of the first life, as in Kafka.
func (g *group) replaceStatic(m *member, newID string, r JoinRequest, respond func(JoinResult)) {
	oldID, oldLeader := m.id, g.leader
	g.answerJoin(m, refuseJoin(oldID, kafkaerr.FencedInstanceID))
	g.answerSync(m, SyncResult{Code: kafkaerr.FencedInstanceID})
	g.rename(m, newID)
	if g.unsynced[oldID] {
		delete(g.unsynced, oldID)
		g.unsynced[newID] = true
	}
	g.expect(m)
	oldProtocols := m.protocols
	g.setProtocols(m, r.Protocols)
	m.onJoin = respond
	switch {
	case g.is(CompletingRebalance): // the leader may be assigning to the old id
		g.prepareRebalance("static member " + newID + " was restarted")
	case g.is(Stable) && g.protocol != nil && *g.protocol != g.selectProtocol():
		g.prepareRebalance("static member " + newID + " changes the protocol")
	case g.is(Stable):
		g.storeStatic(m, oldID, oldLeader, oldProtocols)
	}
}

// storeStatic writes the group with the member's new id, and then tells the member the
// generation; or takes the replacement back when it could not be written. The answer
// names the leader of before: were the member itself the leader, it would compute an
// assignment that a Stable group does not take.
func (g *group) storeStatic(m *member, oldID, oldLeader string, oldProtocols []Protocol) {
	newID := m.id
	value := g.stored(func(m *member) []byte { return m.assignment }).encode()
	g.store(value, func(code kafkaerr.Code) {
		switch {
		case g.members[newID] != m: // it left meanwhile, and was answered
		case code == kafkaerr.None:
			result := g.joinResult(newID, false)
			result.Leader = oldLeader
			g.answerJoin(m, result)
		default:
			result := g.joinResult("", false)
			result.Code, result.Leader = code, oldLeader
			g.answerJoin(m, result)
			g.setProtocols(m, oldProtocols)
			g.rename(m, oldID)
			g.expect(m)
		}
	})
}
