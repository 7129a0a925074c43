package replica

import (
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
// Code, Partitions, Finish.
type FetchContext struct {
	kind         contextKind
	code         kafkaerr.Code
	parts        []FetchPartition
	cache        *FetchSessionCache // fullFetch
	fromFollower bool               // fullFetch
	session      *fetchSession      // incrementalFetch
	epoch        int32              // incrementalFetch: the session's after this request
}

// Code is the top-level error of a request whose session is unknown
// (FETCH_SESSION_ID_NOT_FOUND) or out of step (INVALID_FETCH_SESSION_EPOCH); such a
// request is answered with no partitions and session id 0. Otherwise None.
func (x *FetchContext) Code() kafkaerr.Code { return x.code }

// Partitions is what is to be fetched, in serving order: the whole session for an
// incremental fetch. The slice belongs to the caller.
func (x *FetchContext) Partitions() []FetchPartition { return x.parts }

// Finish turns the results of all of Partitions into the answer: the session id, the
// top-level code and the results to send. For an incremental fetch those that say
// nothing new are left out, in the same array; on an error all are, and their data
// is released. Call it once.
func (x *FetchContext) Finish(results []FetchResult) (sessionID int32, code kafkaerr.Code, answer []FetchResult) {
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
		c := s.partitions[results[i].Partition]
		if c == nil || !c.tell(&results[i]) {
			results[i].Release()
			continue
		}
		s.moveToEnd(c)
		answer = append(answer, results[i])
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
