package clustertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"kz/internal/journal"
	"kz/internal/link"
)

// A nemesis does to a cluster what a schedule says. Every act runs on a goroutine of its own, so that
// acts overlap; a broker's life is changed by one of them at a time, and an act that finds it taken
// does nothing.
type nemesis struct {
	c     *InProcess
	s     Schedule
	zk    *Embedded
	who   *Chronicle
	begun time.Time
	lives map[int32]chan struct{} // a token each: who has it may kill or start the broker
	zkup  chan struct{}           // the same for ZooKeeper
	acts  sync.WaitGroup

	mu    sync.Mutex // guards diary
	diary []string
}

func newNemesis(c *InProcess, s Schedule, who *Chronicle) *nemesis {
	n := &nemesis{c: c, s: s, zk: c.Ground.Zookeeper.(*Embedded), who: who, begun: time.Now(), lives: map[int32]chan struct{}{}, zkup: make(chan struct{}, 1)}
	n.zkup <- struct{}{}
	for id := range c.Brokers {
		n.lives[id] = make(chan struct{}, 1)
		n.lives[id] <- struct{}{}
	}
	n.heal()
	return n
}

// note writes down what was done.
func (n *nemesis) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.diary = append(n.diary, fmt.Sprintf("%8v ", time.Since(n.begun))+fmt.Sprintf(format, args...))
}

func (n *nemesis) Diary() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.diary, "\n")
}

// run does everything, undoes it, and returns when all is well again as far as it is up to it: every
// broker has been started, ZooKeeper too, no link has a fault and nobody is frozen.
func (n *nemesis) run() {
	if n.s.Plot != "" {
		n.note("plot: %s", n.s.Plot)
		if step := plotNamed(n.s.Plot)(n); step != "" {
			n.note("the plot ends before its end: %s", step)
		}
		n.heal()
	}
	begun := time.Now()
	for _, a := range n.s.Acts {
		time.Sleep(a.At - time.Since(begun))
		who := n.resolve(a.Who)
		with := n.resolve(a.With)
		if with == who { // one broker may play two roles
			with, _ = followersOf(who)
		}
		n.note("%s %d %d (%v)", a.What, who, with, a)
		n.acts.Go(func() { deedNamed(a.What)(n, a, who, with) })
	}
	n.acts.Wait()
	n.heal()
	for id := range n.c.Brokers {
		n.acts.Go(func() { n.revive(id) })
	}
	n.acts.Wait()
	n.note("all is well again")
}

// resolve finds the broker that plays a role; 0 for none.
func (n *nemesis) resolve(r Role) int32 {
	leader, _ := n.who.Leader(0)
	switch r {
	case TheLeader:
		return leader
	case TheController:
		return n.who.Controller()
	case OneFollower, OtherFollower:
		f, g := followersOf(leader)
		if r == OneFollower {
			return f
		}
		return g
	}
	return 0
}

// followersOf is the two other replicas in the order of partition 0's assignment.
func followersOf(leader int32) (first, second int32) {
	var rest []int32
	for _, id := range assignment(0) {
		if id != leader {
			rest = append(rest, id)
		}
	}
	return rest[0], rest[1]
}

// assignment is where the replicas of a partition are.
func assignment(partition int32) []int32 {
	return []int32{1 + partition%3, 1 + (partition+1)%3, 1 + (partition+2)%3}
}

// heal ends all link faults. The latency between brokers is no fault.
func (n *nemesis) heal() {
	n.c.Faults.HealAll()
	for a := range n.c.Brokers {
		for b := range n.c.Brokers {
			n.healLink(a, b)
		}
	}
}

func (n *nemesis) healLink(a, b int32) {
	for _, d := range [][2]string{{NodeName(a), NodeName(b)}, {NodeName(b), NodeName(a)}} {
		n.c.Faults.Heal(d[0], d[1])
		if a != b && n.s.Latency > 0 {
			n.c.Faults.Delay(d[0], d[1], n.s.Latency)
		}
	}
}

func (n *nemesis) cutZookeeper(id int32) {
	n.c.Faults.Cut(NodeName(id), ZookeeperName)
	n.c.Faults.Cut(ZookeeperName, NodeName(id))
}

func (n *nemesis) healZookeeper(id int32) {
	n.c.Faults.Heal(NodeName(id), ZookeeperName)
	n.c.Faults.Heal(ZookeeperName, NodeName(id))
}

// withLife does something to a broker's life, unless somebody else is doing so.
func (n *nemesis) withLife(id int32, do func(m *Member)) {
	select {
	case <-n.lives[id]:
		defer func() { n.lives[id] <- struct{}{} }()
		do(n.c.Brokers[id])
	default:
		n.note("broker %d is in other hands", id)
	}
}

// revive starts a broker if it is down, however long that takes.
func (n *nemesis) revive(id int32) {
	<-n.lives[id]
	defer func() { n.lives[id] <- struct{}{} }()
	n.start(n.c.Brokers[id])
}

// start tries to start a broker until it serves. The old session may have to end first.
func (n *nemesis) start(m *Member) {
	for m.Broker() == nil {
		if err := m.TryStart(context.Background()); err != nil {
			n.note("broker %d does not start yet: %.100v", m.ID, err)
			time.Sleep(300 * time.Millisecond)
		}
	}
}

// freeze stops every goroutine of these brokers that comes to a moment, until the returned function is
// called. reached is closed when the first is there.
func (n *nemesis) freeze(m journal.Moment, ids ...int32) (reached <-chan struct{}, thaw func()) {
	here, until := make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(here) })
	var disarm []func()
	for _, id := range ids {
		disarm = append(disarm, n.c.Brokers[id].Journal.Arm(m, func(string) {
			first()
			<-until
		}))
	}
	return here, sync.OnceFunc(func() {
		for _, f := range disarm {
			f()
		}
		close(until)
	})
}

func (n *nemesis) drop(from, to int32, key int16, answer bool, count int) {
	n.c.Faults.Drop(NodeName(from), NodeName(to), link.Drop{Key: key, Answer: answer, Count: count})
}
