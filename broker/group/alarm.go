package group

import (
	"time"

	"kz/broker/purgatory"
)

// alarm is one timeout of a group or of a member: a task in the coordinator's timing
// wheel. Its fields are guarded by the group's lock. Kafka parks DelayedJoin,
// DelayedSync and DelayedHeartbeat in purgatories; here nobody but the group itself can
// end such a wait early, and it does so where it changes: the timing wheel is enough.
type alarm struct {
	task *purgatory.Task
	sets int // counts set and stop: who rings late compares it
}

// set lets f run under the group's lock after d, unless the alarm is set anew or stopped
// before. g.mu is held.
func (a *alarm) set(g *group, d time.Duration, f func()) {
	a.stop()
	sets := a.sets
	a.task = g.c.timer.After(d, func() {
		g.act(func() {
			if a.sets == sets { // not too late: it may have been on its way when it was stopped
				a.task = nil
				f()
			}
		})
	})
}

// stop is harmless when nothing is set. The group's lock is held.
func (a *alarm) stop() {
	a.sets++
	if a.task != nil {
		a.task.Cancel()
		a.task = nil
	}
}
