package replica

import (
	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
)

// delayedFetch is a fetch that waits for MinBytes. Mirrors DelayedFetch. It completes
// exactly once, woken by
//
//	progress         an append (followers), the high watermark (consumers), a roll, a truncation
//	time             MaxWait: it is answered with whatever there is
//	leadership lost  the partition moved, was fenced, deleted or lost its disk
//
// whichever comes first. On completion everything is read again. In a session that is
// what is awake then: everything that could wake the fetch has touched its partition
// before. So the fetch watches one key, its session.
type delayedFetch struct {
	m       *Manager
	params  FetchParams
	x       *FetchContext
	visits  []visit // with the places where the first reads began
	respond func([]FetchResult)
}

func (d *delayedFetch) keys() []fetchKey {
	if d.x.session != nil {
		return []fetchKey{{session: d.x.session}}
	}
	keys := make([]fetchKey, len(d.visits))
	for i := range d.visits {
		keys[i].partition = d.visits[i].Partition
	}
	return keys
}

// TryComplete adds up what there is to read without reading it, from positions
// alone, and stops at the first partition that settles the matter. It allocates
// nothing: a parked fetch of many partitions is asked at every append to any.
func (d *delayedFetch) TryComplete(force func() bool) bool {
	if d.x.session != nil {
		d.visits = d.x.visits(d.visits[:0])
	}
	iso, leaderOnly := d.params.isolation(), d.params.leaderOnly()
	bytes := 0
	for i := range d.visits {
		v := &d.visits[i]
		if v.start.Offset < 0 {
			continue
		}
		p, code := d.m.partition(v.Partition)
		if code != kafkaerr.None {
			return force()
		}
		end, diverged, code := p.snapshot(v.FetchPartition, iso, leaderOnly)
		if code != kafkaerr.None || diverged {
			return force()
		}
		n, settled := readable(v.start, end, v.MaxBytes)
		if bytes += n; settled || bytes >= d.params.MinBytes {
			return force()
		}
	}
	return false
}

// readable is how many bytes lie between a fetch's start and the end of what it may
// read, at most maxBytes. settled: they lie in different segments, so positions say
// nothing and there is a whole segment to read, or the log was truncated below the
// start. Equal offsets are never settled: after a roll the high watermark still has
// its place in the old segment. Ref: Kafka 2.8 DelayedFetch.tryComplete, case F, G.
func readable(start, end commitlog.OffsetMetadata, maxBytes int) (n int, settled bool) {
	switch {
	case start.Offset == end.Offset:
		return 0, false
	case start.SegmentBase != end.SegmentBase:
		return 0, true
	case start.Offset < end.Offset:
		return min(end.Position-start.Position, maxBytes), false
	}
	return 0, false
}

// OnComplete reads again and answers. It does not take the fetch as a second
// acknowledgement: the first one was counted when the request came.
func (d *delayedFetch) OnComplete() { d.respond(d.m.readAll(d.params, d.x.visits(nil))) }

// OnExpiration has nothing to add: whatever there is was just answered.
func (d *delayedFetch) OnExpiration() {}
