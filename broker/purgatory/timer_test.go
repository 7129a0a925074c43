package purgatory

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f with a timer in virtual time.
func bubble(t *testing.T, f func(t *testing.T, timer *Timer)) {
	synctest.Test(t, func(t *testing.T) {
		timer := NewTimer()
		defer timer.Stop()
		f(t, timer)
	})
}

func TestATaskRunsAtItsTime(t *testing.T) {
	const ms = time.Millisecond
	for _, d := range []time.Duration{
		0, -time.Hour, 1, ms, 19 * ms, 20 * ms, 21 * ms, 399 * ms, 400 * ms, 401 * ms, 7999 * ms, 8 * time.Second,
		time.Hour, 30 * 24 * time.Hour, 50 * 365 * 24 * time.Hour,
	} {
		for _, before := range []time.Duration{0, ms, 13 * ms, 400 * ms, time.Hour} {
			bubble(t, func(t *testing.T, timer *Timer) {
				time.Sleep(before)
				start, ran := time.Now(), make(chan time.Duration)
				timer.After(d, func() { ran <- time.Since(start) })
				want := max(d, 0).Truncate(ms)
				if want < d {
					want += ms // never early
				}
				if got := <-ran; got != want {
					t.Errorf("%v, added after %v, ran after %v", d, before, got)
				}
				if n := timer.Len(); n != 0 {
					t.Errorf("%d left", n)
				}
			})
		}
	}
}

func TestACancelledTaskDoesNotRun(t *testing.T) {
	bubble(t, func(t *testing.T, timer *Timer) {
		var ran []string
		a := timer.After(time.Second, func() { ran = append(ran, "a") })
		b := timer.After(time.Second, func() { ran = append(ran, "b") })
		timer.After(time.Hour, func() {})
		if timer.Len() != 3 || !a.Cancel() || timer.Len() != 2 {
			t.Error("cancelling did not take it out")
		}
		if a.Cancel() {
			t.Error("it was cancelled twice")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(ran) != 1 || ran[0] != "b" || b.Cancel() {
			t.Errorf("%v ran", ran)
		}
		if timer.Len() != 1 {
			t.Errorf("%d left", timer.Len())
		}
	})
}

func TestStopRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := NewTimer()
		timer.After(time.Second, func() { t.Error("ran") })
		timer.Stop()
		timer.After(0, func() { t.Error("ran, and was added after Stop") })
		time.Sleep(time.Minute)
	})
}

func TestATaskMayUseTheTimer(t *testing.T) {
	bubble(t, func(t *testing.T, timer *Timer) {
		done := make(chan int)
		n := 0
		var again func()
		again = func() {
			if n++; n == 100 {
				done <- n
				return
			}
			other := timer.After(time.Hour, func() { t.Error("was cancelled, and ran") })
			timer.After(7*time.Millisecond, again)
			other.Cancel()
		}
		start := time.Now()
		timer.After(0, again)
		<-done
		if d := time.Since(start); d != 99*7*time.Millisecond {
			t.Error(d)
		}
	})
}

// An empty timer sleeps for ever; one with a far task does not look at the clock until
// its wheel turns. A bubble in which everybody sleeps for ever is a deadlock, so here
// the number of wake-ups is counted by the virtual time they need.
func TestAnIdleTimerSleeps(t *testing.T) {
	bubble(t, func(t *testing.T, timer *Timer) {
		timer.After(24*time.Hour, func() {})
		synctest.Wait()
		timer.mu.Lock()
		defer timer.mu.Unlock()
		if left := timer.sleeps; left < (8 * time.Hour).Milliseconds() {
			t.Errorf("with one task in 24 h it sleeps for %v", time.Duration(left)*time.Millisecond)
		}
		if len(timer.due) != 1 {
			t.Errorf("%d buckets", len(timer.due))
		}
	})
}

