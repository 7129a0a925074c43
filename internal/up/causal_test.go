package up

import (
	"fmt"
	"strings"
	"testing"

	"kz/internal/journal"
)

// tellOrder is who said what, in order: "zk:zk.write b1:controller.election …".
func tellOrder(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s:%d", strings.Replace(e.Src, "broker-", "b", 1), e.SrcSeq))
	}
	return strings.Join(out, " ")
}

func linesOf(events []journal.Event) (all []line) {
	for _, ev := range events {
		all = append(all, line{Event: ev})
	}
	return all
}

func TestArrange(t *testing.T) {
	type evs = []journal.Event
	wrote := func(seq, zxid int64) journal.Event {
		return journal.Event{Seq: seq, Kind: journal.ZnodeWrite, Zxid: zxid, Result: "ok"}
	}
	plain := func(seq int64, k journal.Kind) journal.Event { return journal.Event{Seq: seq, Kind: k} }
	sent := journal.Event{Seq: 3, Kind: journal.RequestSent, Replica: 2}
	answered := journal.Event{Seq: 4, Kind: journal.RequestAnswered, Replica: 2}
	for _, c := range []struct {
		rule         string
		zk, one, two evs
		force        bool
		want         string
	}{
		{"ZooKeeper's word of a write comes before the broker's", evs{wrote(1, 51)}, evs{wrote(1, 51)}, nil, false, "zookeeper:1 b1:1"},
		{"what the writer knew before comes before the write", evs{wrote(1, 50), wrote(2, 51)},
			evs{plain(1, journal.PartitionChange), wrote(2, 51), plain(3, journal.Election)}, nil, false,
			"zookeeper:1 b1:1 zookeeper:2 b1:2 b1:3"},
		{"a write ZooKeeper has not told yet waits, and what follows it", evs{wrote(1, 50)},
			evs{plain(1, journal.Roll), wrote(2, 51), plain(3, journal.Election)}, nil, false, "zookeeper:1 b1:1"},
		{"but not for ever", evs{wrote(1, 50)}, evs{wrote(2, 51), plain(3, journal.Election)}, nil, true, "zookeeper:1 b1:2 b1:3"},
		{"a request comes before what it makes, and its answer after", nil, evs{plain(2, journal.BecameFollower), plain(3, journal.Roll)},
			evs{sent, answered}, false, "b2:3 b1:2 b2:4 b1:3"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			zoo, one, two := &queue{zooName, -1, linesOf(c.zk)}, &queue{"broker-1", 1, linesOf(c.one)}, &queue{"broker-2", 2, linesOf(c.two)}
			if strings.HasPrefix(c.rule, "a request") { // broker 2 is the controller and asks broker 1
				for i := range two.events {
					two.events[i].Replica = 1
				}
			}
			a := arranger{zoo: zoo, brokers: []*queue{one, two}}
			if got := tellOrder(a.arrange(c.force)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Whatever is in the queues, nothing is lost, and no process's own order is changed.
func TestArrangeLosesNothing(t *testing.T) {
	kinds := []journal.Kind{journal.ZnodeWrite, journal.RequestSent, journal.RequestAnswered, journal.BecameLeader, journal.Election, journal.WatchFired}
	for seed := range 2000 {
		x := uint32(seed)*2654435761 + 1
		draw := func(n int) int { x = x*1664525 + 1013904223; return int(x>>8) % n }
		a := arranger{zoo: &queue{zooName, -1, nil}, brokers: []*queue{{"broker-1", 1, nil}, {"broker-2", 2, nil}, {"broker-3", 3, nil}}}
		total := 0
		for _, q := range append([]*queue{a.zoo}, a.brokers...) {
			for i := range draw(8) {
				q.events = append(q.events, line{Event: journal.Event{Seq: int64(i + 1), Kind: kinds[draw(len(kinds))], Zxid: int64(draw(6)), Replica: int32(1 + draw(3)), Result: "ok"}})
				total++
			}
		}
		last := map[string]int64{}
		out := append(a.arrange(false), a.arrange(true)...)
		for _, e := range out {
			if e.SrcSeq != last[e.Src]+1 {
				t.Fatalf("seed %d: %s", seed, tellOrder(out))
			}
			last[e.Src] = e.SrcSeq
		}
		if len(out) != total {
			t.Fatalf("seed %d: %d of %d events: %s", seed, len(out), total, tellOrder(out))
		}
	}
}
