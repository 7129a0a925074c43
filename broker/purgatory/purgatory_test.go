package purgatory

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// waiter is an operation whose condition is a flag.
type waiter struct {
	met       atomic.Bool
	tries     atomic.Int32
	completed atomic.Int32
	expired   atomic.Int32
	inside    atomic.Int32 // goroutines in TryComplete
	onTry     func()
}

func (w *waiter) TryComplete(force func() bool) bool {
	if w.inside.Add(1) != 1 {
		panic("TryComplete twice at once")
	}
	defer w.inside.Add(-1)
	met := w.met.Load()
	w.tries.Add(1)
	if w.onTry != nil {
		w.onTry()
	}
	return met && force()
}

func (w *waiter) OnComplete()   { w.completed.Add(1) }
func (w *waiter) OnExpiration() { w.expired.Add(1) }

func (w *waiter) expect(t *testing.T, completed, expired int32) {
	t.Helper()
	if c, e := w.completed.Load(), w.expired.Load(); c != completed || e != expired {
		t.Errorf("completed %d times, expired %d times; want %d, %d", c, e, completed, expired)
	}
}

func newBubble(t *testing.T, purgeInterval int, f func(t *testing.T, p *Purgatory[string])) {
	synctest.Test(t, func(t *testing.T) {
		p := New[string]("test", purgeInterval)
		defer p.Stop()
		f(t, p)
	})
}

// Ref: Kafka 2.8 DelayedOperationTest.
func TestRequestSatisfaction(t *testing.T) {
	newBubble(t, 1000, func(t *testing.T, p *Purgatory[string]) {
		a, b := &waiter{}, &waiter{}
		if n := p.CheckAndComplete("a"); n != 0 {
			t.Errorf("%d completed under a key that nobody watches", n)
		}
		if p.TryCompleteElseWatch(a, time.Hour, "a") || p.TryCompleteElseWatch(b, time.Hour, "b", "c") {
			t.Error("complete, and its condition does not hold")
		}
		if n := p.CheckAndComplete("a"); n != 0 {
			t.Errorf("%d completed, and the condition does not hold", n)
		}
		a.met.Store(true)
		if n := p.CheckAndComplete("a"); n != 1 {
			t.Errorf("%d completed", n)
		}
		if n := p.CheckAndComplete("a"); n != 0 {
			t.Errorf("%d completed again", n)
		}
		a.expect(t, 1, 0)
		b.expect(t, 0, 0)
		if p.Watched() != 2 || p.Delayed() != 1 {
			t.Errorf("watched %d, delayed %d", p.Watched(), p.Delayed())
		}
		b.met.Store(true)
		if n := p.CheckAndComplete("c"); n != 1 {
			t.Errorf("%d completed", n)
		}
		b.expect(t, 1, 0)
		if p.Watched() != 1 || p.Delayed() != 0 { // "b" still lists it
			t.Errorf("watched %d, delayed %d", p.Watched(), p.Delayed())
		}
		if n := p.CheckAndComplete("b"); n != 0 || p.Watched() != 0 {
			t.Errorf("%d completed, watched %d", n, p.Watched())
		}
	})
}

func TestCompleteAtOnce(t *testing.T) {
	newBubble(t, 1000, func(t *testing.T, p *Purgatory[string]) {
		first := &waiter{}
		first.met.Store(true)
		if !p.TryCompleteElseWatch(first, time.Hour, "a") || first.tries.Load() != 1 {
			t.Errorf("not complete at the first of %d tries", first.tries.Load())
		}
		// What happens between the first try and the watching is seen by the second try.
		second := &waiter{}
		second.onTry = func() { second.met.Store(true) }
		if !p.TryCompleteElseWatch(second, time.Hour, "a") || second.tries.Load() != 2 {
			t.Errorf("not complete at the second of %d tries", second.tries.Load())
		}
		first.expect(t, 1, 0)
		second.expect(t, 1, 0)
		if p.Delayed() != 0 {
			t.Errorf("%d in the timer", p.Delayed())
		}
	})
}

