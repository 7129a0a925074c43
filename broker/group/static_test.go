package group

import (
	"testing"
	"time"

	"kz/internal/kafkaerr"
)

func instance(name string) *string { return &name }

// A static member is restarted: nobody rebalances, and its former life is fenced.
func TestStaticMemberComesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a", instance: instance("ia")}, &person{name: "c", instance: instance("ic")}
		b.settled(a, c)
		old := *a
		a.id = ""
		r := b.join(a).answer()
		if r.Code != kafkaerr.None || r.Generation != 1 || r.Leader != old.id || r.MemberID == old.id || len(r.Members) != 0 {
			t.Errorf("told %+v: the old generation, and the old leader, which it is not any more", r)
		}
		b.is(Stable, 2)
		if got := b.sync(a, nil).answer(); string(got.Assignment) != "part of a" {
			t.Errorf("its part is %q", got.Assignment)
		}
		if code := b.beat(&old); code != kafkaerr.FencedInstanceID {
			t.Errorf("its former life is told %s", code.Name())
		}
		if code := b.beat(c); code != kafkaerr.None {
			t.Errorf("the other is told %s", code.Name())
		}
		if r := b.join(&old).answer(); r.Code != kafkaerr.FencedInstanceID {
			t.Errorf("its former life is told %+v", r)
		}
		b.follow(0)
		b.lead(0) // the new id is in the log
		if code := b.beat(a); code != kafkaerr.None {
			t.Errorf("after the coordinator moved: %s", code.Name())
		}
	})
}

// While the new id could not be written, the old one stays.
func TestStaticMemberComesBackAndIsNotWritten(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a", instance: instance("ia")}, &person{name: "c", instance: instance("ic")}
		b.settled(a, c)
		old := *a
		a.id = ""
		b.logs.code = kafkaerr.NotEnoughReplicas
		if r := b.join(a).answer(); r.Code != kafkaerr.CoordinatorNotAvailable {
			t.Errorf("told %+v", r)
		}
		if code := b.beat(&old); code != kafkaerr.None {
			t.Errorf("its former life is told %s", code.Name())
		}
	})
}

// In the middle of a rebalance the leader may be assigning to the old id: begin anew.
func TestStaticMemberComesBackDuringARebalance(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c", instance: instance("ic")}
		b.join(a)
		b.join(c)
		pass(7 * time.Second)
		b.is(CompletingRebalance, 2)
		waits := b.sync(c, nil)
		waits.mustWait()
		c2 := &person{name: "c", instance: instance("ic")}
		again := b.join(c2)
		if r := waits.answer(); r.Code != kafkaerr.FencedInstanceID {
			t.Errorf("the former life is told %+v", r)
		}
		b.is(PreparingRebalance, 2)
		b.join(a)
		if r := again.answer(); r.Generation != 2 || r.MemberID == c.id {
			t.Errorf("told %+v", r)
		}
	})
}

// A static member that does not rejoin stays until its session ends, even if it is all
// that is left.
func TestStaticMemberIsWaitedFor(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c", instance: instance("ic")}
		b.settled(a, c)
		r := b.join(a)
		b.keepAlive(61*time.Second, c)
		if got := r.answer(); len(got.Members) != 2 {
			t.Errorf("a is told %+v", got)
		}
		b.keepAlive(9*time.Second, a, c)
		b.sync(a, nil)
		pass(21 * time.Second)
		b.is(Empty, 0)
	})
}

// An administrator removes it by its instance id.
func TestStaticMemberIsRemovedFromOutside(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := &person{name: "c", instance: instance("ic")}
		b.settled(c)
		_, codes := b.Leave("g", []Leaving{{MemberID: "not it", InstanceID: instance("ic")}, {InstanceID: instance("nobody")}, {InstanceID: instance("ic")}})
		for i, want := range []kafkaerr.Code{kafkaerr.FencedInstanceID, kafkaerr.UnknownMemberID, kafkaerr.None} {
			if codes[i] != want {
				t.Errorf("%d: %s, want %s", i, codes[i].Name(), want.Name())
			}
		}
		b.is(Empty, 0)
	})
}
