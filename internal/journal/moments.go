package journal

import (
	"sync"
	"sync/atomic"
)

// A Moment is a named point in the code where a broker can be frozen or killed from
// outside. Unarmed it costs one atomic load.
type Moment string

// Every moment there is.
const (
	MomentControllerElected    Moment = "controller.elected"    // after /controller was won, before failover
	MomentControllerZkWrite    Moment = "controller.zk-write"   // before a fenced write is sent
	MomentControllerSend       Moment = "controller.send"       // before a request goes to a broker; detail = API name
	MomentLeaderAppend         Moment = "leader.append"         // after the leader's local append; detail = partition
	MomentLeaderHWAdvance      Moment = "leader.hw-advance"     // after the leader raised the high watermark
	MomentLeaderWriteISR       Moment = "leader.write-isr"      // before the conditional write of state
	MomentFollowerFetch        Moment = "follower.fetch"        // before a fetch is sent
	MomentFollowerAppend       Moment = "follower.append"       // before fetched records are appended
	MomentFollowerTruncated    Moment = "follower.truncated"    // after a truncation
	MomentCoordinatorRebalance Moment = "coordinator.rebalance" // a generation is decided, nobody is told yet; detail = group
	MomentCoordinatorCommit    Moment = "coordinator.commit"    // offsets are replicated, the commit not answered yet; detail = group
	MomentLogRoll              Moment = "log.roll"              // between finishing the old segment and making the new one
	MomentLogFlush             Moment = "log.flush"             // before an fsync
	MomentSessionExpired       Moment = "session.expired"       // before a new session is opened
)

// Moments lists them, in the order of a record's and a failover's way through the code.
func Moments() []Moment {
	return []Moment{
		MomentControllerElected, MomentControllerZkWrite, MomentControllerSend,
		MomentLeaderAppend, MomentLeaderHWAdvance, MomentLeaderWriteISR,
		MomentFollowerFetch, MomentFollowerAppend, MomentFollowerTruncated,
		MomentLogRoll, MomentLogFlush, MomentSessionExpired,
	}
}

type moments struct {
	armed atomic.Int32 // how many are armed
	mu    sync.Mutex
	acts  map[Moment]map[*func(detail string)]struct{}
}

// At is where a moment stands in the code. When armed it runs the action on this
// goroutine; the action may block (freeze) or end the process (kill). detail says
// which partition, path or API. Call it with no lock held, or say which.
func (j *Journal) At(m Moment, detail string) {
	if j == nil || j.moments.armed.Load() == 0 {
		return
	}
	j.moments.mu.Lock()
	var todo []func(string)
	for f := range j.moments.acts[m] {
		todo = append(todo, *f)
	}
	j.moments.mu.Unlock()
	for _, f := range todo {
		f(detail)
	}
}

// Arm runs action each time the moment comes, until disarmed.
func (j *Journal) Arm(m Moment, action func(detail string)) (disarm func()) {
	key := &action
	ms := &j.moments
	ms.mu.Lock()
	if ms.acts == nil {
		ms.acts = map[Moment]map[*func(string)]struct{}{}
	}
	if ms.acts[m] == nil {
		ms.acts[m] = map[*func(string)]struct{}{}
	}
	ms.acts[m][key] = struct{}{}
	ms.armed.Add(1)
	ms.mu.Unlock()
	return sync.OnceFunc(func() {
		ms.mu.Lock()
		delete(ms.acts[m], key)
		ms.armed.Add(-1)
		ms.mu.Unlock()
	})
}
