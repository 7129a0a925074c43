package consumer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/wire"
)

// fetcher is one broker's goroutine: resolve starts, fetch, hand over, again.
type fetcher struct {
	c    *Consumer
	node int32
	wake chan struct{} // one token: there are partitions to read
}

// answer is one Fetch answer with records, or an error for Poll.
type answer struct {
	parts []Fetched
	mu    sync.Mutex // guards left
	left  int        // pieces not yet released
	call  *wire.Call
}

// hold counts one piece more: a part was split.
func (a *answer) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left++
}

// release counts down; the last part gives the frame back.
func (a *answer) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left--; a.left == 0 {
		a.call.Release()
	}
}

func (f *fetcher) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *fetcher) run() {
	for f.c.ctx.Err() == nil {
		mine := f.mine()
		if len(mine) == 0 {
			select {
			case <-f.wake:
			case <-f.c.ctx.Done():
			}
			continue
		}
		conn, err := f.c.client.Connect(f.c.ctx, f.node)
		if err == nil && needsStart(mine) {
			err = f.resolve(conn, mine)
		}
		if err == nil && needsCheck(mine) {
			err = f.validate(conn, f.mine())
		}
		var a *answer
		if err == nil {
			a, err = f.fetch(conn, f.mine())
		}
		if err != nil {
			f.lost(mine)
			f.c.pause(f.c.cfg.Client.RetryBackoff)
			continue
		}
		if a == nil {
			continue
		}
		select {
		case f.c.fetched <- a:
		case <-f.c.ctx.Done():
		}
	}
}

// mine copies the positions this broker leads, sorted, so that no lock is held over a request.
func (f *fetcher) mine() []position {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	var out []position
	for _, p := range f.c.parts {
		if p.leader == f.node && p.fetchable() {
			out = append(out, *p)
		}
	}
	slices.SortFunc(out, func(a, b position) int { return a.part.Compare(b.part) })
	return out
}

// lost gives the partitions back to the keeper: there may be a new leader.
func (f *fetcher) lost(parts []position) {
	for _, p := range parts {
		f.set(p, func(pos *position) { pos.leader = client.NoLeader })
	}
	f.c.lookForLeaders()
}

// set changes a position, if it is still this fetcher's and has not jumped since p was copied.
func (f *fetcher) set(p position, change func(*position)) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if pos := f.c.parts[p.part]; pos != nil && pos.leader == f.node && pos.version == p.version {
		change(pos)
	}
}

// byPart finds the copies again by what an answer names.
func byPart(parts []position) map[topic.Partition]position {
	out := make(map[topic.Partition]position, len(parts))
	for _, p := range parts {
		out[p.part] = p
	}
	return out
}

func needsStart(parts []position) bool {
	return slices.ContainsFunc(parts, func(p position) bool { return p.offset < 0 })
}

// errUnanswered is said of an answer that leaves out what was asked: it is as good as none. Taking it for
// one would mean to ask again at once, for ever.
var errUnanswered = kafkaerr.New(kafkaerr.NetworkException, "the answer does not name the partition")

// ask sends what is not a Fetch, and waits for the answer.
func (f *fetcher) ask(conn *client.Conn, req kmsg.Request) (kmsg.Response, error) {
	if err := conn.Prepare(req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, f.c.cfg.Client.RequestTimeout)
	defer cancel()
	return conn.Do(ctx, req)
}

// resolve asks the leader for the offsets of the partitions that start at an end.
func (f *fetcher) resolve(conn *client.Conn, parts []position) error {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p position) bool { return p.offset >= 0 })
	req := listOffsets(parts)
	resp, err := f.ask(conn, req)
	if err != nil {
		return err
	}
	asked := byPart(parts)
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if code := kafkaerr.Code(p.ErrorCode); code != kafkaerr.None {
				return code
			}
			tp := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			f.set(asked[tp], func(pos *position) { pos.offset, pos.consumed = p.Offset, p.Offset })
			delete(asked, tp)
		}
	}
	if len(asked) > 0 {
		return errUnanswered
	}
	f.c.announce() // Position may wait for it
	return nil
}

