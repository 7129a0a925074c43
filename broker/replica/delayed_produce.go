package replica

import (
	"sync"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// produceStatus is one partition of a produce request after its append.
type produceStatus struct {
	id         topic.Partition
	p          *Partition // that was appended to; nil if failed
	result     ProduceResult
	required   int64 // the high watermark that commits it
	leadsSince int32 // the reign it was appended in
	hwMoved    bool  // the append raised the high watermark
	failed     bool
	empty      bool // nothing was appended
	waiting    bool // for its acks
}

// delayedProduce is an acks=all request that waits for the high watermark of its
// partitions. Mirrors DelayedProduce. It completes exactly once, woken by
//
//	progress         the high watermark rose (a follower's fetch, an ISR change)
//	time             request timeout: who still waits gets REQUEST_TIMED_OUT
//	leadership lost  LeaderAndIsr, StopReplica or a failed disk: NOT_LEADER_OR_FOLLOWER …
//
// whichever comes first. The records stay in the log in all cases.
type delayedProduce struct {
	m       *Manager
	respond func(map[topic.Partition]ProduceResult)

	// mu guards statuses: the timer may complete the request while somebody looks at it.
	// It is held over acked, so before a partition's lock; never over respond.
	mu       sync.Mutex
	statuses []produceStatus
}

func newDelayedProduce(m *Manager, statuses []produceStatus, respond func(map[topic.Partition]ProduceResult)) *delayedProduce {
	d := &delayedProduce{m: m, statuses: make([]produceStatus, len(statuses)), respond: respond}
	copy(d.statuses, statuses) // the caller reads its own after we were parked
	for i := range d.statuses {
		s := &d.statuses[i]
		if s.waiting = !s.failed; s.waiting {
			s.result.Code = kafkaerr.RequestTimedOut // unless something better comes
		}
	}
	return d
}

func (d *delayedProduce) keys() []topic.Partition {
	keys := make([]topic.Partition, len(d.statuses))
	for i := range d.statuses {
		keys[i] = d.statuses[i].id
	}
	return keys
}

// TryComplete looks at the partitions that still wait.
func (d *delayedProduce) TryComplete(force func() bool) bool { return !d.stillWaits() && force() }

func (d *delayedProduce) stillWaits() (waiting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.statuses {
		s := &d.statuses[i]
		if !s.waiting {
			continue
		}
		done, code := true, kafkaerr.None
		p, missing := d.m.partition(s.id)
		if missing != kafkaerr.None {
			code = missing
		} else {
			done, code = p.acked(s.required, s.leadsSince)
		}
		if done {
			s.waiting, s.result.Code = false, code
		}
		waiting = waiting || s.waiting
	}
	return waiting
}

// OnComplete answers.
func (d *delayedProduce) OnComplete() {
	d.mu.Lock()
	results := produceResults(d.statuses)
	d.mu.Unlock()
	d.respond(results)
}

// OnExpiration has nothing to add: the codes were set when the request was parked.
func (d *delayedProduce) OnExpiration() {}

func produceResults(statuses []produceStatus) map[topic.Partition]ProduceResult {
	out := make(map[topic.Partition]ProduceResult, len(statuses))
	for i := range statuses {
		out[statuses[i].id] = statuses[i].result
	}
	return out
}
