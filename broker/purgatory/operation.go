package purgatory

import (
	"sync"
	"sync/atomic"
)

// Operation is what a caller parks. Embed nothing; implement these three.
type Operation interface {
	// TryComplete checks the condition and, when it holds, calls force() and returns its
	// result. It runs under the operation's own lock, never twice at once.
	TryComplete(force func() bool) bool
	// OnComplete runs exactly once, on whoever completed it.
	OnComplete()
	// OnExpiration runs after OnComplete when the timer completed it.
	OnExpiration()
}

// parked is an operation on its way. It mirrors the state of Kafka's DelayedOperation.
//
// It is completed exactly once, by whoever sets done first: its own TryComplete (called
// by TryCompleteElseWatch, CheckAndComplete), its timeout, CompleteAll or Stop.
type parked struct {
	op      Operation
	force   func() bool // complete as a value, for TryComplete
	leave   func()      // tells the purgatory that one less waits; nil before it waits
	done    atomic.Bool
	timeout Task

	// trying is held around TryComplete. It is only ever tried: who finds it held sets
	// again, and the holder then tries once more, so that nobody waits and no progress is
	// missed. (A goroutine may hold a partition's lock here, and the holder of trying may
	// want that lock: waiting could be for ever.)
	trying sync.Mutex
	again  atomic.Bool
}

func newParked(op Operation, t *Timer) *parked {
	e := &parked{op: op}
	e.force = e.complete
	e.timeout.timer = t
	e.timeout.run = e.expire
	return e
}

// complete runs OnComplete if nobody did. It reports whether this call was the one.
func (e *parked) complete() bool {
	if !e.done.CompareAndSwap(false, true) {
		return false
	}
	e.timeout.Cancel()
	if e.leave != nil {
		e.leave()
	}
	e.op.OnComplete()
	return true
}

// expire is the timeout; it runs on the timer's goroutine.
func (e *parked) expire() {
	if e.complete() {
		e.op.OnExpiration()
	}
}

// tryComplete tries the condition unless somebody else is at it; then that one tries
// again. It reports whether this call completed the operation.
func (e *parked) tryComplete() (completed bool) {
	for retry := true; retry && !completed && !e.done.Load(); {
		if e.trying.TryLock() {
			e.again.Store(false)
			completed = e.op.TryComplete(e.force)
			e.trying.Unlock()
			retry = e.again.Load() // somebody came meanwhile, with news
		} else {
			// When again was set already, whoever holds trying is bound to see it. Otherwise
			// it may just have looked and gone: try once more.
			retry = !e.again.Swap(true)
		}
	}
	return completed
}
