// Package purgatory parks operations until a condition holds, time runs out, or they are cancelled.
// It knows nothing of Kafka: K is what is watched, an Operation is what waits.
package purgatory

import "time"

// Operation is what a caller parks. Embed nothing; implement these three.
type Operation interface {
	// TryComplete checks the condition and, when it holds, calls force() and returns its result. It runs under the
	// operation's own lock, never twice at once.
	TryComplete(force func() bool) bool
	// OnComplete runs exactly once, on whoever completed it.
	OnComplete()
	// OnExpiration runs after OnComplete when the timer completed it.
	OnExpiration()
}

// Purgatory is Kafka's DelayedOperationPurgatory.
type Purgatory[K comparable] struct{}

// New starts the reaper goroutine (ExpirationReaper); Stop ends it.
func New[K comparable](name string, purgeInterval int) *Purgatory[K] { panic("contract") }

// TryCompleteElseWatch tries once; if not done, watches every key, tries again, and arms the timer. Reports whether it is complete.
// timeout <= 0 expires at once (through the timer's own path).
func (p *Purgatory[K]) TryCompleteElseWatch(op Operation, timeout time.Duration, keys ...K) bool {
	panic("contract")
}

// CheckAndComplete tries every operation that watches key; it returns how many it completed.
// Call it with no lock held that an OnComplete may want.
func (p *Purgatory[K]) CheckAndComplete(key K) int { panic("contract") }

// CompleteAll force-completes every operation watching key (leadership lost, shutdown).
func (p *Purgatory[K]) CompleteAll(key K) int { panic("contract") }

func (p *Purgatory[K]) Watched() int { panic("contract") } // entries in watch lists
func (p *Purgatory[K]) Delayed() int { panic("contract") } // entries in the timer

// Stop force-completes everything still parked, so everyone left waiting gets an answer, and ends the reaper.
func (p *Purgatory[K]) Stop() { panic("contract") }

// Timer is the hierarchical timing wheel by itself (also used by later rooms: sessions of group members).
type Timer struct{}

func NewTimer() *Timer { panic("contract") }

// After runs f once on the timer's goroutine after d, unless the returned task is cancelled first.
func (t *Timer) After(d time.Duration, f func()) *Task { panic("contract") }
func (t *Timer) Stop()                                 { panic("contract") }

type Task struct{}

// Cancel reports whether it came before the run.
func (t *Task) Cancel() bool { panic("contract") }
