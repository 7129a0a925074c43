package mixedtest_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
)

const loadPartitions = 6

// startLoad begins to produce with acks=all to partitions that brokers of both kinds lead.
func (x *cell) startLoad() {
	x.Helper()
	x.random = clustertest.Seeded(x.T)
	x.create("orders", loadPartitions, 3, "min.insync.replicas", "2", "segment.bytes", "262144")
	x.load = clustertest.StartWorkload(x.T, x.c.Seeds(), "orders", loadPartitions, 5, 100, kgo.AllISRAcks())
	x.load.AwaitEveryPartition(x.T, 60*time.Second)
}

// A role is what the victim of a kill was to the cluster.
type role string

const (
	aLeader       role = "leader"
	aFollower     role = "follower"
	theController role = "the controller"
)

// blows is whom the rounds kill, over and over: each role, of the kind that does not control and of the
// one that does. The first three are the short form; over both constant cells they meet each role of each
// kind.
var blows = []struct {
	role     role
	controls bool // the victim is of the controller's kind
}{
	{aLeader, false}, {aFollower, false}, {theController, true},
	{aLeader, true}, {aFollower, true}, {theController, true},
}

// underLoad stops, kills and freezes brokers of either kind. afterwards puts the controller back where
// the cell wants it.
func (x *cell) underLoad(afterwards func()) {
	x.Helper()
	x.eachKind(x.controlledShutdown)
	afterwards()
	for round := range clustertest.Rounds(x.T, 3) {
		blow := blows[round%len(blows)]
		kind := x.seats[1]
		if !blow.controls {
			kind = other(kind)
		}
		x.kill(x.victim(blow.role, kind))
		afterwards()
	}
	x.eachKind(x.frozenBeyondItsSession)
	afterwards()
}

// eachKind does something to a broker of each kind.
func (x *cell) eachKind(act func(*clustertest.Node)) {
	x.Helper()
	for _, k := range []clustertest.Kind{clustertest.KZ, clustertest.Kafka} {
		act(x.aNodeOf(k))
	}
}

func other(k clustertest.Kind) clustertest.Kind {
	if k == clustertest.KZ {
		return clustertest.Kafka
	}
	return clustertest.KZ
}

// victim is a broker of this kind in this role; a controller is of whatever kind controls. Where several
// are, chance decides.
func (x *cell) victim(r role, kind clustertest.Kind) (*clustertest.Node, string) {
	x.Helper()
	if r == theController {
		return x.c.Nodes[x.c.Controller(60*time.Second)], string(r)
	}
	for _, p := range x.random.Perm(loadPartitions) {
		leader := clustertest.Leader(x.T, x.cl, "orders", int32(p))
		for _, n := range shuffled(x.random, x.c.Sorted()) {
			if x.seats[n.ID] == kind && (n.ID == leader) == (r == aLeader) {
				return n, fmt.Sprintf("%s of orders-%d", r, p)
			}
		}
	}
	return x.aNodeOf(kind), fmt.Sprintf("no %s of this kind being there", r)
}

func shuffled(random *rand.Rand, nodes []*clustertest.Node) []*clustertest.Node {
	random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

// kill is one round: kill -9 at a random moment of the load, which must go on without the victim; then
// the victim comes back.
func (x *cell) kill(victim *clustertest.Node, was string) {
	x.Helper()
	x.load.AwaitAcks(x.T, 1+x.random.Int64N(1500), 60*time.Second)
	x.kills++
	x.Logf("kill %d: kill -9 of broker %d (%s), %s", x.kills, victim.ID, victim.Kind, was)
	victim.Kill()
	x.load.AwaitEveryPartition(x.T, 90*time.Second)
	victim.StartServing()
	x.settled()
	x.leadersBack()
}

// leadersBack gives each partition of the load to its first replica, so that every broker leads again.
func (x *cell) leadersBack() {
	x.Helper()
	var all []int32
	for p := range int32(loadPartitions) {
		all = append(all, p)
	}
	x.byZnode("orders", all...)
}

// killController kills the controller with -9 under load, so that broker to is elected.
func (x *cell) killController(to int32) {
	x.Helper()
	x.load.AwaitAcks(x.T, 1+x.random.Int64N(1500), 60*time.Second)
	old := x.c.Nodes[x.c.Controller(60*time.Second)]
	x.kills++
	x.Logf("kill %d: kill -9 of controller %d (%s), %d (%s) shall follow", x.kills, old.ID, old.Kind, to, x.c.Nodes[to].Kind)
	x.electWhile(to, func() {
		old.Kill()
		x.vacate()
	})
	x.load.AwaitEveryPartition(x.T, 90*time.Second)
	old.StartServing()
	x.settled()
	x.leadersBack()
}
