package clustertest

import (
	"slices"
	"time"

	"kz/internal/journal"
)

// A plot is a story in which one rule of replication is all that stands between the cluster and a loss.
// Chance alone finds such stories too, but not in every hundred schedules. A plot returns where it
// stopped, if it did not come to its end: what it waited for may be late under other faults.
type plot struct {
	name string
	run  func(n *nemesis) (stuck string)
}

var plots []plot

const plotDeafFollower = "a follower that hears of no leader fetches across two of them"

func init() {
	plots = []plot{
		{"the follower of a dead leader's heir, frozen after its truncation, inherits", heirAfterTruncation},
		{"a leader that nobody fetches from dies with its news", newsDieWithTheLeader},
		{"the leader dies while the first in line is outside the ISR", firstInLineIsBehind},
		{"a deposed leader that hears of nothing shrinks the ISR", deposedLeaderWrites},
		{plotDeafFollower, deafFollower},
	}
}

func plotNamed(name string) func(*nemesis) string {
	for _, p := range plots {
		if p.name == name {
			return p.run
		}
	}
	panic("no plot " + name)
}

// within waits for a condition, 15 virtual seconds at most.
func within(cond func() bool) bool {
	ok, _ := await(15*time.Second, func() (bool, string) { return cond(), "" })
	return ok
}

// begin waits until partition 0 has a leader and acknowledges.
func (n *nemesis) begin() (leader, first, second int32) {
	time.Sleep(500 * time.Millisecond)
	leader, _ = n.who.Leader(0)
	first, second = followersOf(leader)
	return leader, first, second
}

// newLeader waits until another broker became leader of partition 0.
func (n *nemesis) newLeader(than int32) (id int32, ok bool) {
	ok = within(func() bool { id, _ = n.who.Leader(0); return id != than })
	return id, ok
}

// heirAfterTruncation: both followers have the last records, which are acknowledged, and have not heard
// the high watermark that covers them. The leader dies; one follower leads, the other stands still
// after its truncation, before it fetches; the new leader dies too. KIP-101.
func heirAfterTruncation(n *nemesis) string {
	leader, f, g := n.begin()
	since := n.who.now()
	for _, id := range []int32{f, g} {
		disarm := n.c.Brokers[id].Journal.Arm(journal.MomentFollowerAppend, func(string) { n.drop(leader, id, keyFetch, true, 1<<20) })
		defer disarm()
	}
	for _, id := range []int32{f, g} {
		appended := func(e Entry) bool { return e.Kind == journal.FollowerAppend && e.Node == id && e.Partition == 0 }
		if !within(func() bool { return n.who.saw(since, appended) }) {
			return "nothing is fetched"
		}
	}
	time.Sleep(200 * time.Millisecond)
	reached, thaw := n.freeze(journal.MomentFollowerTruncated, f, g)
	defer thaw()
	n.c.Brokers[leader].Kill()
	heir, ok := n.newLeader(leader)
	if !ok {
		return "no heir"
	}
	select {
	case <-reached:
	case <-time.After(15 * time.Second):
		return "nobody truncates"
	}
	n.c.Brokers[heir].Kill()
	thaw()
	if _, ok := n.newLeader(heir); !ok {
		return "no second heir"
	}
	time.Sleep(500 * time.Millisecond)
	n.revive(leader)
	n.revive(heir)
	return ""
}

// newsDieWithTheLeader: what only the leader has is not committed, so nobody was told that it is.
func newsDieWithTheLeader(n *nemesis) string {
	leader, f, g := n.begin()
	n.c.CutBrokers(leader, f)
	n.c.CutBrokers(leader, g)
	time.Sleep(time.Second) // below the lag limit: the followers stay electable
	n.c.Brokers[leader].Kill()
	n.healLink(leader, f)
	n.healLink(leader, g)
	if _, ok := n.newLeader(leader); !ok {
		return "no heir"
	}
	time.Sleep(500 * time.Millisecond)
	n.revive(leader)
	return ""
}

// firstInLineIsBehind: the first in the order of the assignment is alive, and is not in the ISR.
func firstInLineIsBehind(n *nemesis) string {
	leader, f, _ := n.begin()
	since := n.who.now()
	n.c.CutBrokers(leader, f)
	shrunk := func(e Entry) bool {
		return e.Kind == journal.ISRShrink && e.Partition == 0 && e.Result == "ok" && !slices.Contains(e.ISR, f)
	}
	if !within(func() bool { return n.who.saw(since, shrunk) }) {
		return "the ISR does not shrink"
	}
	time.Sleep(500 * time.Millisecond)
	n.c.Brokers[leader].Kill()
	n.healLink(leader, f)
	if _, ok := n.newLeader(leader); !ok {
		return "no heir"
	}
	time.Sleep(500 * time.Millisecond)
	n.revive(leader)
	return ""
}

// deposedLeaderWrites: its session ends while it is cut off; ZooKeeper comes back and the brokers do
// not, so it still believes that it leads, and its followers lag.
func deposedLeaderWrites(n *nemesis) string {
	leader, f, g := n.begin()
	n.c.CutBrokers(leader, f)
	n.c.CutBrokers(leader, g)
	n.cutZookeeper(leader)
	if _, ok := n.newLeader(leader); !ok {
		return "no heir"
	}
	n.healZookeeper(leader)
	time.Sleep(4 * time.Second) // one and a half lag limits, less what has passed
	n.healLink(leader, f)
	n.healLink(leader, g)
	return ""
}

// deafFollower: g hears of no LeaderAndIsr. It has records of the old leader that f has not. f leads,
// writes others at their offsets; the old leader follows f, and leads again. What g asks of it in its
// old epoch must be refused, or g goes on behind records that nobody else has. KIP-320.
func deafFollower(n *nemesis) string {
	leader, f, g := n.begin()
	for id := range n.c.Brokers {
		n.drop(id, g, keyLeaderAndISR, false, 1<<20)
	}
	n.c.CutBrokers(leader, f)
	time.Sleep(300 * time.Millisecond)
	_, epoch := n.who.Leader(0)
	since, ahead := n.who.now(), n.who.end(g)
	if !n.zk.ExpireSession(leader) {
		return "no session to expire"
	}
	if id, ok := n.newLeader(leader); !ok || id != f {
		return "the heir is another"
	}
	n.c.Faults.Heal(NodeName(f), NodeName(leader))
	n.c.Faults.Heal(NodeName(leader), NodeName(f))
	overtaken := func(e Entry) bool {
		return e.Kind == journal.FollowerAppend && e.Partition == 0 && e.Node == leader && e.LeaderEpoch > epoch && e.EndOffset > ahead+3
	}
	if !within(func() bool { return n.who.saw(since, overtaken) }) {
		return "the old leader does not follow"
	}
	if isr, ok := n.isr(); !ok || !slices.Contains(isr, leader) || slices.Contains(isr, g) {
		return "the ISR is another"
	}
	n.c.Brokers[f].Kill()
	if id, ok := n.newLeader(f); !ok || id != leader {
		return "the old leader does not lead again"
	}
	time.Sleep(2 * time.Second)
	n.heal()
	n.revive(f)
	return ""
}

// isr is partition 0's as its leader wrote it last.
func (n *nemesis) isr() (isr []int32, ok bool) {
	for _, e := range n.who.Entries() {
		if (e.Kind == journal.ISRShrink || e.Kind == journal.ISRExpand) && e.Topic == chaosTopic && e.Partition == 0 && e.Result == "ok" {
			isr, ok = e.ISR, true
		}
	}
	return isr, ok
}
