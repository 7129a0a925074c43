package purgatory

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The wheel's cost must not depend on how many timers wait; the heap's does.
//
//	go test -run=- -bench='Wheel|Heap' ./broker/purgatory
//
// One step is a request's timer: it is added, and cancelled inFlight requests later. (To
// cancel any of a million instead costs a cache miss or three, in either structure.)
var populations = []int{1e3, 1e4, 1e5, 1e6}

const inFlight = 64

func randomDelay(r *rand.Rand) time.Duration {
	return time.Hour + time.Duration(r.Int64N(int64(23*time.Hour)))
}

func BenchmarkWheel(b *testing.B) {
	for _, n := range populations {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			timer := NewTimer()
			defer timer.Stop()
			for range n {
				timer.After(randomDelay(r), func() {})
			}
			var requests [inFlight]*Task
			for i := range requests {
				requests[i] = timer.After(randomDelay(r), func() {})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % inFlight {
				requests[i].Cancel()
				requests[i] = timer.After(randomDelay(r), func() {})
			}
		})
	}
}

func BenchmarkHeap(b *testing.B) {
	for _, n := range populations {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			start := time.Now()
			h := make(timerHeap, 0, n)
			add := func() *heapTimer {
				t := &heapTimer{due: time.Since(start) + randomDelay(r)}
				heap.Push(&h, t)
				return t
			}
			for range n {
				add()
			}
			var requests [inFlight]*heapTimer
			for i := range requests {
				requests[i] = add()
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % inFlight {
				heap.Remove(&h, requests[i].index)
				requests[i] = add()
			}
		})
	}
}

// BenchmarkParkAndComplete is a produce request's way through room 6.
func BenchmarkParkAndComplete(b *testing.B) {
	for _, n := range populations[:3] {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := New[string]("bench", 1000)
			defer p.Stop()
			for i := range n {
				p.TryCompleteElseWatch(&waiter{}, time.Hour, fmt.Sprint(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				w := &waiter{}
				p.TryCompleteElseWatch(w, 30*time.Second, "orders-0")
				w.met.Store(true)
				if p.CheckAndComplete("orders-0") != 1 {
					b.Fatal("not completed")
				}
			}
		})
	}
}

func BenchmarkCheckAKeyNobodyWatches(b *testing.B) {
	p := New[string]("bench", 1000)
	defer p.Stop()
	b.ReportAllocs()
	for b.Loop() {
		p.CheckAndComplete("orders-0")
	}
}

// timerHeap is the plain priority queue that the wheel is compared with.
type timerHeap []*heapTimer

type heapTimer struct {
	due   time.Duration
	index int
}

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*heapTimer)
	t.index = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}
