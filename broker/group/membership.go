package group

import (
	"crypto/rand"
	"fmt"
	"slices"
)

// membership is who belongs to a group, and what they can agree on. It knows no time, no
// log and no answers. Mirrors the membership part of GroupMetadata.
//
// Invariants: every member offers a protocol that all offer; leader is a member unless
// there is none; static names only members.
type membership struct {
	protocolType string // "consumer" …; "" before the first member, and of a group that only commits
	leader       string // the member that computes the assignment: the first to have joined; "" without members

	members map[string]*member
	order   []*member         // the same, in the order of joining
	static  map[string]string // group.instance.id -> member id
	offered map[string]int    // protocol -> how many members offer it

	// pending are ids that were given out with MEMBER_ID_REQUIRED and have not been used
	// yet; the alarm forgets them. A rebalance waits for them.
	pending map[string]*alarm
}

func newMembership() membership {
	return membership{members: map[string]*member{}, static: map[string]string{}, offered: map[string]int{}, pending: map[string]*alarm{}}
}

func (s *membership) has(id string) bool { return s.members[id] != nil }

// add takes a member in. The caller has checked supports.
func (s *membership) add(m *member, protocolType string) {
	if len(s.order) == 0 {
		s.protocolType = protocolType
	}
	if s.leader == "" {
		s.leader = m.id
	}
	s.members[m.id] = m
	s.order = append(s.order, m)
	s.count(m.protocols, 1)
	if m.isStatic() {
		s.static[*m.instanceID] = m.id
	}
}

// remove takes a member out; whoever joined first of the others becomes the leader if it led.
func (s *membership) remove(m *member) {
	if s.members[m.id] != m {
		return
	}
	delete(s.members, m.id)
	s.order = slices.DeleteFunc(s.order, func(o *member) bool { return o == m })
	s.count(m.protocols, -1)
	if m.isStatic() {
		delete(s.static, *m.instanceID)
	}
	if s.leader == m.id {
		s.leader = ""
		if len(s.order) > 0 {
			s.leader = s.order[0].id
		}
	}
}

// rename gives a static member the id of its new life. Everything else of it stays.
func (s *membership) rename(m *member, id string) {
	delete(s.members, m.id)
	if s.leader == m.id {
		s.leader = id
	}
	m.id = id
	s.members[id] = m
	s.static[*m.instanceID] = id
}

// setProtocols replaces what a member offers.
func (s *membership) setProtocols(m *member, protocols []Protocol) {
	s.count(m.protocols, -1)
	s.count(protocols, 1)
	m.protocols = protocols
}

func (s *membership) count(protocols []Protocol, n int) {
	for _, p := range protocols {
		if s.offered[p.Name] += n; s.offered[p.Name] == 0 {
			delete(s.offered, p.Name)
		}
	}
}

// supports says whether somebody with these protocols may join: the type fits, and one
// protocol is offered by all.
func (s *membership) supports(empty bool, protocolType string, protocols []Protocol) bool {
	if empty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType != "" && protocolType == s.protocolType &&
		slices.ContainsFunc(protocols, func(p Protocol) bool { return s.offeredByAll(p.Name) })
}

func (s *membership) offeredByAll(name string) bool { return s.offered[name] == len(s.order) }

// selectProtocol: every member votes for the first of its protocols that all offer; the
// most votes win, and of equals the one that was voted for first. There are members.
func (s *membership) selectProtocol() string {
	votes, best := map[string]int{}, ""
	for _, m := range s.order {
		if name, ok := m.vote(s.offeredByAll); ok {
			votes[name]++
		}
	}
	for _, m := range s.order {
		if name, ok := m.vote(s.offeredByAll); ok && votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// staticMember finds the member with an instance id.
func (s *membership) staticMember(instanceID *string) *member {
	if instanceID == nil {
		return nil
	}
	return s.members[s.static[*instanceID]]
}

// fenced: somebody else came with this instance id since.
func (s *membership) fenced(id string, instanceID *string) bool {
	m := s.staticMember(instanceID)
	return m != nil && m.id != id
}

// joined counts the members that wait in JoinGroup.
func (s *membership) joined() (n int) {
	for _, m := range s.order {
		if m.onJoin != nil {
			n++
		}
	}
	return n
}

// allJoined ends the first half of a rebalance early.
func (s *membership) allJoined() bool {
	return len(s.pending) == 0 && s.joined() == len(s.order)
}

// rebalanceTimeoutMs is the patience of the most patient member.
func (s *membership) rebalanceTimeoutMs() (most int32) {
	for _, m := range s.order {
		most = max(most, m.rebalanceTimeoutMs)
	}
	return most
}

// electJoinedLeader replaces a leader that did not rejoin by the first member that did.
// False: nobody did, or there are no members.
func (s *membership) electJoinedLeader() bool {
	if m := s.members[s.leader]; m != nil && m.onJoin != nil {
		return true
	}
	for _, m := range s.order {
		if m.onJoin != nil {
			s.leader = m.id
			return true
		}
	}
	return false
}

// memberIDSuffix is the length of what makes a member's id unique: -<uuid>.
const memberIDSuffix = 1 + 36

// newMemberID is <client id>-<uuid>, or <instance id>-<uuid> for a static member.
func newMemberID(clientID string, instanceID *string) string {
	prefix := clientID
	if instanceID != nil {
		prefix = *instanceID
	}
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", prefix, u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
