package replica

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// A follower's session of three partitions, all read to the end and told: its next fetch
// visits nothing but what changed.
func TestAFetchVisitsWhatChanged(t *testing.T) {
	const follower = int32(2)
	terms := FetchParams{ReplicaID: follower, MinBytes: 1, MaxBytes: 1 << 20}
	for _, row := range []struct {
		name   string
		change func(*broker1)
		named  []FetchPartition // in the fetch
		want   []int32
	}{
		{"nothing", func(*broker1) {}, nil, nil},
		{"an append", func(b *broker1) { b.produce(tp(1), 1, 0, 1) }, nil, []int32{1}},
		{"the high watermark", func(b *broker1) { b.fetchNow(3, tp(1), 3) }, nil, []int32{1}},
		{"the log start", func(b *broker1) {
			b.fetchNow(3, tp(2), 3)
			visitAndAnswer(b, terms)
			log, _ := b.logs.Get(tp(2))
			if err := log.MaybeIncrementStartOffset(2); err != nil {
				b.t.Fatal(err)
			}
		}, nil, []int32{2}},
		{"the leader epoch", func(b *broker1) { b.lead(tp(0), 1, 2, 3) }, nil, []int32{0}},
		{"the leader", func(b *broker1) { b.follow(tp(0), 3) }, nil, []int32{0}},
		{"the replica is deleted", func(b *broker1) {
			b.m.StopReplicas(1, 1, map[topic.Partition]StopState{tp(2): {LeaderEpoch: deletedEpoch, Delete: true}})
		}, nil, []int32{2}},
		{"the topic is deleted, says the metadata", func(b *broker1) {
			b.m.UpdateMetadata(metadata.Update{ControllerID: 1, ControllerEpoch: 1, Partitions: map[topic.Partition]metadata.PartitionState{
				tp(1): {Leader: metadata.LeaderDuringDelete},
			}})
		}, nil, []int32{1}},
		{"the settings", func(b *broker1) { b.m.UpdateTopicConfig("orders", b.config) }, nil, []int32{0, 1, 2}},
		{"named", func(*broker1) {}, asks(3, 1), []int32{1}},
		{"the ISR changes without the follower: every fetch may be the one to join with", func(b *broker1) {
			b.zk.mu.Lock()
			b.zk.away = make(chan struct{}) // ended by stop: until then no join is confirmed
			b.zk.mu.Unlock()
			b.lead(tp(0), 1)
			b.fetchNow(3, tp(0), 3) // 3 is about to join, so 2 cannot
			for range 3 {
				visitAndAnswer(b, terms)
			}
		}, nil, []int32{0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker1(t)
			defer b.stop()
			for n := range int32(3) {
				b.lead(tp(n), 1, 2, 3)
				b.produce(tp(n), 1, 0, 3)
			}
			openSession(b, terms, asks(3, 0, 1, 2))
			for range 2 {
				visitAndAnswer(b, terms)
			}
			row.change(b)
			x := b.session.context(row.named)
			if got := numbers(x.Partitions()); !slices.Equal(sorted(got), row.want) {
				t.Errorf("%s: visits %v, want %v", row.name, got, row.want)
			}
		})
	}
}

// A session that goes on as another reader says nothing about what that one may see.
func TestASessionThatChangesItsReaderLooksAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.produce(tp(0), 1, 0, 3)
		consumer := FetchParams{ReplicaID: -1, MinBytes: 1, MaxBytes: 1 << 20}
		openSession(b, consumer, asks(0, 0))
		for range 2 {
			if rs := visitAndAnswer(b, consumer); len(rs) != 0 {
				t.Fatalf("above the high watermark a consumer sees nothing: %v", rs)
			}
		}
		rs := visitAndAnswer(b, FetchParams{ReplicaID: debugReplica, MinBytes: 1, MaxBytes: 1 << 20})
		if len(rs) != 0 { // the debugging client sees as far as a consumer
			t.Fatalf("%v", rs)
		}
		if rs = visitAndAnswer(b, FetchParams{ReplicaID: 2, MinBytes: 1, MaxBytes: 1 << 20}); len(rs) != 1 {
			t.Fatalf("a follower sees to the log end: %v", rs)
		}
	})
}

