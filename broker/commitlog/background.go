package commitlog

import (
	"container/heap"
	"sync"
	"time"
)

// remover waits out file.delete.delay.ms. It serves every log of a manager on one
// goroutine, which ends when stop is closed; what is then still waiting is let go
// without unlinking, for the next start to do.
type remover struct {
	mu      sync.Mutex
	waiting removals
	stopped bool
	wake    chan struct{} // holds one: something is due earlier than the goroutine thinks
}

type removal struct {
	due    time.Time
	remove func(unlink bool)
}

// removals is a heap by due time.
type removals []removal

func (r removals) Len() int           { return len(r) }
func (r removals) Less(i, j int) bool { return r[i].due.Before(r[j].due) }
func (r removals) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *removals) Push(x any)        { *r = append(*r, x.(removal)) }
func (r *removals) Pop() any {
	old := *r
	last := old[len(old)-1]
	*r = old[:len(old)-1]
	return last
}

func newRemover() *remover { return &remover{wake: make(chan struct{}, 1)} }

func (r *remover) later(delay time.Duration, remove func(unlink bool)) {
	r.mu.Lock()
	stopped := r.stopped
	if !stopped {
		heap.Push(&r.waiting, removal{time.Now().Add(delay), remove})
	}
	r.mu.Unlock()
	if stopped {
		remove(false)
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *remover) run(stop <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, wait := r.next()
		if next != nil {
			next(true)
			continue
		}
		timer.Reset(wait)
		select {
		case <-stop:
			return
		case <-r.wake:
		case <-timer.C:
		}
	}
}

// next takes out what is due, or says how long to wait.
func (r *remover) next() (remove func(bool), wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return nil, time.Hour
	}
	if wait = time.Until(r.waiting[0].due); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&r.waiting).(removal).remove, 0
}

// stop lets go of everything still waiting.
func (r *remover) stop() {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting, r.stopped = nil, true
	r.mu.Unlock()
	for _, w := range waiting {
		w.remove(false)
	}
}

// flusher fsyncs rolled segments off the append path, one goroutine per directory.
// A log waits in it at most once, however often it rolls.
type flusher struct {
	mu      sync.Mutex
	waiting map[*Log]struct{}
	wake    chan struct{} // holds one: something waits
}

func newFlusher() *flusher {
	return &flusher{waiting: map[*Log]struct{}{}, wake: make(chan struct{}, 1)}
}

func (f *flusher) later(l *Log) {
	f.mu.Lock()
	f.waiting[l] = struct{}{}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *flusher) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-f.wake:
		}
		f.mu.Lock()
		todo := f.waiting
		f.waiting = map[*Log]struct{}{}
		f.mu.Unlock()
		for l := range todo {
			select {
			case <-stop:
				return
			default:
				l.flushRolled() // an error has taken the directory offline, which is logged there
			}
		}
	}
}
