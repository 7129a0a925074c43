package group

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
)

// Three members start within the initial delay: one generation; each gets its part, the
// leader alone is told who is here.
func TestThreeMembersJoinInOneGeneration(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c, d := &person{name: "a"}, &person{name: "c"}, &person{name: "d"}
		start := time.Now()
		first := b.join(a)
		pass(2 * time.Second)
		second := b.join(c) // the delay is extended
		pass(2 * time.Second)
		third := b.join(d)
		first.mustWait()
		b.is(PreparingRebalance, 3)
		pass(6 * time.Second)
		r := first.answer()
		if got := time.Since(start); got < 6*time.Second || got > 12*time.Second {
			t.Errorf("after %v", got)
		}
		if r.Generation != 1 || r.Leader != a.id || len(r.Members) != 3 || *r.Protocol != "range" {
			t.Errorf("the leader was told %+v", r)
		}
		for _, r := range []JoinResult{second.answer(), third.answer()} {
			if r.Generation != 1 || r.Leader != a.id || len(r.Members) != 0 {
				t.Errorf("a follower was told %+v", r)
			}
		}
		s := b.sync(c, nil)
		s.mustWait() // for the leader
		parts := map[string][]byte{a.id: []byte("1"), c.id: []byte("2"), d.id: []byte("3")}
		b.logs.hold = true
		leader := b.sync(a, parts)
		leader.mustWait() // for the replicas
		b.is(CompletingRebalance, 3)
		b.logs.replicate()
		if got := s.answer(); string(got.Assignment) != "2" || got.Code != kafkaerr.None {
			t.Errorf("c got %+v", got)
		}
		if got := b.sync(d, nil).answer(); string(got.Assignment) != "3" { // comes late
			t.Errorf("d got %+v", got)
		}
		b.is(Stable, 3)
		if got := b.logs.written(t, 0); !slices.Equal(got, []string{"group g: generation 1, 3 members"}) {
			t.Errorf("written: %q", got)
		}
	})
}

// A newcomer sends the others back to JoinGroup; who does not come in time is out.
func TestRebalanceDropsWhoDoesNotRejoin(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c, d := &person{name: "a"}, &person{name: "c"}, &person{name: "d"}
		b.settled(a, c)
		newcomer := b.join(d)
		if code := b.beat(a); code != kafkaerr.RebalanceInProgress {
			t.Errorf("a is told %s", code.Name())
		}
		rejoined := b.join(c)
		b.keepAlive(59*time.Second, a) // it lives, but does not join
		newcomer.mustWait()
		pass(2 * time.Second)
		if r := rejoined.answer(); r.Generation != 2 || r.Leader != c.id || len(r.Members) != 2 {
			t.Errorf("c was told %+v: it should lead now", r)
		}
		if r := newcomer.answer(); r.Generation != 2 {
			t.Errorf("d was told %+v", r)
		}
		if code := b.beat(a); code != kafkaerr.UnknownMemberID {
			t.Errorf("a is told %s", code.Name())
		}
	})
}

// All rejoin: nobody waits for a timeout.
func TestRebalanceEndsWhenAllAreHere(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.settled(a)
		newcomer := b.join(c)
		newcomer.mustWait()
		before := time.Now()
		again := b.join(a)
		if r := again.answer(); r.Generation != 2 || time.Since(before) != 0 {
			t.Errorf("%+v after %v", r, time.Since(before))
		}
		newcomer.answer()
	})
}

func TestSilentMemberIsRemoved(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.settled(a, c)
		b.keepAlive(11*time.Second, a)
		b.is(PreparingRebalance, 1)
		if r := b.join(a).answer(); r.Generation != 2 || len(r.Members) != 1 {
			t.Errorf("%+v", r)
		}
		b.sync(a, nil)
		pass(11 * time.Second)
		b.is(Empty, 0)
	})
}

// Who joined and never asks for its assignment would be waited for in every rebalance.
func TestMemberWithoutSyncIsRemoved(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.join(a)
		b.join(c)
		pass(7 * time.Second)
		b.sync(a, nil).answer()
		b.is(Stable, 2)
		b.keepAlive(61*time.Second, a, c)
		b.is(PreparingRebalance, 1)
	})
}

// A leader that is gone while it computes: the rebalance begins anew, nobody hangs.
func TestLeaderDiesBeforeItsAssignment(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.join(a)
		b.join(c)
		pass(7 * time.Second)
		s := b.sync(c, nil)
		s.mustWait()
		pass(11 * time.Second)
		if r := s.answer(); r.Code != kafkaerr.RebalanceInProgress {
			t.Errorf("c is told %s", r.Code.Name())
		}
		if r := b.join(c).answer(); r.Generation != 2 || r.Leader != c.id {
			t.Errorf("c was told %+v", r)
		}
	})
}

