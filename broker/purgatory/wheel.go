package purgatory

// wheel is one level of the hierarchical timing wheel. It mirrors Kafka's TimingWheel.
//
// A wheel is a ring of wheelSize buckets. Each stands for one tick of the wheel, and holds
// the tasks of that tick in no order:
//
//	level   tick      one round
//	0       1 ms      20 ms
//	1       20 ms     400 ms
//	2       400 ms    8 s
//	k       20^k ms   20^(k+1) ms
//
// A task goes to the lowest wheel whose round reaches it. When the clock reaches a bucket
// of level 0, its tasks are due; when it reaches a bucket of a higher level, its tasks are
// added again and fall to a lower wheel. So a task is moved at most once a level, and
// adding it, or taking it out, is a handful of pointers whatever else waits.
//
// Times are in ticks of level 0 (milliseconds) since the timer's start. All fields are
// guarded by the Timer's lock.
type wheel struct {
	tick     int64  // the time one bucket stands for
	interval int64  // tick * wheelSize
	now      int64  // the clock, rounded down to a multiple of tick
	overflow *wheel // the next level; made when it is first needed
	buckets  [wheelSize]bucket
}

const wheelSize = 20

func newWheel(tick, now int64) *wheel {
	w := &wheel{tick: tick, interval: tick * wheelSize, now: now - now%tick}
	for i := range w.buckets {
		w.buckets[i].init()
	}
	return w
}

// place finds the bucket for a time, or nil when that time is now or past. first says
// that the bucket begins a new round and has to be put on the queue of buckets.
func (w *wheel) place(expiration int64) (b *bucket, first bool) {
	for ; ; w = w.above() {
		switch {
		case expiration < w.now+w.tick:
			return nil, false
		case expiration < w.now+w.interval:
			b = &w.buckets[(expiration/w.tick)%wheelSize]
			return b, b.setExpiration(expiration - expiration%w.tick)
		}
	}
}

func (w *wheel) above() *wheel {
	if w.overflow == nil {
		w.overflow = newWheel(w.interval, w.now)
	}
	return w.overflow
}

// advance moves the clocks of this level and all above. No bucket that begins at or
// before now may hold a task any more.
func (w *wheel) advance(now int64) {
	for ; w != nil && now >= w.now+w.tick; w = w.overflow {
		w.now = now - now%w.tick
	}
}

// bucket is the tasks of one tick: a ring around a sentinel. It mirrors Kafka's
// TimerTaskList.
type bucket struct {
	expiration int64 // when the bucket is due; notQueued when it is not on the queue
	sentinel   Task
}

const notQueued = -1

func (b *bucket) init() {
	b.expiration = notQueued
	b.sentinel.next, b.sentinel.prev = &b.sentinel, &b.sentinel
}

// setExpiration reports whether the expiration changed: a bucket is queued once a round.
func (b *bucket) setExpiration(at int64) bool {
	if b.expiration == at {
		return false
	}
	b.expiration = at
	return true
}

func (b *bucket) add(t *Task) {
	last := b.sentinel.prev
	t.prev, t.next = last, &b.sentinel
	last.next, b.sentinel.prev = t, t
}

func (b *bucket) empty() bool { return b.sentinel.next == &b.sentinel }

// takeAll moves all tasks of from into b, which is empty.
func (b *bucket) takeAll(from *bucket) {
	if from.empty() {
		return
	}
	first, last := from.sentinel.next, from.sentinel.prev
	first.prev, last.next = &b.sentinel, &b.sentinel
	b.sentinel.next, b.sentinel.prev = first, last
	from.sentinel.next, from.sentinel.prev = &from.sentinel, &from.sentinel
}

// unlink takes a task out of whatever bucket it is in.
func (t *Task) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next = nil, nil
}

// dueQueue orders buckets by expiration, for container/heap. There are at most twenty
// buckets for each level, whatever the number of tasks. It is the part of Kafka's
// DelayQueue that is needed here.
type dueQueue []*bucket

func (q dueQueue) Len() int           { return len(q) }
func (q dueQueue) Less(i, j int) bool { return q[i].expiration < q[j].expiration }
func (q dueQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *dueQueue) Push(x any)        { *q = append(*q, x.(*bucket)) }

func (q *dueQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
