package purgatory

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Timer is the hierarchical timing wheel by itself (also used by later rooms: sessions of
// group members). It mirrors Kafka's SystemTimer.
//
// Its goroutine sleeps until the next bucket is due, and for ever while there is none.
type Timer struct {
	start time.Time

	mu      sync.Mutex // guards the wheels, the queue and every Task's links; held for O(1), or one batch
	wheel   *wheel     // level 0
	due     dueQueue   // the buckets that hold, or held, tasks
	ready   bucket     // tasks that were due when they were added
	size    int        // tasks that wait
	sleeps  int64      // until when the goroutine sleeps; maxTime: until woken
	stopped bool

	wake    chan struct{} // room for one: something earlier came, or stopped
	done    chan struct{} // closed when the goroutine has ended
	pending atomic.Int64  // size, for those without the lock
}

// Task is one run to come.
type Task struct {
	timer      *Timer
	run        func()
	expiration int64        // on the timer's clock
	state      atomic.Int32 // taskWaits, then taskRan or taskCancelled
	next, prev *Task        // nil when in no bucket
}

const (
	taskWaits int32 = iota
	taskRan
	taskCancelled
)

const (
	maxTime  = int64(1) << 62
	maxDelay = 100 * 365 * 24 * time.Hour // longer ones are cut to it

	// flushBatch is how many tasks are moved before others get the lock.
	flushBatch = 1024
)

// NewTimer starts the timer's goroutine; Stop ends it.
func NewTimer() *Timer {
	t := &Timer{
		start: time.Now(),
		wheel: newWheel(1, 0),
		wake:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	t.ready.init()
	go t.loop()
	return t
}

// After runs f once on the timer's goroutine after d, never earlier, unless the returned
// task is cancelled first. d <= 0 runs it as soon as the goroutine is free. f must not
// wait for long: all other tasks wait for it. After Stop nothing runs.
func (t *Timer) After(d time.Duration, f func()) *Task {
	task := &Task{timer: t, run: f}
	t.add(task, d)
	return task
}

func (t *Timer) add(task *Task, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || task.state.Load() != taskWaits {
		return
	}
	elapsed := time.Since(t.start)
	now := int64(elapsed / time.Millisecond)
	// Rounded up, so that nothing runs early.
	task.expiration = int64((elapsed + min(max(d, 0), maxDelay) + time.Millisecond - 1) / time.Millisecond)
	if len(t.due) == 0 || t.due[0].expiration > now {
		t.wheel.advance(now) // a timer that slept for long starts from the present
	}
	t.size++
	t.pending.Store(int64(t.size))
	if !t.insert(task, now) {
		t.ready.add(task)
		t.wakeBy(now)
	}
}

// insert puts a task into its bucket. False: it is due. The caller holds mu.
func (t *Timer) insert(task *Task, now int64) bool {
	if task.expiration <= now {
		return false
	}
	b, first := t.wheel.place(task.expiration)
	if b == nil {
		return false
	}
	b.add(task)
	if first {
		heap.Push(&t.due, b)
		t.wakeBy(b.expiration)
	}
	return true
}

// wakeBy sees to it that the goroutine looks at the clock at that time. The caller holds mu.
func (t *Timer) wakeBy(at int64) {
	if at < t.sleeps {
		t.sleeps = at
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// Cancel reports whether it came before the run. A cancelled task is gone at once.
func (task *Task) Cancel() bool {
	if !task.state.CompareAndSwap(taskWaits, taskCancelled) {
		return false
	}
	t := task.timer
	t.mu.Lock()
	defer t.mu.Unlock()
	if task.next != nil {
		task.unlink()
		t.size--
		t.pending.Store(int64(t.size))
	}
	return true
}

// Len is how many tasks wait.
func (t *Timer) Len() int { return int(t.pending.Load()) }

// Stop ends the goroutine and waits for it, and for the task that is running. What waits
// is never run. It must not be called from a task.
func (t *Timer) Stop() {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
	<-t.done
}

// loop is the timer's goroutine: Kafka's ExpirationReaper.
func (t *Timer) loop() {
	defer close(t.done)
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	var run []*Task
	for {
		run = t.advance(run[:0])
		for i, task := range run {
			run[i] = nil
			if task.state.CompareAndSwap(taskWaits, taskRan) {
				task.run()
			}
		}
		sleep, ok := t.rest()
		switch {
		case !ok:
			return
		case sleep == forEver:
			<-t.wake
		case sleep > 0:
			alarm.Reset(sleep)
			select {
			case <-alarm.C:
			case <-t.wake:
			}
		}
	}
}

// advance moves the clock to the present, bucket by bucket, and collects what is due.
func (t *Timer) advance(run []*Task) []*Task {
	var moving bucket
	moving.init()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sleeps = 0 // awake: nobody needs to wake us
	for {
		now := t.now()
		moving.takeAll(&t.ready)
		run = t.collect(run, &moving, maxTime)
		if len(t.due) == 0 || t.due[0].expiration > now || t.stopped {
			return run
		}
		b := heap.Pop(&t.due).(*bucket)
		t.wheel.advance(b.expiration)
		b.expiration = notQueued
		moving.takeAll(b)
		run = t.collect(run, &moving, now)
	}
}

// collect takes the tasks out of moving: those due at now to run, the others to a lower
// wheel. It lets go of mu between batches; meanwhile tasks of moving can be cancelled.
func (t *Timer) collect(run []*Task, moving *bucket, now int64) []*Task {
	for n := 1; !moving.empty(); n++ {
		task := moving.sentinel.next
		task.unlink()
		if !t.insert(task, now) {
			run = append(run, task)
			t.size--
			t.pending.Store(int64(t.size))
		}
		if n%flushBatch == 0 {
			t.mu.Unlock()
			t.mu.Lock()
		}
	}
	return run
}

const forEver = time.Duration(math.MaxInt64)

// rest says how long the goroutine may sleep. False: not at all, the timer is stopped.
func (t *Timer) rest() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.stopped:
		return 0, false
	case !t.ready.empty():
		return 0, true
	case len(t.due) == 0:
		t.sleeps = maxTime
		return forEver, true
	}
	t.sleeps = t.due[0].expiration
	return time.Until(t.start.Add(time.Duration(t.sleeps) * time.Millisecond)), true
}

func (t *Timer) now() int64 { return int64(time.Since(t.start) / time.Millisecond) }
