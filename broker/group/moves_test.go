package group

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// The coordinator moves to another broker: a stable group goes on with its generation, its
// members and their parts, and no committed offset goes back.
func TestCoordinatorMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogs()
		b1, b2 := start(t, l), start(t, l)
		b1.lead(0)
		a, c := &person{name: "a"}, &person{name: "c"}
		b1.settled(a, c)
		b1.commit(a.caller(), 42).answer()
		b1.follow(0)
		if code := b1.beat(a); code != kafkaerr.NotCoordinator {
			t.Errorf("the old coordinator says %s", code.Name())
		}
		b2.lead(0)
		if code := b2.beat(a); code != kafkaerr.None {
			t.Errorf("the new coordinator says %s", code.Name())
		}
		if got := b2.fetched("g"); got != 42 {
			t.Errorf("offset %d", got)
		}
		b2.is(Stable, 2)
		if got := b2.sync(c, nil).answer(); string(got.Assignment) != "part of c" {
			t.Errorf("c has %q", got.Assignment)
		}
		pass(11 * time.Second) // sessions run there, too
		b2.is(Empty, 0)
		b1.Stop()
		b2.Stop()
	})
}

// Whoever waits when the coordinator goes is told to look for the next one.
func TestUnloadAnswersEverybody(t *testing.T) {
	inBubble(t, func(b *bench) {
		a, c := &person{name: "a"}, &person{name: "c"}
		b.settled(a)
		waits := b.join(c)
		waits.mustWait()
		b.follow(0)
		if r := waits.answer(); r.Code != kafkaerr.NotCoordinator {
			t.Errorf("c is told %+v", r)
		}
		b.lead(0)
		b.is(Stable, 1)
		if r := b.join(c).answer(); r.Code != kafkaerr.UnknownMemberID { // it was never in the log
			t.Errorf("c is told %+v", r)
		}
		c.id = ""
		b.join(c)
		b.join(a).answer()
		s := b.sync(c, nil)
		s.mustWait()
		b.Stop()
		if r := s.answer(); r.Code != kafkaerr.NotCoordinator {
			t.Errorf("c is told %+v", r)
		}
	})
}

// While the log is read, requests are put off; the two that old clients do not expect to be
// have answers of their own.
func TestLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogs()
		b := start(t, l)
		b.lead(0)
		a := &person{name: "a"}
		b.settled(a)
		b.commit(a.caller(), 7).answer()
		b.follow(0)
		l.delay = time.Minute
		b.OnLeadershipChange(offsetsTopic(0), nil)
		if _, code := b.FetchOffsets("g", false, nil); code != kafkaerr.CoordinatorLoadInProgress {
			t.Errorf("fetch: %s", code.Name())
		}
		if code := b.beat(a); code != kafkaerr.None {
			t.Errorf("heartbeat: %s", code.Name())
		}
		if r := b.sync(a, nil).answer(); r.Code != kafkaerr.RebalanceInProgress {
			t.Errorf("sync: %s", r.Code.Name())
		}
		if r := b.join(a).answer(); r.Code != kafkaerr.CoordinatorLoadInProgress {
			t.Errorf("join: %s", r.Code.Name())
		}
		if _, code := b.List(nil); code != kafkaerr.CoordinatorLoadInProgress {
			t.Errorf("list: %s", code.Name())
		}
		pass(3 * time.Minute)
		if got := b.fetched("g"); got != 7 {
			t.Errorf("loaded offset %d", got)
		}
		b.Stop()
	})
}

