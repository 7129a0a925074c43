//go:build unix

package consumer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client/assignor"
	"kz/internal/clustertest"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Three members over 12 partitions: join, leave, join, die, come back; records are
// written all the while. Nothing is skipped, and twice is read only what the dead member
// had not committed.
func TestLivesOfAGroup(t *testing.T) {
	for _, rule := range []assignor.Assignor{assignor.Range, assignor.RoundRobin, assignor.Sticky, assignor.CooperativeSticky} {
		t.Run(rule.Name, func(t *testing.T) {
			inGroup(t, 1, func(w *crew) { lives(w, rule) })
		})
	}
}

func lives(w *crew, rule assignor.Assignor) {
	w.produce(5)
	a, b := w.join("a", by(rule)), w.join("b", by(rule))
	w.join("c", by(rule))
	w.shares(map[string]int{"a": 4, "b": 4, "c": 4})
	w.produce(5)
	w.allRead()
	a.close()
	w.shares(map[string]int{"b": 6, "c": 6})
	w.produce(5)
	w.join("d", by(rule))
	w.shares(map[string]int{"b": 4, "c": 4, "d": 4})
	w.produce(5)
	w.allRead()
	if bad := w.twice(); len(bad) > 0 {
		w.t.Errorf("read twice though nobody died: %v", bad)
	}
	b.kill()
	w.produce(5)
	w.shares(map[string]int{"c": 6, "d": 6})
	w.join("e", by(rule))
	w.shares(map[string]int{"c": 4, "d": 4, "e": 4})
	w.produce(5)
	w.allRead()
	if bad := w.twice("b"); len(bad) > 0 {
		w.t.Errorf("read twice by others than the dead: %v", bad)
	}
}

// With cooperative-sticky only what moves is revoked; with an eager rule everything is.
func TestWhatANewcomerCosts(t *testing.T) {
	for _, tt := range []struct {
		rule    assignor.Assignor
		revoked int // partitions, of the two members that were there
	}{{assignor.Sticky, 12}, {assignor.CooperativeSticky, 4}} {
		t.Run(tt.rule.Name, func(t *testing.T) {
			inGroup(t, 1, func(w *crew) {
				w.join("a", by(tt.rule))
				w.join("b", by(tt.rule))
				w.shares(map[string]int{"a": 6, "b": 6})
				w.heard()
				w.join("c", by(tt.rule))
				w.shares(map[string]int{"a": 4, "b": 4, "c": 4})
				n, heard := 0, w.heard()
				for _, line := range heard {
					if f := strings.Fields(line); f[1] == "revoked" {
						n += strings.Count(f[2], ",") + 1
					}
				}
				if n != tt.revoked {
					t.Errorf("%d partitions were revoked, want %d:\n%s", n, tt.revoked, strings.Join(heard, "\n"))
				}
			})
		})
	}
}

// A static member that restarts within its session finds its place; nobody else notices.
func TestStaticMemberComesBack(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		named := func(c *Config) { c.InstanceID = c.Client.ClientID }
		a := w.join("a", named)
		b := w.join("b", named)
		w.shares(map[string]int{"a": 6, "b": 6})
		before := b.c.Assignment()
		generation, _ := a.c.GroupMember()
		w.heard()
		b.close()
		b2 := w.join("b", named)
		w.shares(map[string]int{"a": 6, "b": 6})
		if now, _ := a.c.GroupMember(); now != generation || !slices.Equal(before, b2.c.Assignment()) {
			t.Errorf("generation %d became %d; b had %v, has %v", generation, now, before, b2.c.Assignment())
		}
		for _, line := range w.heard() {
			if strings.HasPrefix(line, "a ") {
				t.Errorf("the other member heard of it: %s", line)
			}
		}
	})
}

