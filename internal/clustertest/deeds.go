package clustertest

import "time"

// A deed is one sort of act: whether it needs the other end of a link, how long it lasts at most, and
// how it is done and undone.
type deed struct {
	name  string
	link  bool
	lasts time.Duration // 0: it is over at once
	do    func(n *nemesis, a Act, who, with int32)
}

// deeds is everything that a nemesis may do, plots apart. All are equally likely.
var deeds []deed

func init() { // not in the declaration: a deed's function reaches the table again
	deeds = []deed{
		{"kill", false, 6 * time.Second, kill},
		{"restart", false, 4 * time.Second, restart},
		{"freeze", false, 4 * time.Second, freeze},
		{"kill at", false, 5 * time.Second, killAt},
		{"cut", true, 6 * time.Second, cut},
		{"cut from zookeeper", false, 5 * time.Second, cutFromZookeeper},
		{"isolate", false, 6 * time.Second, isolate},
		{"drop request", true, 5 * time.Second, dropRequest},
		{"drop answer", true, 5 * time.Second, dropAnswer},
		{"delay", true, 6 * time.Second, delay},
		{"expire", false, 0, expire},
		{"stop zookeeper", false, 4 * time.Second, stopZookeeper},
	}
}

func deedNamed(name string) func(*nemesis, Act, int32, int32) {
	for _, d := range deeds {
		if d.name == name {
			return d.do
		}
	}
	panic("no deed " + name)
}

// kill ends a broker without a word, and starts it again later.
func kill(n *nemesis, a Act, who, _ int32) {
	n.withLife(who, func(m *Member) {
		m.Kill()
		time.Sleep(a.For)
		n.start(m)
	})
}

// restart is a controlled shutdown and a start.
func restart(n *nemesis, a Act, who, _ int32) {
	n.withLife(who, func(m *Member) {
		m.Stop()
		time.Sleep(a.For)
		n.start(m)
	})
}

// freeze stops a broker's goroutines where a moment is.
func freeze(n *nemesis, a Act, who, _ int32) {
	_, thaw := n.freeze(a.Moment, who)
	time.Sleep(a.For)
	thaw()
}

// killAt kills a broker when it comes to a moment, if it does within five seconds. Its goroutine goes on
// when log and session are already out of its reach.
func killAt(n *nemesis, a Act, who, _ int32) {
	reached, thaw := n.freeze(a.Moment, who)
	defer thaw()
	select {
	case <-reached:
	case <-time.After(5 * time.Second):
		return
	}
	n.withLife(who, func(m *Member) {
		go func() {
			time.Sleep(20 * time.Millisecond)
			thaw()
		}()
		m.Kill()
		time.Sleep(a.For)
		n.start(m)
	})
}

// cut silences a link between two brokers.
func cut(n *nemesis, a Act, who, with int32) {
	n.c.CutBrokers(who, with)
	time.Sleep(a.For)
	n.healLink(who, with)
}

func cutFromZookeeper(n *nemesis, a Act, who, _ int32) {
	n.cutZookeeper(who)
	time.Sleep(a.For)
	n.healZookeeper(who)
}

// isolate cuts a broker from all others and from ZooKeeper; ZooKeeper comes back first.
func isolate(n *nemesis, a Act, who, _ int32) {
	f, g := followersOf(who)
	n.cutZookeeper(who)
	n.c.CutBrokers(who, f)
	n.c.CutBrokers(who, g)
	time.Sleep(a.For / 2)
	n.healZookeeper(who)
	time.Sleep(a.For / 2)
	n.healLink(who, f)
	n.healLink(who, g)
}

func dropRequest(n *nemesis, a Act, who, with int32) {
	n.drop(who, with, a.API, false, a.Count)
	time.Sleep(a.For)
	n.healLink(who, with)
}

func dropAnswer(n *nemesis, a Act, who, with int32) {
	n.drop(who, with, a.API, true, a.Count)
	time.Sleep(a.For)
	n.healLink(who, with)
}

func delay(n *nemesis, a Act, who, with int32) {
	n.c.Faults.Delay(NodeName(who), NodeName(with), a.Delay)
	time.Sleep(a.For)
	n.healLink(who, with)
}

func expire(n *nemesis, _ Act, who, _ int32) {
	if !n.zk.ExpireSession(who) {
		n.note("broker %d has no session", who)
	}
}

func stopZookeeper(n *nemesis, a Act, _, _ int32) {
	select {
	case <-n.zkup:
	default:
		return
	}
	n.zk.Stop()
	time.Sleep(a.For)
	if err := n.zk.Start(); err != nil {
		n.note("ZooKeeper does not start: %v", err)
	}
	n.zkup <- struct{}{}
}
