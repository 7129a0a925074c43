package group

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// group is one group, as its coordinator knows it. Mirrors GroupMetadata.
//
// Its memory is guarded by mu; nothing else happens under mu. What a change has to say to
// others (answers, records to append) goes into the outbox, in order, and is done after
// mu was released: see act. So an answer may come from anywhere and ask anything, and the
// records of a group are in the log in the order in which it wrote them.
type group struct {
	c  *Coordinator
	id string

	mu sync.Mutex // guards all below; before Coordinator.mu; never held over the log, an answer or another group

	membership
	state          State
	stateTimestamp int64   // when it came into this state, epoch ms; -1 not known (from an old record)
	generation     int32   // of the last rebalance that ended; 0 before the first
	protocol       *string // chosen for the generation; nil when it has no members
	subscribed     topics  // of the generation; nil: not known

	join       alarm           // the end of PreparingRebalance
	initial    bool            // join is the delay of a group that was empty: only time ends it
	newcomer   bool            // somebody joined during that delay: it may be extended
	sync       alarm           // the patience with who does not send its SyncGroup
	unsynced   map[string]bool // members of the generation that have not sent it
	offsets    offsets
	outbox     []func()
	delivering bool // somebody is emptying the outbox, and will take what is put in

	// writing is held over each append, before mu and never with it, so that unload can
	// tell the last append: once unloaded is set, none comes any more.
	writing  sync.Mutex
	unloaded bool // guarded by writing
}

// newGroup is an empty group.
func (c *Coordinator) newGroup(id string) *group {
	return &group{c: c, id: id, membership: newMembership(), stateTimestamp: nowMs(), offsets: newOffsets(), unsynced: map[string]bool{}}
}

func nowMs() int64 { return time.Now().UnixMilli() }

// act changes the group: f runs under mu, then the outbox is emptied, unless somebody is
// at it already. f must not block.
func (g *group) act(f func()) {
	if !g.change(f) {
		return
	}
	all := false
	defer func() {
		if !all { // a bug in what was delivered: let the next change go on with the rest
			g.mu.Lock()
			g.delivering = false
			g.mu.Unlock()
		}
	}()
	for todo := g.take(); len(todo) > 0; todo = g.take() {
		for _, deliver := range todo {
			deliver()
		}
	}
	all = true
}

// change runs f under mu, and says whether the caller has to empty the outbox.
func (g *group) change(f func()) (deliver bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	deliver = !g.delivering && len(g.outbox) > 0
	g.delivering = g.delivering || deliver
	return deliver
}

// take empties the outbox; nothing in it ends the delivering.
func (g *group) take() (todo []func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	todo, g.outbox = g.outbox, nil
	g.delivering = len(todo) > 0
	return todo
}

// later puts something into the outbox. mu is held.
func (g *group) later(f func()) { g.outbox = append(g.outbox, f) }

// is, to: the state. mu is held.
func (g *group) is(s State) bool { return g.state == s }

func (g *group) to(next State, why string) {
	from := g.state
	g.state = from.become(next)
	g.stateTimestamp = nowMs()
	if j := g.c.d.Journal; j.On() {
		ev := journal.Event{Kind: journal.GroupState, Source: "group", Group: g.id, Generation: g.generation, From: from.String(), To: next.String(), Text: why}
		j.Emit(ev)
	}
	g.c.log.WithLevel(stateLevel(next)).Str("group", g.id).Int32("generation", g.generation).Int("members", len(g.order)).
		Stringer("from", from).Stringer("to", next).Str("why", why).Msg("group")
}

// stateLevel: what happens a few times in a group's life is told, the rest at debug.
func stateLevel(s State) zerolog.Level {
	if s == PreparingRebalance || s == Stable {
		return zerolog.InfoLevel
	}
	return zerolog.DebugLevel
}

// answerJoin answers a member's waiting JoinGroup, if there is one. mu is held.
func (g *group) answerJoin(m *member, r JoinResult) {
	if respond := m.onJoin; respond != nil {
		m.onJoin = nil
		g.later(func() { respond(r) })
	}
}

// answerSync answers a member's waiting SyncGroup; false when there is none. mu is held.
func (g *group) answerSync(m *member, r SyncResult) bool {
	respond := m.onSync
	if respond == nil {
		return false
	}
	m.onSync = nil
	g.later(func() { respond(r) })
	return true
}

// joinResult is the generation as a member is told it. The leader alone is told who the
// others are. mu is held.
func (g *group) joinResult(memberID string, asLeader bool) JoinResult {
	r := JoinResult{Generation: g.generation, ProtocolType: orNil(g.protocolType), Protocol: g.protocol, Leader: g.leader, MemberID: memberID}
	if !asLeader {
		return r
	}
	for _, m := range g.order {
		data, _ := m.metadata(*g.protocol)
		r.Members = append(r.Members, JoinedMember{ID: m.id, InstanceID: m.instanceID, Metadata: data})
	}
	return r
}

// syncResult is the assignment of a member. mu is held.
func (g *group) syncResult(m *member) SyncResult {
	return SyncResult{ProtocolType: orNil(g.protocolType), Protocol: g.protocol, Assignment: m.assignment}
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// stored is the group as it is written, with the assignments given. mu is held.
func (g *group) stored(assignment func(*member) []byte) storedGroup {
	s := storedGroup{ProtocolType: g.protocolType, Generation: g.generation, Protocol: g.protocol, Leader: orNil(g.leader), StateTimestamp: g.stateTimestamp}
	for _, m := range g.order {
		data, _ := m.metadata(*g.protocol)
		s.Members = append(s.Members, storedMember{ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeoutMs: m.rebalanceTimeoutMs, SessionTimeoutMs: m.sessionTimeoutMs, Subscription: data, Assignment: assignment(m)})
	}
	return s
}

// restore is the group that a record tells of: Stable with members, or Empty.
func (c *Coordinator) restore(id string, s storedGroup) *group {
	g := c.newGroup(id)
	g.protocolType, g.generation, g.protocol = s.ProtocolType, s.Generation, s.Protocol
	g.stateTimestamp = s.StateTimestamp
	for _, sm := range s.Members {
		protocol := ""
		if s.Protocol != nil {
			protocol = *s.Protocol
		}
		g.add(&member{id: sm.ID, instanceID: sm.InstanceID, clientID: sm.ClientID, clientHost: sm.ClientHost,
			rebalanceTimeoutMs: sm.RebalanceTimeoutMs, sessionTimeoutMs: sm.SessionTimeoutMs, assignment: sm.Assignment,
			protocols: []Protocol{{Name: protocol, Metadata: sm.Subscription}}}, s.ProtocolType)
		g.state = Stable
		g.protocol = &protocol
	}
	if s.Leader != nil && g.has(*s.Leader) {
		g.leader = *s.Leader
	}
	g.subscribed = g.subscribedTopics(g.protocol)
	return g
}

// partition is where the group is stored.
func (g *group) partition() topic.Partition {
	return topic.Partition{Topic: topic.ConsumerOffsets, Partition: g.c.PartitionFor(g.id)}
}

// refuseJoin is a JoinGroup that failed: no generation.
func refuseJoin(memberID string, code kafkaerr.Code) JoinResult {
	return JoinResult{Code: code, MemberID: memberID, Generation: -1}
}
