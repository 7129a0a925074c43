package replica

import (
	"slices"
	"time"

	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// contextKind says how a fetch stands to sessions. Mirrors the subclasses of
// FetchContext.
type contextKind int8

const (
	sessionless      contextKind = iota // no session wanted, or an old client
	fullFetch                           // everything is named and everything is answered; a session may begin
	incrementalFetch                    // only changes are named, only news is answered
	sessionFailed                       // the session is unknown or out of step
)

// FetchContext is one fetch request seen through its session. Use it in this order:
// Code, Refuse, Manager.FetchIn, Finish.
type FetchContext struct {
	kind         contextKind
	code         kafkaerr.Code
	check        func(*FetchPartition) kafkaerr.Code // Refuse's
	parts        []FetchPartition                    // outside of a session: all that was asked for
	readable     []FetchPartition                    // of these, what check lets pass
	failed       []FetchResult                       // what it does not
	cache        *FetchSessionCache                  // fullFetch
	fromFollower bool                                // fullFetch
	session      *fetchSession                       // incrementalFetch
	epoch        int32                               // incrementalFetch: the session's after this request
}

// Code is the top-level error of a request whose session is unknown
// (FETCH_SESSION_ID_NOT_FOUND) or out of step (INVALID_FETCH_SESSION_EPOCH); such a
// request is answered with no partitions and session id 0. Otherwise None.
func (x *FetchContext) Code() kafkaerr.Code { return x.code }

// Refuse sets what may not be read: a partition for which check has a code is answered
// with that. What changes its mind about one must touch the partition afterwards
// (Manager.UpdateMetadata does). It is called under the session's lock.
func (x *FetchContext) Refuse(check func(*FetchPartition) kafkaerr.Code) { x.check = check }

// VisitAll makes an incremental fetch look at every partition of the session.
func (x *FetchContext) VisitAll() {
	if x.kind == incrementalFetch {
		x.session.mu.Lock()
		defer x.session.mu.Unlock()
		x.session.touchAll()
	}
}

// Partitions is what is to be read, in serving order. Of an incremental fetch: the part
// of the session of which there may be something to tell.
func (x *FetchContext) Partitions() []FetchPartition {
	var out []FetchPartition
	for _, v := range x.open() {
		out = append(out, v.FetchPartition)
	}
	return out
}

// open is visits at the beginning of a request, when what may not be read is sorted out.
func (x *FetchContext) open() []visit {
	x.failed = nil
	x.readable = x.parts
	if x.kind != incrementalFetch {
		for i := range x.parts {
			if x.refuses(&x.parts[i]) {
				if len(x.failed) == 1 { // mostly none is refused, and nothing is copied
					x.readable = slices.Clone(x.parts[:i])
				}
			} else if len(x.failed) > 0 {
				x.readable = append(x.readable, x.parts[i])
			}
		}
		return x.visits(nil)
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	return slices.DeleteFunc(x.session.visits(FinalFetchEpoch, nil), func(v visit) bool {
		v.cached.refused = InitialFetchEpoch // no request of a session has it
		if x.refuses(&v.FetchPartition) {
			v.cached.refused = x.epoch
			return true
		}
		return false
	})
}

// refusal is the code for which p may not be read.
func (x *FetchContext) refusal(p *FetchPartition) kafkaerr.Code {
	if x.check == nil {
		return kafkaerr.None
	}
	return x.check(p)
}

// refuses answers p if it may not be read.
func (x *FetchContext) refuses(p *FetchPartition) bool {
	code := x.refusal(p)
	if code != kafkaerr.None {
		x.failed = append(x.failed, FailedFetch(p.Partition, code))
	}
	return code != kafkaerr.None
}

// visits appends what is to be read now, in serving order, to buf.
func (x *FetchContext) visits(buf []visit) []visit {
	if x.kind == incrementalFetch {
		x.session.mu.Lock()
		defer x.session.mu.Unlock()
		return x.session.visits(x.epoch, buf)
	}
	for i := range x.readable {
		buf = append(buf, visit{FetchPartition: x.readable[i], start: unknownOffset})
	}
	return buf
}

// empty says that there is nothing to read now and nothing to wait for. After open.
func (x *FetchContext) empty() bool {
	if x.kind != incrementalFetch {
		return len(x.readable) == 0
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	return len(x.session.partitions) == len(x.failed)
}

// begin notes who fetches, and when. A follower's fetch counts for the quiet
// partitions, too; a session that changes its reader looks at everything anew.
func (x *FetchContext) begin(r reader, now time.Time) {
	if x.kind != incrementalFetch {
		return
	}
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != r {
		s.touchAll()
		s.reader = r
	}
	s.lastFetch = now
}

// began notes where the reads of vs began: from there a parked fetch measures.
func (x *FetchContext) began(vs []visit, results []FetchResult) {
	if x.kind == incrementalFetch {
		x.session.mu.Lock()
		defer x.session.mu.Unlock()
	}
	for i := range vs {
		vs[i].start = results[i].start
		if c := vs[i].cached; c != nil {
			c.start = results[i].start
		}
	}
}

// Finish turns the results of FetchIn into the answer: the session id, the top-level
// code and the results to send, the refused ones at the end. For an incremental fetch
// those that say nothing new are left out, in the same array; on an error all are, and
// their data is released. Call it once.
func (x *FetchContext) Finish(results []FetchResult) (sessionID int32, code kafkaerr.Code, answer []FetchResult) {
	results = append(results, x.failed...)
	switch x.kind {
	case sessionFailed:
		releaseAll(results)
		return NoFetchSession, x.code, nil
	case fullFetch:
		return x.cache.create(x.parts, results, x.fromFollower), kafkaerr.None, results
	case incrementalFetch:
		return x.finishIncremental(results)
	}
	return NoFetchSession, kafkaerr.None, results
}

func (x *FetchContext) finishIncremental(results []FetchResult) (int32, kafkaerr.Code, []FetchResult) {
	s := x.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != x.epoch { // the client sent the request twice, the other one went on
		releaseAll(results)
		return s.id, kafkaerr.InvalidFetchSessionEpoch, nil
	}
	answer := results[:0]
	for i := range results {
		r := &results[i]
		c := s.partitions[r.Partition]
		if c == nil {
			r.Release()
			continue
		}
		news := c.tell(r)
		if x.refusal(&c.request) == kafkaerr.None { // it may have come while the fetch waited
			s.settle(c, r)
		}
		if !news {
			r.Release()
			continue
		}
		s.moveToEnd(c)
		answer = append(answer, *r)
	}
	return s.id, kafkaerr.None, answer
}

// Throttled is the answer instead of Finish when a quota delays the client: no
// partitions, and the session stays as it is.
func (x *FetchContext) Throttled() (sessionID int32, code kafkaerr.Code) {
	if x.kind != incrementalFetch {
		return NoFetchSession, kafkaerr.None
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	if x.session.epoch != x.epoch {
		return x.session.id, kafkaerr.InvalidFetchSessionEpoch
	}
	return x.session.id, kafkaerr.None
}

// FailedFetch is the result of a partition that could not be read: no data, all
// marks -1, as Kafka answers errors.
func FailedFetch(p topic.Partition, code kafkaerr.Code) FetchResult {
	return FetchResult{
		Partition: p, Code: code,
		HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		DivergingEpoch: -1, DivergingEndOffset: -1, PreferredReadReplica: -1,
	}
}

// Release gives up the data, if there is any. It may be called again.
func (r *FetchResult) Release() {
	if r.Data.File != nil {
		r.Data.Release()
		r.Data = commitlog.Slice{}
	}
}

func releaseAll(results []FetchResult) {
	for i := range results {
		results[i].Release()
	}
}

// withoutDuplicates keeps one entry per partition, the last one's terms at the first
// one's place, as Kafka's LinkedHashMap does. Nearly every request has none, and is
// returned as it is.
func withoutDuplicates(parts []FetchPartition) []FetchPartition {
	const few = 8
	if len(parts) <= few {
		for i := range parts {
			for j := range i {
				if parts[i].Partition == parts[j].Partition {
					return mergeDuplicates(parts)
				}
			}
		}
		return parts
	}
	return mergeDuplicates(parts)
}

func mergeDuplicates(parts []FetchPartition) []FetchPartition {
	at := make(map[topic.Partition]int, len(parts))
	out := parts[:0:0]
	for i, p := range parts {
		if first, again := at[p.Partition]; again {
			out[first] = p
			continue
		}
		at[p.Partition] = len(out)
		out = append(out, parts[i])
	}
	return out
}