// A quiet partition's follower counts as caught up as of its session's latest fetch, also
// after hours without a record.
func TestQuietFollowersHaveCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.produce(tp(0), 1, 0, 3)
		terms := FetchParams{ReplicaID: 2, MinBytes: 1, MaxBytes: 1 << 20}
		openSession(b, terms, asks(3, 0))
		for range 100 {
			time.Sleep(lagMax / 2)
			visitAndAnswer(b, terms)
		}
		fetched := time.Now()
		time.Sleep(time.Second)
		b.produce(tp(0), 1, 0, 1)
		p, _ := b.m.hosted(tp(0))
		f := p.remotes[0].load()
		if f.id != 2 || !f.caughtUp.Equal(fetched) || !f.lastFetch.Equal(fetched) || f.lastFetchEnd != 3 {
			t.Errorf("%+v, the latest fetch was at %v", f, fetched)
		}
	})
}

// What a session's fetches said of quiet partitions stays said when the session ends,
// however it ends.
func TestAnEndedSessionLeavesItsFollowersCaughtUp(t *testing.T) {
	terms := FetchParams{ReplicaID: 2, MinBytes: 1, MaxBytes: 1 << 20}
	for _, row := range []struct {
		how string
		end func(s *modelSession)
	}{
		{"the follower begins anew", func(s *modelSession) { s.cache.NewContext(s.id, InitialFetchEpoch, nil, nil, true) }},
		{"the follower wants none any more", func(s *modelSession) { s.cache.NewContext(s.id, FinalFetchEpoch, nil, nil, true) }},
		{"the last partition is forgotten", func(s *modelSession) {
			s.cache.NewContext(s.id, s.epoch, nil, []topic.Partition{tp(0)}, true)
		}},
		{"another takes its place", func(s *modelSession) {
			s.cache.slots = 1
			time.Sleep(2 * time.Minute)
			s.cache.create(nil, nil, true)
		}},
	} {
		t.Run(row.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker1(t)
				defer b.stop()
				b.lead(tp(0), 1, 2)
				b.produce(tp(0), 1, 0, 3)
				openSession(b, terms, asks(3, 0))
				for range 3 {
					time.Sleep(lagMax)
					visitAndAnswer(b, terms)
				}
				fetched := time.Now()
				row.end(b.session)
				p, _ := b.m.hosted(tp(0))
				if f := p.remotes[0].load(); !f.caughtUp.Equal(fetched) {
					t.Errorf("caught up at %v, its latest fetch was at %v", f.caughtUp, fetched)
				}
			})
		})
	}
}

// modelSession is a client's view of one session.
type modelSession struct {
	cache     *FetchSessionCache
	id, epoch int32
	follower  bool
}

func (s *modelSession) context(named []FetchPartition) *FetchContext {
	x := s.cache.NewContext(s.id, s.epoch, named, nil, s.follower)
	s.epoch = NextFetchEpoch(s.epoch)
	return x
}

func openSession(b *broker1, p FetchParams, parts []FetchPartition) {
	b.t.Helper()
	b.session = &modelSession{cache: NewFetchSessionCache(10, time.Minute), follower: p.ReplicaID >= 0}
	x := b.session.context(parts)
	b.m.FetchIn(x, p, func(rs []FetchResult) { b.session.id, _, rs = x.Finish(rs); releaseAll(rs) })
}

// visitAndAnswer is a fetch of the session that names nothing and does not wait.
func visitAndAnswer(b *broker1, p FetchParams) (answer []FetchResult) {
	b.t.Helper()
	x := b.session.context(nil)
	if x.Code() != kafkaerr.None {
		b.t.Fatal(x.Code())
	}
	b.m.FetchIn(x, p, func(rs []FetchResult) { _, _, answer = x.Finish(rs) })
	releaseAll(answer)
	return answer
}

func sorted(ns []int32) []int32 {
	slices.Sort(ns)
	return ns
}
