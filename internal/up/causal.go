package up

import (
	"slices"

	"kz/internal/journal"
)

// What several processes wrote within one look at their journals has no order of its own,
// and their clocks are not asked. But one thing leads to another, and some events say so:
//
//	a write in ZooKeeper, zxid 51     before  the broker's "I wrote", zxid 51
//	what a broker wrote down earlier  before  its own write in ZooKeeper
//	the controller's requests         before  what they make of a broker
//	what they make of it              before  the controller's "answered"
//
// arrange merges queues so that these hold; where nothing is said, ZooKeeper comes first,
// then the controller. It is a pure function of what was read.
type arranger struct {
	zoo     *queue   // nil: ZooKeeper is not ours
	brokers []*queue // by id
	zxid    int64    // the highest that ZooKeeper's own events have reached
	out     []Event
}

// A queue is what one process wrote and nobody has taken yet, in its order.
type queue struct {
	src    string
	node   int32 // the broker's id; -1: ZooKeeper
	events []line
}

// arrange takes what can be taken. Events of a broker that speak of a zxid that ZooKeeper
// has not told yet stay in their queue, with all that follow, unless force.
func (a *arranger) arrange(force bool) []Event {
	a.out = nil
	for a.zoo != nil && len(a.zoo.events) > 0 {
		ev := a.zoo.events[0]
		if ev.Kind == journal.ZnodeWrite {
			a.before(ev.Zxid)
		}
		a.take(a.zoo)
		a.zxid = max(a.zxid, ev.Zxid)
	}
	rest := slices.Clone(a.brokers)
	slices.SortStableFunc(rest, func(x, y *queue) int { return rank(x) - rank(y) })
	for _, q := range rest {
		for len(q.events) > 0 && (force || !a.blocked(q.events[0])) {
			a.next(q)
		}
	}
	return a.out
}

// before takes what a broker wrote down before its own write with this zxid.
func (a *arranger) before(zxid int64) {
	for _, q := range a.brokers {
		mine := func(ev line) bool {
			return ev.Kind == journal.ZnodeWrite && ev.Zxid == zxid && ev.Result == "ok"
		}
		if !slices.ContainsFunc(q.events, mine) {
			continue
		}
		for !mine(q.events[0]) && !a.blocked(q.events[0]) {
			a.next(q)
		}
	}
}

// next takes the head of a queue; an answer to a request comes after what it answers to.
func (a *arranger) next(q *queue) {
	if ev := q.events[0]; ev.Kind == journal.RequestAnswered && ev.Replica != q.node {
		for _, to := range a.brokers {
			if to.node == ev.Replica {
				a.upToDecision(to)
			}
		}
	}
	a.take(q)
}

// upToDecision takes a broker's events up to the last that a request of the controller made.
func (a *arranger) upToDecision(q *queue) {
	last := -1
	for i, ev := range q.events {
		if ev.Kind == journal.BecameLeader || ev.Kind == journal.BecameFollower {
			last = i
		}
	}
	for ; last >= 0 && !a.blocked(q.events[0]); last-- {
		a.take(q)
	}
}

func (a *arranger) blocked(ev line) bool {
	return a.zoo != nil && ev.Zxid > a.zxid
}

func (a *arranger) take(q *queue) {
	ev := q.events[0]
	q.events = q.events[1:]
	a.out = append(a.out, Event{Event: ev.Event, Src: q.src, SrcSeq: ev.Seq, text: ev.text})
}

// rank puts the controller first.
func rank(q *queue) int {
	for _, ev := range q.events {
		switch ev.Kind {
		case journal.RequestSent, journal.RequestAnswered, journal.Election:
			return 0
		}
	}
	return 1
}
