package group

import (
	"kz/internal/kafkaerr"
)

// Heartbeat says that a member lives, and tells it when it must join again. Mirrors
// GroupCoordinator.handleHeartbeat.
func (c *Coordinator) Heartbeat(r Caller) (code kafkaerr.Code) {
	switch code := c.check(r.Group, mustBeNamed); code {
	case kafkaerr.None:
	case kafkaerr.CoordinatorLoadInProgress:
		return kafkaerr.None // sessions begin when the group is loaded
	default:
		return code
	}
	g := c.lookup(r.Group)
	if g == nil {
		return kafkaerr.UnknownMemberID
	}
	g.act(func() {
		if code = g.checkMember(r); code != kafkaerr.None {
			return
		}
		switch g.state {
		case Empty:
			code = kafkaerr.UnknownMemberID
			return
		case PreparingRebalance:
			code = kafkaerr.RebalanceInProgress
		}
		g.expect(g.members[r.MemberID])
	})
	return code
}

// Leave removes members at once, and answers each. A code of the whole request leaves
// codes empty. Mirrors GroupCoordinator.handleLeaveGroup.
func (c *Coordinator) Leave(groupID string, leaving []Leaving) (code kafkaerr.Code, codes []kafkaerr.Code) {
	if code := c.check(groupID, mustBeNamed); code != kafkaerr.None {
		return code, nil
	}
	g := c.lookup(groupID)
	if g == nil {
		for range leaving {
			codes = append(codes, kafkaerr.UnknownMemberID)
		}
		return kafkaerr.None, codes
	}
	g.act(func() {
		if g.is(Dead) {
			code = kafkaerr.CoordinatorNotAvailable
			return
		}
		for _, l := range leaving {
			codes = append(codes, g.leave(l))
		}
	})
	return code, codes
}

func (g *group) leave(l Leaving) kafkaerr.Code {
	m := g.staticMember(l.InstanceID)
	if m == nil {
		m = g.members[l.MemberID]
	}
	_, pending := g.pending[l.MemberID]
	switch {
	case l.MemberID != "" && g.fenced(l.MemberID, l.InstanceID):
		return kafkaerr.FencedInstanceID
	case pending && !g.has(l.MemberID) && l.InstanceID != nil: // ids of static members are never pending
		return kafkaerr.UnknownServerError
	case pending && !g.has(l.MemberID):
		g.forgetPending(l.MemberID)
		g.maybeCompleteJoin()
		return kafkaerr.None
	case m == nil:
		return kafkaerr.UnknownMemberID
	}
	g.dropAndUpdate(m, "member "+m.id+" leaves")
	return kafkaerr.None
}
