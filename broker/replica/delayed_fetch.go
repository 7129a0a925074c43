package replica

import (
	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// delayedFetch is a fetch that waits for MinBytes. Mirrors DelayedFetch. It completes
// exactly once, woken by
//
//	progress         an append (followers), the high watermark (consumers), a roll, a truncation
//	time             MaxWait: it is answered with whatever there is
//	leadership lost  the partition moved, was fenced, deleted or lost its disk
//
// whichever comes first. On completion everything is read again.
type delayedFetch struct {
	m       *Manager
	params  FetchParams
	parts   []FetchPartition
	starts  []commitlog.OffsetMetadata // where each read began; unknownOffset: do not look
	respond func([]FetchResult)
}

func newDelayedFetch(m *Manager, p FetchParams, parts []FetchPartition, results []FetchResult, respond func([]FetchResult)) *delayedFetch {
	d := &delayedFetch{m: m, params: p, parts: parts, respond: respond, starts: make([]commitlog.OffsetMetadata, len(parts))}
	for i := range results {
		d.starts[i] = results[i].start
	}
	return d
}

func (d *delayedFetch) keys() []topic.Partition {
	keys := make([]topic.Partition, len(d.parts))
	for i := range d.parts {
		keys[i] = d.parts[i].Partition
	}
	return keys
}

// TryComplete adds up what there is to read without reading it, from positions
// alone, and stops at the first partition that settles the matter. It allocates
// nothing: a parked fetch of many partitions is asked at every append to any.
func (d *delayedFetch) TryComplete(force func() bool) bool {
	iso, leaderOnly := d.params.isolation(), d.params.leaderOnly()
	bytes := 0
	for i := range d.parts {
		if d.starts[i].Offset < 0 {
			continue
		}
		p, code := d.m.partition(d.parts[i].Partition)
		if code != kafkaerr.None {
			return force()
		}
		end, diverged, code := p.snapshot(d.parts[i], iso, leaderOnly)
		if code != kafkaerr.None || diverged {
			return force()
		}
		n, settled := readable(d.starts[i], end, d.parts[i].MaxBytes)
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
func (d *delayedFetch) OnComplete() { d.respond(d.m.readAll(d.params, d.parts)) }

// OnExpiration has nothing to add: whatever there is was just answered.
func (d *delayedFetch) OnExpiration() {}