func TestRequestExpiry(t *testing.T) {
	for _, timeout := range []time.Duration{30 * time.Second, 20 * time.Millisecond, 0, -1} {
		newBubble(t, 1000, func(t *testing.T, p *Purgatory[string]) {
			never, w := &waiter{}, &waiter{}
			p.TryCompleteElseWatch(never, time.Hour, "a")
			if p.TryCompleteElseWatch(w, timeout, "a") {
				t.Error("completed by its condition")
			}
			if timeout > 0 {
				time.Sleep(timeout - time.Nanosecond)
				synctest.Wait()
				w.expect(t, 0, 0)
				time.Sleep(time.Nanosecond)
			}
			synctest.Wait()
			w.expect(t, 1, 1)
			never.expect(t, 0, 0)
			w.met.Store(true)
			if n := p.CheckAndComplete("a"); n != 0 || p.Watched() != 1 {
				t.Errorf("%d completed after the timeout, watched %d", n, p.Watched())
			}
			w.expect(t, 1, 1)
		})
	}
}

func TestCompleteAllAndStop(t *testing.T) {
	newBubble(t, 1000, func(t *testing.T, p *Purgatory[string]) {
		var ws [6]waiter
		p.TryCompleteElseWatch(&ws[0], time.Hour, "a")
		p.TryCompleteElseWatch(&ws[1], time.Hour, "a", "b")
		p.TryCompleteElseWatch(&ws[2], time.Hour, "b")
		p.TryCompleteElseWatch(&ws[3], time.Hour) // only time can complete it
		if n := p.CompleteAll("a"); n != 2 {
			t.Errorf("%d completed", n)
		}
		for i, want := range []int32{1, 1, 0, 0} {
			ws[i].expect(t, want, 0)
		}
		p.Stop()
		for i := range 4 {
			ws[i].expect(t, 1, 0)
		}
		if p.Watched() != 0 || p.Delayed() != 0 {
			t.Errorf("watched %d, delayed %d", p.Watched(), p.Delayed())
		}
		if !p.TryCompleteElseWatch(&ws[4], time.Hour, "a") || !p.TryCompleteElseWatch(&ws[5], 0) {
			t.Error("parked after Stop")
		}
		ws[4].expect(t, 1, 0)
		ws[5].expect(t, 1, 0)
	})
}

// Ref: Kafka 2.8 DelayedOperationTest.testRequestPurge.
func TestPurge(t *testing.T) {
	newBubble(t, 10, func(t *testing.T, p *Purgatory[string]) {
		keep := &waiter{}
		p.TryCompleteElseWatch(keep, time.Hour, "quiet")
		for i := range 10 {
			w := &waiter{}
			p.TryCompleteElseWatch(w, time.Hour, "busy", "quiet")
			w.met.Store(true)
			p.CheckAndComplete("busy")
			synctest.Wait()
			if n := p.Watched(); n != i+2 {
				t.Fatalf("watched %d after %d", n, i+1)
			}
		}
		w := &waiter{}
		p.TryCompleteElseWatch(w, 0, "quiet") // one more than the interval
		synctest.Wait()
		if n := p.Watched(); n != 1 {
			t.Errorf("watched %d after the purge", n)
		}
		keep.expect(t, 0, 0)
		keep.met.Store(true)
		if n := p.CheckAndComplete("quiet"); n != 1 {
			t.Error("what still waits was purged too")
		}
	})
}

// While one goroutine is in TryComplete, news that another brings is not lost.
// Ref: Kafka 2.8 DelayedOperationTest.testTryCompleteWithMultipleThreads.
func TestNewsDuringATryIsNotLost(t *testing.T) {
	newBubble(t, 1000, func(t *testing.T, p *Purgatory[string]) {
		w := &waiter{}
		p.TryCompleteElseWatch(w, time.Hour, "a")
		entered, leave := make(chan bool), make(chan bool)
		w.onTry = func() { // has looked at the condition, and is slow to say so
			entered <- true
			<-leave
		}
		go p.CheckAndComplete("a")
		<-entered
		w.met.Store(true)
		if n := p.CheckAndComplete("a"); n != 0 { // does not wait for the other
			t.Errorf("%d completed", n)
		}
		leave <- true
		<-entered // the other tries again
		leave <- true
		synctest.Wait()
		w.expect(t, 1, 0)
	})
}

