//go:build unix

package consumer

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client/assignor"
	"kz/internal/clustertest"
)

// The coordinator is killed at random moments, in turn while its members commit and while one joins or
// leaves. Our members and one of franz-go's: nothing that was acknowledged or seen as committed goes
// back, the group finds its shares each time, everything is read.
func TestKillsOfTheCoordinator(t *testing.T) {
	few := 20
	if clustertest.RaceDetector {
		few = 4 // each takes ten times as long
	}
	rounds, random := clustertest.Rounds(t, few), clustertest.Seeded(t)
	inGroup(t, 3, func(w *crew) {
		znodes := w.cluster.Znodes()
		w.acked = map[int32]int64{}
		w.produce(5)
		rule := by(assignor.CooperativeSticky)
		a := w.join("a", rule)
		b := w.join("b", rule)
		w.joinOutsider("k", kgo.CooperativeStickyBalancer())
		for _, m := range []*member{a, b} {
			defer m.commits()()
		}
		var c *member
		shares := map[string]int{"a": 4, "b": 4, "k": 4}
		w.shares(shares)
		w.allRead()
		for round := range rounds {
			clustertest.AwaitISRStored(t, znodes, "__consumer_offsets", 4, 3, time.Minute)
			clustertest.AwaitISRStored(t, znodes, "t", 12, 3, time.Minute)
			victim, act := w.coordinatorOf(a), "commits"
			w.produce(1 + random.IntN(5))
			if round%2 == 1 {
				if c == nil {
					act, shares = "join", map[string]int{"a": 3, "b": 3, "c": 3, "k": 3}
					c = w.join("c", rule)
				} else {
					act, shares = "leave", map[string]int{"a": 4, "b": 4, "k": 4}
					leaver := c
					c = nil
					go leaver.close()
				}
			}
			<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
			before := w.committed()
			t.Logf("round %d: broker %d dies (%s)", round, victim.ID, act)
			victim.Kill()
			w.produce(1 + random.IntN(5))
			w.allRead()
			w.shares(shares)
			w.notBack(before)
			victim.Start()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.commitsOf < rounds {
			t.Errorf("%d commits were acknowledged: the test shows nothing", w.commitsOf)
		}
		t.Logf("%d kills, %d commits acknowledged, %d failed", rounds, w.commitsOf, w.commitsNot)
	})
}

// coordinatorOf is the broker the member asks.
func (w *crew) coordinatorOf(m *member) *clustertest.Member {
	w.t.Helper()
	var id int32
	clustertest.Eventually(w.t, time.Minute, "a coordinator", func() (bool, string) {
		m.c.mu.Lock()
		defer m.c.mu.Unlock()
		id = m.c.group.coordinator
		return id >= 0, ""
	})
	return w.cluster.Brokers[id]
}

// commits commits what the member has read again and again, beside its polls, and notes what was acknowledged.
func (m *member) commits() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			offsets := m.c.Consumed()
			err := m.c.CommitOffsets(ctx, offsets)
			m.w.mu.Lock()
			if err == nil {
				m.w.commitsOf++
				for p, o := range offsets {
					m.w.acked[p.Partition] = max(m.w.acked[p.Partition], o.At)
				}
			} else {
				m.w.commitsNot++
			}
			m.w.mu.Unlock()
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-done }
}

// committed asks the coordinator of the day.
func (w *crew) committed() map[int32]int64 {
	w.t.Helper()
	out := map[int32]int64{}
	clustertest.Eventually(w.t, time.Minute, "the committed offsets", func() (bool, string) {
		got, err := kadm.NewClient(w.kgo).FetchOffsets(context.Background(), w.config("").Group)
		if err == nil {
			err = got.Error()
		}
		if err != nil {
			return false, err.Error()
		}
		got.Each(func(o kadm.OffsetResponse) { out[o.Partition] = o.At })
		return true, ""
	})
	return out
}

// notBack holds what is committed now against what was, and against what members were told.
func (w *crew) notBack(before map[int32]int64) {
	w.t.Helper()
	w.mu.Lock()
	acked := maps.Clone(w.acked) // what is acknowledged before we ask
	w.mu.Unlock()
	now := w.committed()
	for p := range int32(12) {
		if now[p] < before[p] || now[p] < acked[p] {
			w.t.Errorf("t-%d: %d is committed, it was %d, and %d was acknowledged", p, now[p], before[p], acked[p])
		}
	}
}