// Random adding and cancelling against a map: each task that was not cancelled runs once,
// in its millisecond.
func TestTimerAgainstAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	bubble(t, func(t *testing.T, timer *Timer) {
		type entry struct {
			task *Task
			due  time.Time
		}
		var mu sync.Mutex
		model := map[int]entry{}
		ran := 0
		for i := range 20000 {
			switch r.IntN(10) {
			case 0: // time passes
				time.Sleep(time.Duration(r.ExpFloat64() * float64(20*time.Millisecond)))
			case 1, 2, 3: // cancel anyone
				mu.Lock()
				for k, e := range model {
					if !e.task.Cancel() {
						t.Errorf("task %d was in the model and could not be cancelled", k)
					}
					delete(model, k)
					break
				}
				mu.Unlock()
			default:
				// Delays of all magnitudes, around the borders of the levels too.
				d := time.Duration(math.Pow(20, 5*r.Float64()) * float64(time.Millisecond))
				if r.IntN(2) == 0 {
					d = d.Truncate(20*time.Millisecond) + time.Duration(r.IntN(3)-1)*time.Millisecond
				}
				mu.Lock()
				due := time.Now().Add(max(d, 0))
				task := timer.After(d, func() {
					mu.Lock()
					defer mu.Unlock()
					e, ok := model[i]
					if !ok {
						t.Errorf("task %d is not in the model", i)
					}
					if late := time.Since(e.due); late < 0 || late >= time.Millisecond {
						t.Errorf("task %d of %v ran %v late", i, d, late)
					}
					delete(model, i)
					ran++
				})
				model[i] = entry{task, due}
				mu.Unlock()
			}
			synctest.Wait() // what is due in this instant has run
			mu.Lock()
			if len(model) != timer.Len() {
				t.Fatalf("step %d: %d tasks, %d in the model", i, timer.Len(), len(model))
			}
			mu.Unlock()
		}
		time.Sleep(time.Duration(math.Pow(20, 5)+100) * time.Millisecond)
		synctest.Wait()
		if len(model) != 0 || timer.Len() != 0 {
			t.Errorf("%d never ran, %d left", len(model), timer.Len())
		}
		if ran < 1000 {
			t.Errorf("only %d tasks ran: the test is too tame", ran)
		}
		checkWheels(t, timer)
	})
}

// checkWheels is the full check of an empty timer: every link closed, every clock right.
func checkWheels(t *testing.T, timer *Timer) {
	t.Helper()
	timer.mu.Lock()
	defer timer.mu.Unlock()
	for w, level := timer.wheel, 0; w != nil; w, level = w.overflow, level+1 {
		if w.tick != int64(math.Pow(20, float64(level))) || w.interval != 20*w.tick || w.now%w.tick != 0 || w.now > timer.now() {
			t.Errorf("level %d: tick %d, interval %d, now %d", level, w.tick, w.interval, w.now)
		}
		for i := range w.buckets {
			if !w.buckets[i].empty() {
				t.Errorf("level %d: bucket %d is not empty", level, i)
			}
		}
	}
}

// In real time and from all sides: each task either ran or was cancelled, once.
func TestCancelRacesWithTheRun(t *testing.T) {
	timer := NewTimer()
	var ran, cancelled atomic.Int64
	const each, workers = 5000, 8
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 0))
			var recent [16]*Task
			for range each {
				i := r.IntN(len(recent))
				if recent[i] != nil && recent[i].Cancel() {
					cancelled.Add(1)
				}
				d := time.Duration(r.IntN(3000)) * time.Microsecond
				recent[i] = timer.After(d, func() { ran.Add(1) })
			}
		})
	}
	wg.Wait()
	last := make(chan struct{})
	timer.After(10*time.Millisecond, func() { close(last) })
	<-last
	timer.Stop()
	if r, c := ran.Load(), cancelled.Load(); r+c != each*workers || r == 0 || c == 0 {
		t.Errorf("%d ran, %d were cancelled: together not %d", r, c, each*workers)
	}
}