// Everybody against everybody: progress, timeouts, CompleteAll and Stop.
func TestExactlyOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	p := New[int]("race", 50)
	const workers, each, keys = 6, 1000, 7
	ops := make([]waiter, workers*each)
	var wg sync.WaitGroup
	var counted atomic.Int64
	for n := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for i := range each {
				w := &ops[n*each+i]
				p.TryCompleteElseWatch(w, time.Duration(r.IntN(2000))*time.Microsecond, r.IntN(keys), r.IntN(keys))
				any := &ops[n*each+r.IntN(i+1)]
				any.met.Store(true)
				counted.Add(int64(p.CheckAndComplete(r.IntN(keys))))
				if r.IntN(50) == 0 {
					counted.Add(int64(p.CompleteAll(r.IntN(keys))))
				}
				if i%100 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	p.Stop()
	expired := int64(0)
	for i := range ops {
		if c := ops[i].completed.Load(); c != 1 {
			t.Fatalf("operation %d was completed %d times", i, c)
		}
		if e := ops[i].expired.Load(); e > 1 {
			t.Fatalf("operation %d expired %d times", i, e)
		}
		expired += int64(ops[i].expired.Load())
	}
	if counted.Load() == 0 || expired == 0 {
		t.Errorf("%d completed by progress, %d by time: the test is too tame", counted.Load(), expired)
	}
	if p.Watched() != 0 || p.Delayed() != 0 {
		t.Errorf("watched %d, delayed %d", p.Watched(), p.Delayed())
	}
}

// Random operations in virtual time against a model that is a list.
func TestPurgatoryAgainstAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	newBubble(t, 20, func(t *testing.T, p *Purgatory[string]) {
		type entry struct {
			w    *waiter
			keys [2]string
			due  time.Time
		}
		key := func() string { return fmt.Sprint("k", r.IntN(5)) }
		var live []entry
		// settle drops from the model what must be done, and checks that it is.
		settle := func(done func(e entry) bool) (n int) {
			var left []entry
			for _, e := range live {
				if done(e) {
					e.w.expect(t, 1, e.w.expired.Load())
					n++
					continue
				}
				e.w.expect(t, 0, 0)
				left = append(left, e)
			}
			live = left
			return n
		}
		for range 5000 {
			k := key()
			watches := func(e entry) bool { return e.keys[0] == k || e.keys[1] == k }
			switch r.IntN(6) {
			case 0, 1:
				e := entry{&waiter{}, [2]string{k, key()}, time.Now().Add(time.Duration(1+r.IntN(1000)) * time.Millisecond)}
				p.TryCompleteElseWatch(e.w, time.Until(e.due), e.keys[0], e.keys[1])
				live = append(live, e)
			case 2:
				if len(live) > 0 {
					live[r.IntN(len(live))].w.met.Store(true)
				}
			case 3:
				got := p.CheckAndComplete(k)
				if want := settle(func(e entry) bool { return watches(e) && e.w.met.Load() }); got != want {
					t.Fatalf("%d completed, want %d", got, want)
				}
			case 4:
				if r.IntN(5) == 0 {
					got := p.CompleteAll(k)
					if want := settle(watches); got != want {
						t.Fatalf("%d completed, want %d", got, want)
					}
				}
			case 5:
				time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
			}
			synctest.Wait()
			settle(func(e entry) bool { return !e.due.After(time.Now()) })
			if p.Delayed() != len(live) {
				t.Fatalf("%d in the timer, %d in the model", p.Delayed(), len(live))
			}
			if n := p.Watched(); n < len(live) || n > 2*(len(live)+21) {
				t.Fatalf("%d in the lists, %d in the model", n, len(live))
			}
		}
	})
}
