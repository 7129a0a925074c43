package replica

import (
	"errors"
	"time"

	"kz/broker/commitlog"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// acks is how many replicas a producer waits for.
const (
	acksNone   int16 = 0  // none: no answer is sent
	acksLeader int16 = 1  // the leader
	acksAll    int16 = -1 // every replica of the ISR
)

// ProduceResult is the answer for one partition.
type ProduceResult struct {
	Code           kafkaerr.Code
	Message        string // for the client, with invalid records
	RecordErrors   []record.RecordError
	BaseOffset     int64 // -1 on error
	LogAppendTime  int64 // epoch ms; -1 on error and with CreateTime
	LogStartOffset int64 // -1 with most errors
}

// AppendRecords appends to local leaders and calls respond exactly once: at once for
// acks 0 and 1, when the high watermark has passed or time ran out for -1. respond
// may run on any goroutine, with no lock of ours held. Call it with no lock held that
// a respond wants: an append also completes what others wait for. The records may be
// touched until AppendRecords returns, not after.
func (m *Manager) AppendRecords(timeout time.Duration, acks int16, internalTopicsAllowed bool, records map[topic.Partition][]byte, respond func(map[topic.Partition]ProduceResult)) {
	m.append(timeout, acks, internalTopicsAllowed, commitlog.FromClient, records, respond)
}

// AppendFromCoordinator is AppendRecords for the brokers' own topics: records as the
// coordinators write them.
func (m *Manager) AppendFromCoordinator(timeout time.Duration, acks int16, records map[topic.Partition][]byte, respond func(map[topic.Partition]ProduceResult)) {
	m.append(timeout, acks, true, commitlog.FromCoordinator, records, respond)
}

func (m *Manager) append(timeout time.Duration, acks int16, internalTopicsAllowed bool, origin commitlog.Origin, records map[topic.Partition][]byte, respond func(map[topic.Partition]ProduceResult)) {
	if acks != acksNone && acks != acksLeader && acks != acksAll {
		results := make(map[topic.Partition]ProduceResult, len(records))
		for id := range records {
			results[id] = failedProduce(kafkaerr.InvalidRequiredAcks)
		}
		respond(results)
		return
	}
	statuses := make([]produceStatus, 0, len(records))
	waits := false
	for id, bytes := range records {
		s := m.appendOne(id, bytes, acks, internalTopicsAllowed, origin)
		waits = waits || acks == acksAll && s.result.Code == kafkaerr.None
		statuses = append(statuses, s)
	}
	if waits {
		op := newDelayedProduce(m, statuses, respond)
		m.produce.TryCompleteElseWatch(op, timeout, op.keys()...)
	} else {
		respond(produceResults(statuses))
	}
	m.afterAppend(statuses)
}

// afterAppend wakes who waits for what was appended. It is last, with no lock held,
// because it may read for and answer others.
func (m *Manager) afterAppend(statuses []produceStatus) {
	for i := range statuses {
		s := &statuses[i]
		switch {
		case s.failed || s.empty:
		case s.hwMoved:
			m.completeAfterHighWatermark(s.p)
			m.completeFetches(s.p, true)
		default:
			m.completeFetches(s.p, true) // followers may read past the high watermark
		}
	}
}

// appendOne appends to one partition. The moment leader.append lies after the append,
// before the answer: a broker that is killed there has the records and said nothing.
func (m *Manager) appendOne(id topic.Partition, bytes []byte, acks int16, internalTopicsAllowed bool, origin commitlog.Origin) produceStatus {
	s := produceStatus{id: id}
	if topic.IsInternal(id.Topic) && !internalTopicsAllowed {
		s.failed, s.result = true, failedProduce(kafkaerr.InvalidTopicException)
		return s
	}
	p, code := m.partition(id)
	if code != kafkaerr.None {
		s.failed, s.result = true, failedProduce(code)
		return s
	}
	a, err := p.appendAsLeader(bytes, acks, origin)
	if err != nil {
		s.failed, s.result = true, m.refusedProduce(p, err)
		return s
	}
	m.deps.Journal.At(journal.MomentLeaderAppend, id.String())
	s.p, s.required, s.leadsSince, s.hwMoved = p, a.info.LastOffset+1, a.leadsSince, a.hwMoved
	s.empty = a.info.FirstOffset < 0
	s.result = ProduceResult{
		BaseOffset: a.info.FirstOffset, LogAppendTime: a.info.LogAppendTime, LogStartOffset: a.info.LogStartOffset,
	}
	return s
}

func failedProduce(code kafkaerr.Code) ProduceResult {
	return ProduceResult{Code: code, BaseOffset: -1, LogAppendTime: -1, LogStartOffset: -1}
}

// refusedProduce answers an append that failed. Kafka tells the log start except with
// the errors that every broker has every day; records that broke a rule are listed.
// Ref: Kafka 2.8 ReplicaManager.appendToLocalLog.
func (m *Manager) refusedProduce(p *Partition, err error) ProduceResult {
	r := failedProduce(kafkaerr.CodeOf(err))
	switch r.Code {
	case kafkaerr.UnknownTopicOrPartition, kafkaerr.NotLeaderOrFollower, kafkaerr.MessageTooLarge,
		kafkaerr.RecordListTooLarge, kafkaerr.CorruptMessage, kafkaerr.KafkaStorageError:
		return r
	}
	r.LogStartOffset = p.leaderLogStart()
	var invalid *record.InvalidRecords
	if errors.As(err, &invalid) {
		r.RecordErrors, r.Message = invalid.Errors, kafkaerr.MessageOf(err)
	}
	m.log.Warn().Err(err).Stringer("partition", p.id).Msg("append refused")
	return r
}
