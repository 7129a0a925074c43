package clustertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"kz/internal/journal"
)

// A Schedule is what will be done to a cluster of three brokers, and how that cluster is made. It is a
// function of its seed alone: the same seed is the same schedule.
type Schedule struct {
	Seed       uint64
	Partitions int32
	MinISR     int           // min.insync.replicas
	Retries    bool          // without, the producer sends each record once: none may be there twice
	Single     bool          // one record in a batch
	Latency    time.Duration // of each direction between two brokers
	Segment    int           // log.segment.bytes
	First      int32         // the broker that starts first, and so is the first controller
	Plot       string        // a story that comes before the acts; "": none
	Acts       []Act
}

// An Act is one thing that the nemesis does. Whom it hits is said by role, and found out when the time
// has come.
type Act struct {
	At     time.Duration // after the load, and the plot, if there is one
	What   string        // a name in deeds
	Who    Role
	With   Role           // the other end of a link
	For    time.Duration  // until it is undone
	Moment journal.Moment // of freeze and "kill at"
	API    int16          // of drop: the key
	Count  int            // of drop: how many
	Delay  time.Duration  // of delay
}

// A Role names a broker by what it is when it is looked for. Partition 0 is meant.
type Role string

const (
	TheLeader     Role = "leader"
	TheController Role = "controller"
	OneFollower   Role = "follower" // the first in the order of the assignment
	OtherFollower Role = "other follower"
)

var roles = []Role{TheLeader, TheController, OneFollower, OtherFollower}

// pausable are the moments at which a goroutine may stand still in virtual time: those that are reached
// with no lock held. Whoever waits for a mutex stops the clock for all.
var pausable = []journal.Moment{
	journal.MomentControllerElected, journal.MomentControllerZkWrite, journal.MomentControllerSend,
	journal.MomentLeaderAppend, journal.MomentLeaderHWAdvance, journal.MomentLeaderWriteISR,
	journal.MomentFollowerFetch, journal.MomentFollowerAppend, journal.MomentFollowerTruncated,
	journal.MomentSessionExpired,
}

// The APIs between brokers, by key.
var betweenBrokers = []int16{keyFetch, keyLeaderAndISR, keyStopReplica, keyUpdateMetadata, keyOffsetForLeaderEpoch}

const keyFetch, keyLeaderAndISR, keyStopReplica, keyUpdateMetadata, keyOffsetForLeaderEpoch int16 = 1, 4, 5, 6, 23

// NewSchedule draws the schedule of a seed. Every other seed has a plot, each plot in turn.
func NewSchedule(seed uint64) Schedule {
	r := rand.New(rand.NewPCG(seed, 2))
	s := Schedule{
		Seed: seed, Partitions: 1 + r.Int32N(2), MinISR: 1 + r.IntN(2), Retries: r.IntN(3) > 0,
		Latency: time.Duration(r.IntN(4)) * 2 * time.Millisecond, Segment: 4096 << r.IntN(6), First: 1 + r.Int32N(3),
	}
	if seed%2 == 0 {
		s.Plot = plots[seed/2%uint64(len(plots))].name
	}
	s.Single = r.IntN(2) == 0 || s.Plot == plotDeafFollower // its records meet at the bounds of batches
	at := time.Duration(0)
	for range 3 + r.IntN(6) {
		at += between(r, 100*time.Millisecond, 3*time.Second)
		s.Acts = append(s.Acts, drawAct(r, at))
	}
	return s
}

// WithoutReconnects leaves out the acts after which a broker comes back to ZooKeeper in the session it
// had. go-zookeeper has a data race there, in sendSetWatches, which is harmless to us (every watch is
// armed anew) and would be reported as ours.
func (s Schedule) WithoutReconnects() Schedule {
	s.Acts = slices.DeleteFunc(slices.Clone(s.Acts), func(a Act) bool {
		return a.What == "cut from zookeeper" || a.What == "isolate" || a.What == "stop zookeeper"
	})
	return s
}

func drawAct(r *rand.Rand, at time.Duration) Act {
	d := deeds[r.IntN(len(deeds))]
	a := Act{At: at, What: d.name, Who: pick(r, roles)}
	if d.lasts > 0 {
		a.For = between(r, 100*time.Millisecond, d.lasts)
	}
	if d.link {
		a.With = pick(r, roles)
	}
	switch d.name {
	case "freeze", "kill at":
		a.Moment = pick(r, pausable)
	case "drop request", "drop answer":
		a.API, a.Count = pick(r, betweenBrokers), 1+r.IntN(20)
	case "delay":
		a.Delay = between(r, 10*time.Millisecond, 3*time.Second)
	}
	return a
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// between is a duration in [least, most], in whole tens of milliseconds.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return (least + time.Duration(r.Int64N(int64(most-least)+1))).Truncate(10 * time.Millisecond)
}

func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d partitions, min.insync.replicas %d, retries %v, one record a batch %v, latency %v, segments of %d bytes, broker %d starts first\n",
		s.Seed, s.Partitions, s.MinISR, s.Retries, s.Single, s.Latency, s.Segment, s.First)
	if s.Plot != "" {
		fmt.Fprintf(&b, "  first: %s\n", s.Plot)
	}
	for _, a := range s.Acts {
		fmt.Fprintf(&b, "  %v\n", a)
	}
	return b.String()
}

func (a Act) String() string {
	s := fmt.Sprintf("%6v %s %s", a.At, a.What, a.Who)
	if a.With != "" {
		s += fmt.Sprintf(" - %s", a.With)
	}
	if a.Moment != "" {
		s += fmt.Sprintf(" %s", a.Moment)
	}
	if a.Count > 0 {
		s += fmt.Sprintf(" api %d x%d", a.API, a.Count)
	}
	if a.Delay > 0 {
		s += fmt.Sprintf(" by %v", a.Delay)
	}
	if a.For > 0 {
		s += fmt.Sprintf(" for %v", a.For)
	}
	return s
}
