package replica

import (
	"time"

	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// FetchParams are the request-wide terms of a fetch.
type FetchParams struct {
	ReplicaID     int32 // >= 0 follower, -1 consumer, -2 debug
	MaxWait       time.Duration
	MinBytes      int
	MaxBytes      int
	HardMaxBytes  bool // version <= 2: partition max bytes is hard
	ReadCommitted bool
	// AnyReplica lets a consumer read from a follower (version >= 11, KIP-392), up to the
	// follower's own high watermark. Followers always fetch from the leader.
	AnyReplica bool
	ClientRack string
	ClientHost string
}

// FetchPartition asks for one partition; order matters, so they come in a slice.
type FetchPartition struct {
	Partition          topic.Partition
	Offset             int64
	LogStartOffset     int64 // of the follower; -1 from consumers
	MaxBytes           int
	CurrentLeaderEpoch int32 // -1 unchecked
	LastFetchedEpoch   int32 // -1 none (v12)
}

// FetchResult is the answer for one partition. Data must be released exactly once;
// Release does it.
type FetchResult struct {
	Partition            topic.Partition
	Code                 kafkaerr.Code
	HighWatermark        int64 // -1 on error
	LastStableOffset     int64 // -1 on error
	LogStartOffset       int64 // -1 on error
	Data                 commitlog.Slice
	DivergingEpoch       int32 // -1 none
	DivergingEndOffset   int64
	PreferredReadReplica int32 // -1 none

	// Where the read began and what the leader's end was: a follower's fetch says that
	// it has everything below start, and a fetch that must wait measures from it.
	start      commitlog.OffsetMetadata
	leaderEnd  int64
	epoch      int32 // the leader epoch under which it was read
	incomplete bool  // Data is a part of one batch

	// What a session needs to know of the visit (fetchSession.settle).
	touches uint64         // of its partition when the visit began; 0: not read in a session
	drained bool           // there was nothing more to read
	remote  *remoteReplica // the fetching follower, if it is in the ISR and drained
}

// isolation says how far this reader sees.
func (p FetchParams) isolation() isolation {
	switch {
	case p.ReplicaID >= 0:
		return toLogEnd
	case p.ReadCommitted:
		return toLastStable
	}
	return toHighWatermark
}

func (p FetchParams) reader() reader { return reader{p.ReplicaID, p.isolation(), p.leaderOnly()} }

func (p FetchParams) leaderOnly() bool { return p.ReplicaID >= 0 || !p.AnyReplica }

// Fetch reads and calls respond exactly once: at once, or when MinBytes are there or
// MaxWait is over. A waiting fetch holds no goroutine, no data and no file; it reads
// again when it is answered. respond may run on any goroutine, with no lock held.
func (m *Manager) Fetch(p FetchParams, parts []FetchPartition, respond func([]FetchResult)) {
	m.FetchIn(&FetchContext{kind: sessionless, parts: parts}, p, respond)
}

// FetchIn is Fetch of what a context wants read. The results are for its Finish.
func (m *Manager) FetchIn(x *FetchContext, p FetchParams, respond func([]FetchResult)) {
	p.MaxBytes = min(p.MaxBytes, m.cfg.FetchMaxBytes)
	p.MinBytes = min(p.MinBytes, p.MaxBytes)
	now := time.Now()
	x.begin(p.reader(), now)
	visits := x.open()
	if x.empty() {
		respond(nil)
		return
	}
	results := m.readAll(p, visits)
	if p.ReplicaID >= 0 {
		m.followerFetched(p.ReplicaID, visits, results, now)
	}
	if p.MaxWait <= 0 || answerNow(results, p.MinBytes) {
		respond(results)
		return
	}
	x.began(visits, results)
	op := &delayedFetch{m: m, params: p, x: x, visits: visits, respond: respond}
	releaseAll(results)
	m.fetch.TryCompleteElseWatch(op, p.MaxWait, op.keys()...)
}

// answerNow says whether a fetch is worth answering: enough bytes, or something the
// reader must hear. A higher watermark alone is not.
func answerNow(results []FetchResult, minBytes int) bool {
	bytes := int64(0)
	for i := range results {
		if results[i].Code != kafkaerr.None || results[i].DivergingEpoch >= 0 {
			return true
		}
		bytes += results[i].Data.Len()
	}
	return bytes >= int64(minBytes)
}

// readAll reads the partitions in order until MaxBytes are together. From version 3
// on the first one that has data gives at least one whole batch, so that a batch
// larger than all limits cannot stop a reader for ever.
func (m *Manager) readAll(p FetchParams, visits []visit) []FetchResult {
	results := make([]FetchResult, len(visits))
	left := int64(p.MaxBytes)
	terms := readTerms{isolation: p.isolation(), leaderOnly: p.leaderOnly(), minOneMessage: !p.HardMaxBytes, replica: p.ReplicaID}
	for i := range visits {
		r := &results[i]
		*r = FailedFetch(visits[i].Partition, kafkaerr.None)
		partition, code := m.partition(visits[i].Partition)
		if code != kafkaerr.None {
			r.Code = code
			continue
		}
		if visits[i].cached != nil {
			partition.watch(&visits[i])
			r.touches = visits[i].touches
		}
		terms.FetchPartition = visits[i].FetchPartition
		terms.maxBytes = int(min(int64(visits[i].MaxBytes), left))
		partition.read(terms, r)
		if r.incomplete && !p.HardMaxBytes {
			r.Release() // readers of version 3 on never need to see a part of a batch
		}
		if n := r.Data.Len(); n > 0 {
			terms.minOneMessage = false
			left = max(0, left-n)
		}
	}
	return results
}

// followerFetched takes a follower's fetch as the acknowledgement that it is. A
// broker that is no replica gets no records: the assignment may have changed.
func (m *Manager) followerFetched(id int32, visits []visit, results []FetchResult, now time.Time) {
	for i := range results {
		r := &results[i]
		if r.Code != kafkaerr.None || r.DivergingEpoch >= 0 {
			continue // nothing was read, so nothing was acknowledged
		}
		p, _ := m.hosted(r.Partition)
		if p == nil {
			continue
		}
		known, hwMoved := p.followerFetched(id, r, visits[i].LogStartOffset, now)
		if !known {
			m.log.Warn().Stringer("partition", r.Partition).Int32("replica", id).Msg("fetch of a broker that is no replica")
			r.Release()
			r.start = unknownOffset
		}
		if hwMoved {
			m.completeAfterHighWatermark(p)
		}
	}
}