// fetch asks for every partition at once. It returns nil when nothing came before
// fetch.max.wait.ms was over.
func (f *fetcher) fetch(conn *client.Conn, parts []position) (*answer, error) {
	req := f.request(parts)
	if len(req.Topics) == 0 {
		return nil, nil // all of them have to be asked about first
	}
	if err := conn.Prepare(req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, f.c.cfg.Client.RequestTimeout)
	defer cancel()
	call, err := conn.Start(req)
	if err != nil {
		return nil, err
	}
	resp, err := call.Wait(ctx)
	if err != nil {
		return nil, err
	}
	r := resp.(*kmsg.FetchResponse)
	if r.ErrorCode != 0 {
		return nil, kafkaerr.Code(r.ErrorCode)
	}
	if r.ThrottleMillis > 0 {
		f.c.pause(time.Duration(r.ThrottleMillis) * time.Millisecond)
	}
	return f.take(parts, r, call), nil
}

func (f *fetcher) request(parts []position) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = -1
	req.MaxWaitMillis = int32(f.c.cfg.MaxWait.Milliseconds())
	req.MinBytes, req.MaxBytes = int32(f.c.cfg.MinBytes), int32(f.c.cfg.MaxBytes)
	req.SessionID, req.SessionEpoch = 0, -1
	for _, p := range parts {
		if !p.asks() {
			continue
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset = p.part.Partition, p.offset
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch, rp.LogStartOffset = p.leaderEpoch, -1, -1
		rp.PartitionMaxBytes = int32(f.c.cfg.PartitionMaxBytes)
		n := len(req.Topics)
		if n == 0 || req.Topics[n-1].Topic != p.part.Topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = p.part.Topic
			req.Topics = append(req.Topics, t)
			n++
		}
		req.Topics[n-1].Partitions = append(req.Topics[n-1].Partitions, rp)
	}
	return req
}

// take moves the positions and packs what came. Partitions with an error are dealt with here.
func (f *fetcher) take(parts []position, r *kmsg.FetchResponse, call *wire.Call) *answer {
	asked := byPart(slices.DeleteFunc(slices.Clone(parts), func(p position) bool { return !p.asks() }))
	a := &answer{call: call}
	for _, t := range r.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			tp := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			at, ok := asked[tp]
			delete(asked, tp)
			switch {
			case !ok:
			case p.ErrorCode != 0:
				f.refused(at, kafkaerr.Code(p.ErrorCode))
			case len(p.RecordBatches) > 0:
				good, next, err := readable(p.RecordBatches, at.offset)
				if err != nil {
					err = fmt.Errorf("fetch %v at offset %d: %w", at.part, next, err)
				}
				f.set(at, func(pos *position) { pos.offset, pos.err = next, err })
				if err != nil {
					f.c.announce()
				}
				if next > at.offset {
					a.parts = append(a.parts, Fetched{Partition: at.part, From: at.offset, To: next, HighWatermark: p.HighWatermark,
						Bytes: good, checkCRC: f.c.cfg.CheckCRC, version: at.version, answer: a})
				}
			}
		}
	}
	if len(asked) > 0 && r.ThrottleMillis == 0 { // who is throttled gets an empty answer
		f.lost(slices.Collect(maps.Values(asked)))
	}
	if a.left = len(a.parts); a.left == 0 {
		call.Release()
		return nil
	}
	return a
}

// refused handles one partition's error.
func (f *fetcher) refused(p position, code kafkaerr.Code) {
	switch {
	case code == kafkaerr.OffsetOutOfRange && f.c.cfg.NoReset:
		f.failed(p, kafkaerr.Wrap(code, "fetch "+p.part.String(), ErrNoOffset))
	case code == kafkaerr.OffsetOutOfRange:
		f.set(p, func(pos *position) { pos.jump(f.c.cfg.reset(), -1) })
	case code.Retriable():
		f.lost([]position{p})
	default:
		f.failed(p, kafkaerr.Wrap(code, "fetch "+p.part.String(), nil))
	}
}

// failed leaves an error for Poll; the partition is not read any more.
func (f *fetcher) failed(p position, err error) {
	f.set(p, func(pos *position) { pos.err = err })
	f.c.announce()
}

// readable cuts off what stands in front of the first batch that cannot be read, and
// says which offset follows it: from when nothing does.
func readable(b []byte, from int64) (good []byte, next int64, err error) {
	next = from
	size := 0
	for batch, err := range record.Batches(b) {
		if err != nil {
			return b[:size], next, err
		}
		size += len(batch)
		next = max(next, batch.LastOffset()+1)
	}
	return b[:size], next, nil
}
