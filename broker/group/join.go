package group

import (
	"time"

	"kz/internal/kafkaerr"
)

// newMemberJoinTimeout is how long a new member may wait in JoinGroup; fixed in Kafka's
// code. Its client may be gone, and nobody would notice.
const newMemberJoinTimeout = 5 * time.Minute

// Join answers when the generation begins, or at once with an error. respond runs once,
// on any goroutine. Mirrors GroupCoordinator.handleJoinGroup.
//
// What happens to a member that joins:
//
//	unknown member                         known member, state
//	  static, instance known  replaced       PreparingRebalance   waits
//	  dynamic, version 4+     given an id    CompletingRebalance  same offer: told the generation again; other: rebalance
//	  otherwise               rebalance      Stable               leader, or other offer: rebalance; else told the generation
//	                                         Empty                UNKNOWN_MEMBER_ID
func (c *Coordinator) Join(r JoinRequest, respond func(JoinResult)) {
	if code := c.check(r.Group, mustBeNamed); code != kafkaerr.None {
		respond(refuseJoin(r.MemberID, code))
		return
	}
	session := time.Duration(r.SessionTimeoutMs) * time.Millisecond
	if session < c.cfg.MinSessionTimeout || session > c.cfg.MaxSessionTimeout {
		respond(refuseJoin(r.MemberID, kafkaerr.InvalidSessionTimeout))
		return
	}
	if !r.storable() {
		respond(refuseJoin(r.MemberID, kafkaerr.InvalidRequest))
		return
	}
	var g *group
	if r.MemberID != "" {
		if g = c.lookup(r.Group); g == nil {
			respond(refuseJoin(r.MemberID, kafkaerr.UnknownMemberID))
			return
		}
	} else if g = c.lookupOrCreate(r.Group); g == nil { // resigned since the check
		respond(refuseJoin(r.MemberID, kafkaerr.NotCoordinator))
		return
	}
	g.act(func() {
		switch {
		case !g.hasRoomFor(r.MemberID):
			if m := g.members[r.MemberID]; m != nil {
				g.drop(m)
			}
			g.later(func() { respond(refuseJoin("", kafkaerr.GroupMaxSizeReached)) })
		case r.MemberID == "":
			g.joinUnknown(r, respond)
		default:
			g.joinKnown(r, respond)
		}
		g.maybeCompleteJoin()
	})
}

// storable: the member could be written, with an id made of its client's or its instance's.
func (r *JoinRequest) storable() bool {
	all := []string{r.ClientHost, r.ProtocolType}
	for _, p := range r.Protocols {
		all = append(all, p.Name)
	}
	prefix := r.ClientID
	if r.InstanceID != nil {
		prefix = *r.InstanceID
	}
	return storable(all...) && len(prefix)+memberIDSuffix <= maxString
}

// hasRoomFor asks group.max.size. While members are joining, those that wait are counted:
// the last to come is left out, whoever it is.
func (g *group) hasRoomFor(id string) bool {
	switch m := g.members[id]; g.state {
	case PreparingRebalance:
		return m != nil && m.onJoin != nil || g.joined() < g.c.cfg.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.order) < g.c.cfg.MaxSize
	}
	return true
}

// joinUnknown: a member without an id.
func (g *group) joinUnknown(r JoinRequest, respond func(JoinResult)) {
	refuse := func(id string, code kafkaerr.Code) { g.later(func() { respond(refuseJoin(id, code)) }) }
	if g.is(Dead) { // removed just now: the member looks for the coordinator anew
		refuse("", kafkaerr.CoordinatorNotAvailable)
		return
	}
	if !g.supports(g.is(Empty), r.ProtocolType, r.Protocols) {
		refuse("", kafkaerr.InconsistentGroupProtocol)
		return
	}
	id := newMemberID(r.ClientID, r.InstanceID)
	switch old := g.staticMember(r.InstanceID); {
	case old != nil:
		g.replaceStatic(old, id, r, respond)
	case r.RequireKnownID:
		g.awaitPending(id, time.Duration(r.SessionTimeoutMs)*time.Millisecond)
		refuse(id, kafkaerr.MemberIDRequired)
	default:
		g.addAndRebalance(id, r, respond)
	}
}

// joinKnown: a member that says who it is.
func (g *group) joinKnown(r JoinRequest, respond func(JoinResult)) {
	refuse := func(code kafkaerr.Code) { g.later(func() { respond(refuseJoin(r.MemberID, code)) }) }
	pending, m := g.pending[r.MemberID], g.members[r.MemberID]
	switch {
	case g.is(Dead):
		refuse(kafkaerr.CoordinatorNotAvailable)
	case !g.supports(g.is(Empty), r.ProtocolType, r.Protocols):
		refuse(kafkaerr.InconsistentGroupProtocol)
	case pending != nil && m == nil && r.InstanceID != nil: // ids of static members are never pending
		refuse(kafkaerr.UnknownServerError)
	case pending != nil && m == nil:
		g.addAndRebalance(r.MemberID, r, respond)
	case g.fenced(r.MemberID, r.InstanceID):
		refuse(kafkaerr.FencedInstanceID)
	case m == nil || r.InstanceID != nil && g.staticMember(r.InstanceID) == nil || g.is(Empty):
		refuse(kafkaerr.UnknownMemberID)
	default:
		g.rejoin(m, r, respond)
	}
}

// rejoin: a member joins again, from inside the group.
func (g *group) rejoin(m *member, r JoinRequest, respond func(JoinResult)) {
	same := m.offers(r.Protocols)
	leads := g.leader == m.id
	switch {
	case g.is(CompletingRebalance) && same: // it may have missed the first answer
		result := g.joinResult(m.id, leads)
		g.later(func() { respond(result) })
	case g.is(Stable) && same && !leads: // nothing has changed for it
		result := g.joinResult(m.id, false)
		g.later(func() { respond(result) })
	default: // a leader that joins again wants another assignment: its topics have changed
		g.setProtocols(m, r.Protocols)
		g.answerJoin(m, refuseJoin(m.id, kafkaerr.RebalanceInProgress)) // its client has given up on the older request
		m.onJoin = respond
		g.maybePrepareRebalance("member " + m.id + " joins again")
	}
}

// addAndRebalance takes a new member in.
func (g *group) addAndRebalance(id string, r JoinRequest, respond func(JoinResult)) {
	m := &member{id: id, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		rebalanceTimeoutMs: r.RebalanceTimeoutMs, sessionTimeoutMs: r.SessionTimeoutMs, protocols: r.Protocols, isNew: true, onJoin: respond}
	if g.is(PreparingRebalance) && g.generation == 0 {
		g.newcomer = true
	}
	g.add(m, r.ProtocolType)
	g.forgetPending(id)
	g.expectWithin(m, newMemberJoinTimeout)
	g.maybePrepareRebalance("new member " + id)
}

// awaitPending remembers an id that was given out.
func (g *group) awaitPending(id string, session time.Duration) {
	a := &alarm{}
	g.pending[id] = a
	a.set(g, session, func() {
		g.forgetPending(id)
		g.maybeCompleteJoin()
	})
}

func (g *group) forgetPending(id string) {
	if a := g.pending[id]; a != nil {
		a.stop()
		delete(g.pending, id)
	}
}