// Two with one group.instance.id: the elder is fenced, for good.
func TestSecondMemberOfOneNameFencesTheFirst(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		cfg := w.config("a")
		cfg.InstanceID = "i"
		a, b := New(cfg), New(cfg)
		defer a.Close()
		defer b.Close()
		for _, c := range []*Consumer{a, b} {
			if err := c.Subscribe([]string{"t"}, Listener{}); err != nil {
				t.Fatal(err)
			}
			pollUntil(t, c, func() bool { return len(c.Assignment()) == 12 })
		}
		var err error
		for err == nil {
			_, err = pollFor(a, time.Second)
		}
		if !errors.Is(err, kafkaerr.FencedInstanceID) {
			t.Errorf("the first got %v", err)
		}
		if err := b.CommitOffsets(context.Background(), Offsets{{Topic: "t"}: {At: 1}}); err != nil {
			t.Errorf("the second cannot commit: %v", err)
		}
	})
}

func pollFor(c *Consumer, d time.Duration) ([]Fetched, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.Poll(ctx)
}

// pollUntil polls until cond holds; it gives the records.
func pollUntil(t *testing.T, c *Consumer, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !cond() {
		if _, err := pollFor(c, 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not come to pass")
		}
	}
}

// mixture is which kinds of members make a group, and who leads it.
type mixture struct {
	name     string
	ours     assignor.Assignor
	theirs   kgo.GroupBalancer
	oursLead bool
}

var mixtures = []mixture{
	{"range, ours lead", assignor.Range, kgo.RangeBalancer(), true},
	{"range, theirs lead", assignor.Range, kgo.RangeBalancer(), false},
	{"sticky, ours lead", assignor.Sticky, kgo.StickyBalancer(), true},
	{"sticky, theirs lead", assignor.Sticky, kgo.StickyBalancer(), false},
	{"cooperative, ours lead", assignor.CooperativeSticky, kgo.CooperativeStickyBalancer(), true},
	{"cooperative, theirs lead", assignor.CooperativeSticky, kgo.CooperativeStickyBalancer(), false},
}

// A group of our members and franz-go's, each kind leading once.
func TestMixedGroup(t *testing.T) {
	for _, m := range mixtures {
		t.Run(m.name, func(t *testing.T) {
			inGroup(t, 1, func(w *crew) { mixed(w, m) })
		})
	}
}

func mixed(w *crew, tt mixture) {
	w.produce(5)
	if tt.oursLead {
		w.join("a", by(tt.ours))
		w.shares(map[string]int{"a": 12})
	}
	stop := w.joinOutsider("k", tt.theirs)
	if !tt.oursLead {
		w.shares(map[string]int{"k": 12})
		w.join("a", by(tt.ours))
	}
	w.shares(map[string]int{"a": 6, "k": 6})
	w.join("b", by(tt.ours))
	w.shares(map[string]int{"a": 4, "b": 4, "k": 4})
	w.produce(5)
	w.allRead()
	stop()
	w.shares(map[string]int{"a": 6, "b": 6})
	w.produce(5)
	w.allRead()
	if bad := w.twice(); len(bad) > 0 {
		w.t.Errorf("read twice: %v", bad)
	}
}

// joinOutsider adds a franz-go member; stop makes it leave.
func (w *crew) joinOutsider(name string, rule kgo.GroupBalancer) (stop func()) {
	m := &member{w: w, name: name}
	each := func(f func([]topic.Partition), parts map[string][]int32) {
		var out []topic.Partition
		for t, ids := range parts {
			for _, id := range ids {
				out = append(out, topic.Partition{Topic: t, Partition: id})
			}
		}
		if len(out) > 0 {
			f(out)
		}
	}
	gone := m.listener().Revoked
	cl := w.outside(kgo.ConsumerGroup(w.config(name).Group), kgo.ConsumeTopics(w.name), kgo.Balancers(rule), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) {
			each(func(ps []topic.Partition) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, p := range ps {
					if other := w.owner[p]; other != "" {
						w.faults = append(w.faults, fmt.Sprintf("%v belongs to %s and %s at once", p, other, name))
					}
					w.owner[p] = name
				}
			}, parts)
		}),
		// Commits only here: a commit of franz-go's waits for its JoinGroup behind a mutex, and in a bubble that
		// stops the clock.
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, parts map[string][]int32) {
			if err := cl.CommitUncommittedOffsets(ctx); err != nil {
				w.fault("%s commits: %v", name, err)
			}
			each(gone, parts)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, parts map[string][]int32) { each(gone, parts) }))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
			fetches := cl.PollFetches(short)
			stop()
			w.mu.Lock()
			fetches.EachRecord(func(r *kgo.Record) {
				at := fmt.Sprintf("%d@%d", r.Partition, r.Offset)
				if w.read[at] == nil {
					w.read[at] = map[string]int{}
				}
				w.read[at][name]++
			})
			w.mu.Unlock()
			cl.AllowRebalance()
		}
		cl.CloseAllowingRebalance()
	}()
	stop = func() { cancel(); <-done }
	w.t.Cleanup(stop)
	return stop
}

