package journal_test

import (
	"encoding/json"
	"sync"
	"testing"

	"kz/internal/journal"
)

func TestNilJournalDoesNothing(t *testing.T) {
	var j *journal.Journal
	if j.On() {
		t.Error("a nil journal says somebody listens")
	}
	if n := j.Emit(journal.Event{Kind: journal.Fault}); n != 0 {
		t.Errorf("Emit on nil gave number %d", n)
	}
	j.At(journal.MomentLeaderAppend, "orders-0")
	j.SetNode(3)
	j.Subscribe(func(journal.Event) {})()
}

func TestEventsAreNumberedInOneOrder(t *testing.T) {
	j := journal.New(7)
	if j.Emit(journal.Event{Kind: journal.Fault}) != 0 {
		t.Error("an event nobody listens to got a number")
	}
	var got []int64
	cancel := j.Subscribe(func(ev journal.Event) {
		if ev.Node != 7 {
			t.Errorf("event from node %d", ev.Node)
		}
		got = append(got, ev.Seq)
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				j.Emit(journal.Event{Kind: journal.Fault})
			}
		})
	}
	wg.Wait()
	cancel()
	if j.On() {
		t.Error("On after the last subscriber left")
	}
	if len(got) != 800 {
		t.Fatalf("%d events", len(got))
	}
	for i, seq := range got {
		if seq != int64(i)+1 {
			t.Fatalf("event %d has number %d", i, seq)
		}
	}
}

func TestTwoSubscribersOfTheSameFunction(t *testing.T) {
	j := journal.New(1)
	n := 0
	f := func(journal.Event) { n++ }
	first, second := j.Subscribe(f), j.Subscribe(f)
	j.Emit(journal.Event{})
	first()
	j.Emit(journal.Event{})
	second()
	if n != 3 {
		t.Errorf("%d calls, want 2 + 1", n)
	}
}

func TestMomentRunsOnlyWhileArmed(t *testing.T) {
	j := journal.New(1)
	var got []string
	disarm := j.Arm(journal.MomentLeaderAppend, func(d string) { got = append(got, d) })
	j.At(journal.MomentLeaderAppend, "orders-0")
	j.At(journal.MomentLogRoll, "orders-1")
	disarm()
	disarm() // twice is once
	j.At(journal.MomentLeaderAppend, "orders-2")
	if len(got) != 1 || got[0] != "orders-0" {
		t.Errorf("ran for %v", got)
	}
}

// A frozen moment blocks its own goroutine alone, and may be disarmed while it blocks.
func TestMomentMayFreeze(t *testing.T) {
	j := journal.New(1)
	entered, thaw := make(chan struct{}), make(chan struct{})
	disarm := j.Arm(journal.MomentFollowerFetch, func(string) { close(entered); <-thaw })
	done := make(chan struct{})
	go func() { j.At(journal.MomentFollowerFetch, ""); close(done) }()
	<-entered
	disarm()
	j.At(journal.MomentFollowerFetch, "") // does not block
	close(thaw)
	<-done
}

func TestEventAsJSON(t *testing.T) {
	b, err := json.Marshal(journal.Event{Seq: 1, Kind: journal.ZnodeWrite, Path: "/controller_epoch", VersionAfter: 1, Result: "ok"})
	if err != nil {
		t.Fatal(err)
	}
	var back journal.Event
	if err := json.Unmarshal(b, &back); err != nil || back.Path != "/controller_epoch" || back.VersionAfter != 1 {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
}

func BenchmarkEmitUnheard(b *testing.B) {
	j := journal.New(1)
	for b.Loop() {
		if j.On() {
			j.Emit(journal.Event{Kind: journal.LeaderAppend})
		}
	}
}

func BenchmarkMomentUnarmed(b *testing.B) {
	j := journal.New(1)
	for b.Loop() {
		j.At(journal.MomentLeaderAppend, "")
	}
}

// A number that means nothing is not written: 0 is a real partition, epoch and broker.
func TestJSONSaysOnlyWhatIsMeant(t *testing.T) {
	for _, tt := range []struct {
		name string
		ev   journal.Event
		want string
	}{
		{"no topic: no partition", journal.Event{Seq: 1, Kind: journal.ZnodeWrite, Node: 2, Path: "/a"}, `{"seq":1,"kind":"zk.write","node":2,"path":"/a"}`},
		{"the log knows no leader", journal.Event{Seq: 1, Kind: journal.Roll, Node: 2, Topic: "t", Offset: 9}, `{"seq":1,"kind":"log.rolled","node":2,"topic":"t","partition":0,"offset":9}`},
		{"zeros that are meant", journal.Event{Seq: 1, Kind: journal.BecameLeader, Node: 0, Topic: "t"}, `{"seq":1,"kind":"partition.leader","node":0,"topic":"t","partition":0,"leaderEpoch":0,"leader":0}`},
	} {
		got, err := json.Marshal(tt.ev)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}
