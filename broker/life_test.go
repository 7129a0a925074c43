package broker

import (
	"slices"
	"strings"
	"testing"

	"kz/internal/journal"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// Golden step 94: the session is lost while the broker lives; it registers again with a
// larger epoch, takes part in elections again, and claims no new producer ids.
func TestBrokerRegistersAgainAfterItsSessionExpired(t *testing.T) {
	r := newRig(t)
	n := r.start("one", id(1))
	n.until(t, "elected", func(e journal.Event) bool { return e.Kind == journal.ControllerOn })
	block := r.get(zkpaths.ProducerIDBlock)
	first := n.Controller().BrokerEpoch()

	r.faults.Refuse("broker-one", "zookeeper")
	r.faults.Reset("broker-one", "zookeeper")
	eventually(t, "the session is over", func() bool {
		_, found, err := r.zk.Exists(t.Context(), zkpaths.Broker(1))
		return err == nil && !found
	})
	r.faults.HealAll()

	eventually(t, "elected again", func() bool {
		return n.Controller().IsActive() && n.Controller().BrokerEpoch() > first && r.exists(zkpaths.Broker(1))
	})
	_, stat, err := r.zk.Get(t.Context(), zkpaths.Broker(1))
	if err != nil || stat.Czxid != n.Controller().BrokerEpoch() || stat.Version != 1 {
		t.Errorf("registration %+v, broker epoch %d, %v", stat, n.Controller().BrokerEpoch(), err)
	}
	if got := r.get(zkpaths.ControllerEpoch); got != "2" {
		t.Errorf("controller epoch %s, want 2: one election per session", got)
	}
	if got := r.get(zkpaths.ProducerIDBlock); got != block {
		t.Errorf("a new session claims no producer ids: %s, before %s", got, block)
	}
	var registrations []int64
	for _, e := range n.seen() {
		if e.Kind == journal.Registration {
			registrations = append(registrations, e.BrokerEpoch)
		}
	}
	if len(registrations) != 2 || registrations[0] != first || registrations[1] != stat.Czxid {
		t.Errorf("registrations in the journal: %v", registrations)
	}
}

func (r *rig) exists(path string) bool {
	_, found, err := r.zk.Exists(r.t.Context(), path)
	return err == nil && found
}

// Golden step 84: ZooKeeper is away for longer than the session timeout and comes back
// with its data. It knows the sessions; the broker goes on in the same one and writes
// nothing at all.
func TestZooKeeperAwayAndBackChangesNothing(t *testing.T) {
	r := newRigOn(t, zktest.Start(t))
	n := r.start("one", id(1))
	r.createTopic(n, "t", 3, nil)
	n.until(t, "failover done", func(e journal.Event) bool {
		return e.Kind == journal.ZnodeWrite && e.Path == zkpaths.PreferredReplicaElection
	})
	epoch := n.Controller().BrokerEpoch()
	r.server.Stop()
	n.until(t, "the connection is lost", func(e journal.Event) bool { return e.Kind == journal.SessionLost })
	before := len(n.seen())
	r.server.StartAgain(t)
	n.until(t, "connected again", func(e journal.Event) bool {
		return e.Kind == journal.SessionRegained || e.Kind == journal.SessionExpired
	})
	r.createTopic(n, "later", 1, nil) // the controller works
	for _, e := range n.seen()[before:] {
		switch {
		case e.Kind == journal.SessionExpired:
			t.Skip("the server lost the session over its restart, as real servers sometimes do")
		case e.Kind == journal.ZnodeWrite && !strings.Contains(e.Path, "later"):
			t.Errorf("written after the reconnect: %s %s %s", e.Text, e.Path, e.Result)
		}
	}
	if n.Controller().BrokerEpoch() != epoch || !n.Controller().IsActive() {
		t.Errorf("broker epoch %d, before %d; controller %v", n.Controller().BrokerEpoch(), epoch, n.Controller().IsActive())
	}
}

// Golden step 24: the controller itself stops; another takes over when the session ends.
func TestControllerStopsAndAnotherTakesOver(t *testing.T) {
	r := newRig(t)
	one := r.start("one", id(1))
	one.until(t, "elected", func(e journal.Event) bool { return e.Kind == journal.ControllerOn })
	two := r.start("two", id(2))
	one.Stop()
	eventually(t, "broker 2 is the controller", func() bool { return two.Controller().IsActive() })
	for _, e := range one.seen() {
		if e.Kind == journal.ZnodeWrite && e.Path == zkpaths.Controller && strings.HasPrefix(e.Text, "delete") {
			t.Errorf("a stopping controller leaves /controller to its session: %+v", e)
		}
	}
}

// Without a controller that answers, the stop goes on after the configured attempts.
func TestControlledShutdownGivesUp(t *testing.T) {
	r := newRig(t)
	props := id(1)
	props["controlled.shutdown.max.retries"] = "2"
	n := r.start("one", props)
	r.faults.Name(addrOf(n), "self")
	r.faults.Refuse("broker-one", "self")
	n.Stop()
	if r.exists(zkpaths.Broker(1)) {
		t.Error("still registered")
	}
	n.wasStopped(t)
}

// Without ZooKeeper a stop looks for the controller for one session timeout, not for the
// minutes that a controller might take to answer.
func TestStopWithoutZooKeeperEnds(t *testing.T) {
	r := newRigOn(t, zktest.Start(t))
	props := id(1)
	props["controlled.shutdown.retry.backoff.ms"] = "3600000" // a second attempt would hang the test
	n := r.start("one", props)
	r.server.Stop()
	n.until(t, "the connection is lost", func(e journal.Event) bool { return e.Kind == journal.SessionLost })
	n.Stop()
	n.wasStopped(t)
}

func (n *node) wasStopped(t *testing.T) {
	t.Helper()
	kinds := []journal.Kind{}
	for _, e := range n.seen() {
		if e.Kind == journal.BrokerStarted || e.Kind == journal.BrokerStopping {
			kinds = append(kinds, e.Kind)
		}
	}
	if !slices.Equal(kinds, []journal.Kind{journal.BrokerStarted, journal.BrokerStopping}) {
		t.Errorf("journal: %v", kinds)
	}
}
