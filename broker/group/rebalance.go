package group

import (
	"fmt"
	"time"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
)

// A rebalance, from the group's side:
//
//	prepareRebalance   members must join; those waiting for an assignment are sent back
//	maybeCompleteJoin  called wherever a member came or went: all are here
//	completeJoin       the next generation: protocol, leader, everybody is answered
//	Sync (sync.go)     the leader's assignment is written, everybody gets its part

func (g *group) maybePrepareRebalance(why string) {
	if g.state.canBecome(PreparingRebalance) {
		g.prepareRebalance(why)
	}
}

// prepareRebalance begins one. An Empty group waits for group.initial.rebalance.delay.ms:
// members that start together should find themselves in one generation.
func (g *group) prepareRebalance(why string) {
	if g.is(CompletingRebalance) {
		g.propagate(kafkaerr.RebalanceInProgress, func(*member) []byte { return nil })
	}
	g.expectNoSync()
	wasEmpty := g.is(Empty)
	g.to(PreparingRebalance, why)
	timeout := g.rebalanceTimeout()
	if wasEmpty {
		delay := g.c.cfg.InitialRebalanceDelay
		g.delayJoin(delay, max(timeout-delay, 0))
		return
	}
	g.awaitMembers(timeout)
	if len(g.order) == 0 { // nobody's patience is left: ids given out count no more
		g.completeJoin()
		return
	}
	g.maybeCompleteJoin()
}

func (g *group) rebalanceTimeout() time.Duration {
	return time.Duration(g.rebalanceTimeoutMs()) * time.Millisecond
}

func (g *group) awaitMembers(timeout time.Duration) {
	g.initial = false
	g.join.set(g, timeout, g.completeJoin)
}

// delayJoin waits for delay, and as long again whenever somebody joined meanwhile, but
// not longer than the members' patience, of which remaining is left. Mirrors
// InitialDelayedJoin.
func (g *group) delayJoin(delay, remaining time.Duration) {
	g.initial = true
	g.join.set(g, delay, func() {
		if g.newcomer && remaining > 0 {
			g.newcomer = false
			g.delayJoin(min(g.c.cfg.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
			return
		}
		g.completeJoin()
	})
}

// maybeCompleteJoin ends the joining early when nobody is missing.
func (g *group) maybeCompleteJoin() {
	if g.is(PreparingRebalance) && !g.initial && g.allJoined() {
		g.completeJoin()
	}
}

// completeJoin decides the next generation. Who did not join is out, unless it is static:
// those stay until their session ends. Mirrors GroupCoordinator.onCompleteJoin.
func (g *group) completeJoin() {
	if !g.is(PreparingRebalance) {
		return
	}
	g.join.stop()
	g.initial, g.newcomer = false, false
	for _, m := range append([]*member(nil), g.order...) {
		if m.onJoin == nil && !m.isStatic() {
			g.drop(m)
		}
	}
	if len(g.order) > 0 && !g.electJoinedLeader() {
		g.awaitMembers(g.rebalanceTimeout()) // only static members are left, and none came
		return
	}
	g.generation++
	clear(g.unsynced)
	if len(g.order) == 0 {
		g.protocol = nil
		g.subscribed = g.subscribedTopics(nil)
		g.to(Empty, "no members")
		g.store(g.stored(nil).encode(), func(code kafkaerr.Code) {
			if code != kafkaerr.None { // the former generation is still in the log: its members will expire again
				g.c.log.Warn().Str("group", g.id).Str("code", code.Name()).Msg("the empty group could not be written")
			}
		})
		return
	}
	g.beginGeneration()
}

// beginGeneration chooses the protocol and answers everybody who joined.
func (g *group) beginGeneration() {
	protocol := g.selectProtocol()
	g.protocol = &protocol
	g.subscribed = g.subscribedTopics(g.protocol)
	g.to(CompletingRebalance, fmt.Sprintf("generation %d, protocol %s, leader %s", g.generation, protocol, g.leader))
	id := g.id
	g.later(func() { g.c.d.Journal.At(journal.MomentCoordinatorRebalance, id) })
	for _, m := range g.order {
		g.answerJoin(m, g.joinResult(m.id, m.id == g.leader))
		g.expect(m)
		m.isNew = false
		g.unsynced[m.id] = true
	}
	generation := g.generation
	g.sync.set(g, g.rebalanceTimeout(), func() { g.dropUnsynced(generation) })
}

// dropUnsynced removes members that never sent their SyncGroup: the others would wait for
// them in every rebalance. Mirrors GroupCoordinator.onExpirePendingSync.
func (g *group) dropUnsynced(generation int32) {
	if generation != g.generation || len(g.unsynced) == 0 || !g.is(CompletingRebalance) && !g.is(Stable) {
		return
	}
	n := len(g.unsynced)
	for _, m := range append([]*member(nil), g.order...) {
		if g.unsynced[m.id] {
			g.drop(m)
		}
	}
	g.prepareRebalance(fmt.Sprintf("%d members did not send their SyncGroup", n))
}

// synced notes a member's SyncGroup.
func (g *group) synced(m *member) {
	delete(g.unsynced, m.id)
	if len(g.unsynced) == 0 {
		g.sync.stop()
	}
}

func (g *group) expectNoSync() {
	clear(g.unsynced)
	g.sync.stop()
}

// drop removes a member and whatever belongs to it; whoever waits for it is answered.
func (g *group) drop(m *member) {
	m.session.stop()
	g.answerJoin(m, refuseJoin("", kafkaerr.UnknownMemberID)) // if it lives it joins again
	g.answerSync(m, SyncResult{Code: kafkaerr.UnknownMemberID})
	delete(g.unsynced, m.id)
	g.remove(m)
}

// dropAndUpdate is drop, and what follows from it: a rebalance, or the end of one.
func (g *group) dropAndUpdate(m *member, why string) {
	g.drop(m)
	switch g.state {
	case Stable, CompletingRebalance:
		g.prepareRebalance(why)
	case PreparingRebalance:
		g.maybeCompleteJoin()
	}
}

// expect restarts a member's session.
func (g *group) expect(m *member) { g.expectWithin(m, m.sessionTimeout()) }

func (g *group) expectWithin(m *member, d time.Duration) {
	m.session.stop()
	if m.seemsAlive() {
		return // its answer will restart the session
	}
	m.session.set(g, d, func() {
		if g.members[m.id] == m && !m.seemsAlive() {
			g.dropAndUpdate(m, "member "+m.id+" was silent for too long")
		}
	})
}
