package group

import (
	"fmt"

	"math/rand/v2"
	"os"

	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// life is one random story: people join, sync, beat, commit, fall silent, leave; appends
// fail or wait; the coordinator moves. What must hold is checked on the way and in the end.
type life struct {
	*bench
	rnd       *rand.Rand
	people    []*person
	open      []interface{ isDone() bool }
	committed map[string]int64 // acknowledged: must never go back
	asked     map[string]int64 // the highest ever asked for
}

func (c *call[R]) isDone() bool { seen.Lock(); defer seen.Unlock(); return c.done }

// Many short lives. KZ_SEEDS=n runs one of them.
func TestRandomLives(t *testing.T) {
	var seeds []uint64
	for s := range uint64(150) {
		seeds = append(seeds, s)
	}
	if one, err := strconv.ParseUint(os.Getenv("KZ_SEEDS"), 10, 64); err == nil {
		seeds = []uint64{one}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { runLife(t, seed) }) })
	}
}

func runLife(t *testing.T, seed uint64) {
	l := &life{rnd: rand.New(rand.NewPCG(seed, 1)), committed: map[string]int64{}, asked: map[string]int64{}}
	l.bench = start(t, newLogs(), func(c *Config) {
		c.MaxSize = 1 + int(seed%6)
		c.InitialRebalanceDelay = time.Duration(seed%3) * time.Second
	})
	l.lead(0)
	for i := range 5 {
		p := &person{name: fmt.Sprint("p", i), careful: l.rnd.IntN(2) == 0, protocols: []string{"range", "range sticky", "sticky range"}[l.rnd.IntN(3)]}
		if i%2 == 0 {
			p.instance = instance(p.name)
		}
		l.people = append(l.people, p)
	}
	for range 80 {
		l.step()
		synctest.Wait()
		l.check()
	}
	// Everybody falls silent, and nothing fails any more: every request is answered, every
	// group runs empty, no offset is lost.
	l.logs.mu.Lock()
	l.logs.code = kafkaerr.None
	l.logs.mu.Unlock()
	l.logs.replicate()
	l.lead(0)
	pass(20 * time.Minute)
	l.check()
	for i, c := range l.open {
		if !c.isDone() {
			t.Errorf("request %d was never answered", i)
		}
	}
	for _, g := range l.all() {
		if g.state != Empty {
			t.Errorf("group %s is %v after twenty minutes of silence", g.id, g.state)
		}
	}
	l.follow(0)
	l.lead(0)
	l.check()
	l.Stop()
}

func (l *life) step() {
	p := l.people[l.rnd.IntN(len(l.people))]
	switch l.rnd.IntN(12) {
	case 0, 1, 2:
		c := l.join(p)
		l.open = append(l.open, c)
		synctest.Wait()
		if c.isDone() && c.result.Code == kafkaerr.UnknownMemberID || c.isDone() && c.result.Code == kafkaerr.FencedInstanceID {
			p.id = ""
		}
	case 3, 4:
		parts := map[string][]byte{}
		for _, p := range l.people {
			parts[p.caller().MemberID] = []byte(p.name)
		}
		l.open = append(l.open, l.sync(p, parts))
	case 5:
		l.beat(p)
	case 6:
		l.commitOne(p.caller())
	case 7:
		l.commitOne(anybody("simple"))
	case 8:
		pass(time.Duration(l.rnd.IntN(8000)) * time.Millisecond)
		if l.rnd.IntN(3) == 0 { // long enough for what heartbeats do not hold up
			l.keepAlive(70*time.Second, l.people...)
		}
	case 9:
		l.Leave("g", []Leaving{{MemberID: p.caller().MemberID}})
	case 10:
		l.follow(0)
		if l.rnd.IntN(3) > 0 {
			l.lead(0)
		}
	case 11:
		l.lead(0)
		l.trouble()
	}
}

// trouble makes appends fail, wait, or go well again.
func (l *life) trouble() {
	l.logs.mu.Lock()
	l.logs.code = []kafkaerr.Code{kafkaerr.None, kafkaerr.None, kafkaerr.NotEnoughReplicas, kafkaerr.RequestTimedOut}[l.rnd.IntN(4)]
	hold := l.rnd.IntN(3) == 0
	l.logs.mu.Unlock()
	l.logs.replicate()
	l.logs.mu.Lock()
	l.logs.hold = hold
	l.logs.mu.Unlock()
}

// commitOne commits the next number, and remembers it when it is acknowledged.
func (l *life) commitOne(who Caller) {
	l.asked[who.Group]++
	offset := l.asked[who.Group]
	c := &call[map[topic.Partition]kafkaerr.Code]{t: l.t}
	l.open = append(l.open, c)
	l.CommitOffsets(Commit{Caller: who, Offsets: map[topic.Partition]OffsetAndMetadata{t0: {Offset: offset, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: -1}}},
		func(codes map[topic.Partition]kafkaerr.Code) {
			c.respond(codes)
			seen.Lock()
			defer seen.Unlock()
			if codes[t0] == kafkaerr.None {
				l.committed[who.Group] = max(l.committed[who.Group], offset)
			}
		})
}

// check looks at every group's invariants, and that no acknowledged offset went back.
func (l *life) check() {
	l.t.Helper()
	for _, g := range l.all() {
		g.mu.Lock()
		if m := g.members[g.leader]; (m == nil) != (len(g.order) == 0) || len(g.members) != len(g.order) {
			l.t.Errorf("%s: %d members, %d in order, the leader is %q", g.id, len(g.members), len(g.order), g.leader)
		}
		for instance, id := range g.static {
			if m := g.members[id]; m == nil || *m.instanceID != instance {
				l.t.Errorf("%s: instance %s is nobody", g.id, instance)
			}
		}
		for id := range g.unsynced {
			if !g.has(id) {
				l.t.Errorf("%s: waits for the SyncGroup of %s, who is no member", g.id, id)
			}
		}
		for _, m := range g.order {
			if m.onSync != nil && !g.is(CompletingRebalance) {
				l.t.Errorf("%s is %v, and %s waits for an assignment", g.id, g.state, m.id)
			}
			if m.onJoin == nil && m.onSync == nil && m.session.task == nil {
				l.t.Errorf("%s: nothing would notice that %s is gone", g.id, m.id)
			}
		}
		if len(g.outbox) > 0 || g.delivering {
			l.t.Errorf("%s: something was not delivered", g.id)
		}
		g.mu.Unlock()
	}
	for id, want := range l.committed {
		found, code := l.FetchOffsets(id, false, []topic.Partition{t0})
		if code == kafkaerr.None && found[t0].Offset < want {
			l.t.Errorf("%s: %d was acknowledged, %d is fetched", id, want, found[t0].Offset)
		}
	}
}