// Leadership that comes, goes and comes again while a log is read: the last word counts,
// and no group is there twice or left behind.
func TestLeadershipFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogs()
		b := start(t, l)
		b.lead(0)
		a := &person{name: "a"}
		b.settled(a)
		l.delay = time.Second
		for range 3 {
			b.OnLeadershipChange(nil, offsetsTopic(0))
			b.OnLeadershipChange(offsetsTopic(0), nil)
		}
		b.OnLeadershipChange(nil, offsetsTopic(0))
		pass(time.Minute)
		if code := b.beat(a); code != kafkaerr.NotCoordinator || len(b.all()) != 0 {
			t.Errorf("%s, %d groups", code.Name(), len(b.all()))
		}
		b.OnLeadershipChange(offsetsTopic(0), nil)
		b.OnLeadershipChange(offsetsTopic(0), nil) // a new epoch under the same leader: nothing to do
		pass(3 * time.Second)
		if code := b.beat(a); code != kafkaerr.None {
			t.Errorf("%s", code.Name())
		}
		b.Stop()
	})
}

// A former coordinator writes nothing any more, even what it had decided to write.
func TestNothingIsWrittenAfterUnloading(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := &person{name: "a"}
		b.settled(a)
		g := b.lookup("g")
		before := b.logs.written(t, 0)
		b.follow(0)
		got := kafkaerr.None
		g.act(func() {
			g.store(g.stored(func(m *member) []byte { return nil }).encode(), func(code kafkaerr.Code) { got = code })
		})
		if after := b.logs.written(t, 0); !slices.Equal(before, after) || got != kafkaerr.NotCoordinator {
			t.Errorf("it wrote %q and was told %s", after[len(before):], got.Name())
		}
	})
}

// Only the partitions that moved are touched.
func TestOtherPartitionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newLogs(), func(c *Config) { c.Partitions = 2 })
		b.lead(0, 1)
		names := map[int32]string{}
		for _, n := range []string{"g1", "g2", "g3", "g4"} {
			names[b.PartitionFor(n)] = n
		}
		if len(names) != 2 {
			t.Fatal("the names are all of one partition")
		}
		for _, n := range names {
			b.commit(Caller{Group: n, Generation: -1}, 1).answer()
		}
		b.OnLeadershipChange([]topic.Partition{{Topic: "orders"}}, append(offsetsTopic(1), topic.Partition{Topic: "orders", Partition: 1}))
		synctest.Wait()
		if got := b.fetched(names[0]); got != 1 {
			t.Errorf("the group of the other partition has %d", got)
		}
		if _, code := b.FetchOffsets(names[1], false, nil); code != kafkaerr.NotCoordinator {
			t.Errorf("%s", code.Name())
		}
		b.Stop()
	})
}

// A log larger than the buffer is read in pieces, and what cannot be read is passed over.
func TestLoadInPieces(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := offsetsTopic(0)[0]
		for i := range 50 {
			b.commit(Caller{Group: string(rune('A' + i)), Generation: -1}, int64(i)).answer()
			strange := b.batch([]entry{{key: []byte{0, 9, 9}, value: []byte("?")}}, plainSequence)
			b.logs.AppendFromCoordinator(0, 0, map[topic.Partition][]byte{p: strange}, func(map[topic.Partition]replica.ProduceResult) {})
		}
		b.follow(0)
		b.lead(0)
		for i := range 50 {
			if got := b.fetched(string(rune('A' + i))); got != int64(i) {
				t.Fatalf("group %d has %d", i, got)
			}
		}
	}, func(c *Config) { c.LoadBufferSize = 300 })
}

// A bug in an answer must not make the group mute, nor hold its lock.
func TestPanicInAnAnswer(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := &person{name: "a"}
		b.settled(a)
		g := b.lookup("g")
		for _, bug := range []func(){
			func() { g.act(func() { panic("in the change") }) },
			func() { g.act(func() { g.later(func() { panic("in the answer") }) }) },
		} {
			func() {
				defer func() { _ = recover() }()
				bug()
			}()
			if code := b.beat(a); code != kafkaerr.None {
				t.Errorf("%s", code.Name())
			}
			if got := b.commit(a.caller(), 1).answer()[t0]; got != kafkaerr.None {
				t.Errorf("%s", got.Name())
			}
		}
	})
}
