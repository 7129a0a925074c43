package metadata

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"kz/internal/topic"
)

func tp(name string, p int32) topic.Partition { return topic.Partition{Topic: name, Partition: p} }

func state(leader int32) PartitionState {
	return PartitionState{Leader: leader, Replicas: []int32{1, 2}}
}

// Ref: Kafka 2.8 ZkMetadataCache.updateMetadata
func TestApply(t *testing.T) {
	c := NewCache(1)
	if s := c.Current(); s.ControllerID != -1 || len(s.AliveBrokers()) != 0 {
		t.Fatalf("a new cache knows something: %+v", s)
	}
	c.Apply(Update{
		ControllerID: 2,
		Brokers:      []Broker{{ID: 3}, {ID: 1}, {ID: 2}},
		Partitions:   map[topic.Partition]PartitionState{tp("a", 0): state(1), tp("a", 1): state(2), tp("b", 0): state(3)},
	})
	first := c.Current()
	var ids []int32
	for _, b := range first.AliveBrokers() {
		ids = append(ids, b.ID)
	}
	if !slices.Equal(ids, []int32{3, 1, 2}) {
		t.Errorf("brokers in order %v, the controller sent 3, 1, 2", ids)
	}

	deleted := c.Apply(Update{
		ControllerID: 2,
		Brokers:      []Broker{{ID: 1}},
		Partitions: map[topic.Partition]PartitionState{
			tp("a", 1): state(LeaderDuringDelete), tp("b", 0): state(LeaderDuringDelete), tp("a", 2): state(NoLeader),
		},
	})
	if want := []topic.Partition{tp("a", 1), tp("b", 0)}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %v, want %v", deleted, want)
	}
	second := c.Current()
	if second.Alive(2) || !second.Alive(1) {
		t.Error("the list of brokers must replace the old one")
	}
	if _, ok := second.Topics["b"]; ok {
		t.Error("a topic without partitions must vanish")
	}
	if st, ok := second.Partition(tp("a", 2)); !ok || st.Leader != NoLeader {
		t.Error("a partition without a leader is still a partition")
	}
	if _, ok := first.Partition(tp("a", 1)); !ok || !first.Alive(2) || len(first.Topics["a"]) != 2 {
		t.Error("an old snapshot changed")
	}
}

func TestUnnamedTopicsAreShared(t *testing.T) {
	c := NewCache(1)
	c.Apply(Update{Partitions: map[topic.Partition]PartitionState{tp("a", 0): state(1), tp("b", 0): state(1)}})
	before := c.Current()
	c.Apply(Update{Partitions: map[topic.Partition]PartitionState{tp("a", 0): state(2)}})
	same := func(name string) bool {
		return reflect.ValueOf(before.Topics[name]).Pointer() == reflect.ValueOf(c.Current().Topics[name]).Pointer()
	}
	if !same("b") || same("a") {
		t.Errorf("table of a shared: %v (want false), of b: %v (want true)", same("a"), same("b"))
	}
}

// Random updates against the plainest model: one map, changed in place.
func TestApplyAgainstModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c, model := NewCache(1), map[topic.Partition]PartitionState{}
	for range 500 {
		u := Update{Partitions: map[topic.Partition]PartitionState{}}
		for range r.IntN(5) {
			u.Partitions[tp(fmt.Sprint("t", r.IntN(4)), r.Int32N(4))] = state(r.Int32N(5) - 2)
		}
		for p, st := range u.Partitions {
			if st.Leader == LeaderDuringDelete {
				delete(model, p)
			} else {
				model[p] = st
			}
		}
		c.Apply(u)
		got := map[topic.Partition]PartitionState{}
		for name, table := range c.Current().Topics {
			if len(table) == 0 {
				t.Fatalf("empty topic %s stayed", name)
			}
			for n, st := range table {
				got[tp(name, n)] = st
			}
		}
		if !maps.EqualFunc(got, model, func(a, b PartitionState) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("cache %v\nmodel %v", got, model)
		}
	}
}

func TestChangedWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(1)
		woken := make(chan int32)
		go func() {
			for {
				changed := c.Changed()
				if s := c.Current(); s.Alive(7) {
					woken <- s.ControllerID
					return
				}
				<-changed
			}
		}()
		synctest.Wait()
		c.Apply(Update{ControllerID: 1})
		synctest.Wait()
		select {
		case <-woken:
			t.Fatal("woken before its condition held")
		default:
		}
		c.Apply(Update{ControllerID: 3, Brokers: []Broker{{ID: 7}}})
		if id := <-woken; id != 3 {
			t.Errorf("saw controller %d", id)
		}
	})
}

// One partition changes among 2,000: what an ISR change costs every broker.
func BenchmarkApplyOneOf2000(b *testing.B) {
	c, u := NewCache(1), Update{Partitions: map[topic.Partition]PartitionState{}}
	for i := range 2000 {
		u.Partitions[tp(fmt.Sprint("t", i/10), int32(i%10))] = state(1)
	}
	c.Apply(u)
	one := Update{Partitions: map[topic.Partition]PartitionState{tp("t7", 3): state(2)}}
	b.ReportAllocs()
	for b.Loop() {
		c.Apply(one)
	}
}