// Who does not poll leaves the group, cannot commit, and is told that it lost everything.
func TestPollTooLate(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		cfg := w.config("late")
		cfg.MaxPollInterval, cfg.AutoCommit = 20*time.Second, false
		var lost, revoked int
		c := New(cfg)
		defer c.Close()
		_ = c.Subscribe([]string{"t"}, Listener{
			Lost:    func(p []topic.Partition) { lost += len(p) },
			Revoked: func(p []topic.Partition) { revoked += len(p) },
		})
		pollUntil(t, c, func() bool { return len(c.Assignment()) == 12 })
		w.join("other", nil)
		w.shares(map[string]int{"other": 12}) // while c does not poll
		if err := c.CommitOffsets(context.Background(), Offsets{{Topic: "t"}: {At: 1}}); !errors.Is(err, ErrCommitFailed) {
			t.Errorf("commit: %v", err)
		}
		pollUntil(t, c, func() bool { return len(c.Assignment()) == 6 })
		if lost != 12 || revoked != 0 {
			t.Errorf("%d lost, %d revoked", lost, revoked)
		}
	})
}

// The coordinator dies: its place is taken by another broker, nothing committed goes back.
func TestCoordinatorDies(t *testing.T) {
	inGroup(t, 3, func(w *crew) {
		w.produce(5)
		w.join("a", by(assignor.CooperativeSticky))
		b := w.join("b", by(assignor.CooperativeSticky))
		w.shares(map[string]int{"a": 6, "b": 6})
		w.allRead()
		b.c.mu.Lock()
		coordinator := b.c.group.coordinator
		b.c.mu.Unlock()
		w.cluster.Brokers[coordinator].Kill()
		w.produce(5)
		w.allRead()
		w.join("c", by(assignor.CooperativeSticky))
		w.shares(map[string]int{"a": 4, "b": 4, "c": 4})
		b.close()
		w.shares(map[string]int{"a": 6, "c": 6})
	})
}

// A pattern finds topics that are made later, and none of the brokers' own.
func TestPattern(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		cfg := w.config("p")
		cfg.Client.MetadataMaxAge = 5 * time.Second
		c := New(cfg)
		defer c.Close()
		if err := c.SubscribePattern(regexp.MustCompile("t.*|.*offsets"), Listener{}); err != nil {
			t.Fatal(err)
		}
		pollUntil(t, c, func() bool { return len(c.Assignment()) == 12 })
		clustertest.CreateTopic(t, w.kgo, "two", 3, 1)
		clustertest.CreateTopic(t, w.kgo, "not-t", 3, 1)
		pollUntil(t, c, func() bool { return len(c.Assignment()) == 15 })
		if got := c.Subscription(); !slices.Equal(got, []string{"t", "two"}) {
			t.Errorf("subscribed to %q", got)
		}
	})
}

// More partitions: the leader notices and the group divides anew.
func TestMorePartitions(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		quick := func(c *Config) { c.Client.MetadataMaxAge = 5 * time.Second }
		w.join("a", quick)
		w.join("b", quick)
		w.shares(map[string]int{"a": 6, "b": 6})
		w.morePartitions(14)
		w.shares(map[string]int{"a": 7, "b": 7})
	})
}