// An assignment that cannot be written is handed to nobody.
func TestAssignmentThatCannotBeWritten(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := &person{name: "a"}
		b.join(a)
		pass(4 * time.Second)
		b.logs.code = kafkaerr.NotEnoughReplicas
		if r := b.sync(a, map[string][]byte{a.id: []byte("1")}).answer(); r.Code != kafkaerr.CoordinatorNotAvailable || r.Assignment != nil {
			t.Errorf("a got %+v", r)
		}
		b.is(PreparingRebalance, 1)
	})
}

func TestMemberIDRequired(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := &call[JoinResult]{t: t}
		r := JoinRequest{Group: "g", ClientID: "c", RequireKnownID: true, RebalanceTimeoutMs: 60000, SessionTimeoutMs: 10000, ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}}}
		b.Join(r, c.respond)
		r.MemberID = c.answer().MemberID
		if c.result.Code != kafkaerr.MemberIDRequired || r.MemberID == "" {
			t.Fatalf("%+v", c.result)
		}
		c2 := &call[JoinResult]{t: t}
		b.Join(r, c2.respond)
		pass(4 * time.Second)
		if got := c2.answer(); got.Code != kafkaerr.None || got.MemberID != r.MemberID {
			t.Errorf("%+v", got)
		}
		// Another id that was given out holds the next rebalance up, as long as a session.
		r.MemberID = ""
		b.Join(r, (&call[JoinResult]{t: t}).respond)
		p := &person{id: c2.result.MemberID}
		again := b.join(p)
		again.mustWait()
		pass(10*time.Second + time.Millisecond)
		if got := again.answer(); got.Generation != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// group.max.size: the last to come is left out; a group loaded too large shrinks.
func TestMaxSize(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c, d := &person{name: "a"}, &person{name: "c"}, &person{name: "d"}
		b.settled(a, c)
		if r := b.join(d).answer(); r.Code != kafkaerr.GroupMaxSizeReached {
			t.Errorf("d is told %+v", r)
		}
		b.follow(0)
		b.cfg.MaxSize = 1
		b.lead(0)
		b.is(PreparingRebalance, 2)
		first := b.join(c)
		if r := b.join(a).answer(); r.Code != kafkaerr.GroupMaxSizeReached {
			t.Errorf("a is told %+v", r)
		}
		if r := first.answer(); r.Code != kafkaerr.None || r.Generation != 2 {
			t.Errorf("c is told %+v", r)
		}
	}, func(c *Config) { c.MaxSize = 2 })
}

// Leaving needs no timeout, and answers each.
func TestLeave(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.settled(a, c)
		code, codes := b.Leave("g", []Leaving{{MemberID: a.id}, {MemberID: "stranger"}})
		if code != kafkaerr.None || !slices.Equal(codes, []kafkaerr.Code{kafkaerr.None, kafkaerr.UnknownMemberID}) {
			t.Errorf("%v %v", code, codes)
		}
		b.is(PreparingRebalance, 1)
		if _, codes := b.Leave("g", []Leaving{{MemberID: c.id}}); codes[0] != kafkaerr.None {
			t.Errorf("%v", codes)
		}
		b.is(Empty, 0)
		if got := b.logs.written(t, 0); !slices.Equal(got, []string{"group g: generation 1, 2 members", "group g: generation 2, 0 members"}) {
			t.Errorf("written: %q", got)
		}
	})
}

// A client that sends JoinGroup or SyncGroup anew, because it has given up on the first:
// both are answered.
func TestRepeatedRequestsAreAllAnswered(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.settled(a, c)
		one := b.join(a)
		one.mustWait()
		two := b.join(a)
		if r := one.answer(); r.Code != kafkaerr.RebalanceInProgress {
			t.Errorf("the first is told %+v", r)
		}
		b.join(c)
		if r := two.answer(); r.Code != kafkaerr.None {
			t.Errorf("the second is told %+v", r)
		}
		s1, s2 := b.sync(c, nil), b.sync(c, nil)
		if r := s1.answer(); r.Code != kafkaerr.RebalanceInProgress {
			t.Errorf("the first is told %+v", r)
		}
		b.sync(a, nil)
		if r := s2.answer(); r.Code != kafkaerr.None {
			t.Errorf("the second is told %+v", r)
		}
		synctest.Wait()
	})
}
