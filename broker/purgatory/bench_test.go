package purgatory

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The wheel's cost must not depend on how many timers wait; the heap's does.
//
//	go test -run=- -bench='Wheel|Heap' ./broker/purgatory
//
// n requests are parked, each with a timeout of about an hour. One step is the oldest
// being answered, so that its timer is cancelled, and a new one coming. The timers are
// made beforehand: allocation and garbage are not what is compared.
var populations = []int{1e3, 1e4, 1e5, 1e6}

func requestTimeout(r *rand.Rand) time.Duration {
	return time.Hour + time.Duration(r.Int64N(int64(time.Minute)))
}

func BenchmarkWheel(b *testing.B) {
	for _, n := range populations {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			timer := NewTimer()
			defer timer.Stop()
			tasks := make([]Task, n)
			for i := range tasks {
				tasks[i].timer, tasks[i].run = timer, func() {}
				timer.add(&tasks[i], requestTimeout(r))
			}
			runtime.GC()
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % n {
				if !tasks[i].Cancel() {
					b.Fatal("it was not waiting")
				}
				tasks[i].state.Store(taskWaits)
				timer.add(&tasks[i], requestTimeout(r))
			}
		})
	}
}

func BenchmarkHeap(b *testing.B) {
	for _, n := range populations {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var mu sync.Mutex // as a timer on a heap would have it
			start := time.Now()
			h := make(timerHeap, 0, n)
			add := func(t *heapTimer) {
				mu.Lock()
				defer mu.Unlock()
				t.due = time.Since(start) + requestTimeout(r)
				heap.Push(&h, t)
			}
			cancel := func(t *heapTimer) {
				mu.Lock()
				defer mu.Unlock()
				heap.Remove(&h, t.index)
			}
			tasks := make([]heapTimer, n)
			for i := range tasks {
				add(&tasks[i])
			}
			runtime.GC()
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % n {
				cancel(&tasks[i])
				add(&tasks[i])
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
