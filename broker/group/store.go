package group

import (
	"time"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// entry is a record of __consumer_offsets to be; a nil value is a tombstone.
type entry struct{ key, value []byte }

// Kafka's builders leave different base sequences in batches that have no producer.
const (
	plainSequence  = -1 // groups and tombstones
	commitSequence = 0  // offsets
)

// batch puts records into one batch, with the present as their time.
func (c *Coordinator) batch(entries []entry, baseSequence int32) []byte {
	w := record.NewBuilder(record.Codec(c.cfg.CompressionCodec), 0)
	w.SetProducer(-1, -1, baseSequence, false)
	now := nowMs()
	for _, e := range entries {
		w.Append(now, e.key, e.value)
	}
	return w.Bytes()
}

// store writes the group's record, and has done run under the group's lock when it is
// replicated or failed, with the code to tell the members. mu is held.
func (g *group) store(value []byte, done func(kafkaerr.Code)) {
	g.append([]entry{{groupKey(g.id), value}}, plainSequence, g.c.cfg.CommitAcks, func(r replica.ProduceResult) {
		done(groupCode(r.Code))
	})
}

// append writes records behind all that the group has written. done, if any, runs under
// the group's lock. mu is held.
func (g *group) append(entries []entry, baseSequence int32, acks int16, done func(replica.ProduceResult)) {
	batch := g.c.batch(entries, baseSequence)
	p := g.partition()
	g.later(func() {
		respond := func(results map[topic.Partition]replica.ProduceResult) {
			if done != nil {
				g.act(func() { done(results[p]) })
			}
		}
		g.writing.Lock()
		defer g.writing.Unlock()
		if g.unloaded {
			respond(map[topic.Partition]replica.ProduceResult{p: {Code: kafkaerr.NotLeaderOrFollower, BaseOffset: -1}})
			return
		}
		g.c.d.Replicas.AppendFromCoordinator(g.c.cfg.CommitTimeout, acks, map[topic.Partition][]byte{p: batch}, respond)
	})
}

// groupCode turns the code of a failed append of a group into what members are told.
// Mirrors GroupMetadataManager.storeGroup.
func groupCode(code kafkaerr.Code) kafkaerr.Code {
	switch code {
	case kafkaerr.RequestTimedOut:
		return kafkaerr.RebalanceInProgress
	case kafkaerr.MessageTooLarge, kafkaerr.RecordListTooLarge, kafkaerr.InvalidFetchSize:
		return kafkaerr.UnknownServerError
	}
	return coordinatorCode(code)
}

// commitCode turns the code of a failed append of offsets into the commit's. Mirrors
// GroupMetadataManager.storeOffsets.
func commitCode(code kafkaerr.Code) kafkaerr.Code {
	switch code {
	case kafkaerr.MessageTooLarge, kafkaerr.RecordListTooLarge, kafkaerr.InvalidFetchSize:
		return kafkaerr.InvalidCommitOffsetSize
	}
	return coordinatorCode(code)
}

// coordinatorCode: what a leader of __consumer_offsets cannot do, its coordinator cannot.
func coordinatorCode(code kafkaerr.Code) kafkaerr.Code {
	switch code {
	case kafkaerr.UnknownTopicOrPartition, kafkaerr.NotEnoughReplicas, kafkaerr.NotEnoughReplicasAfterAppend:
		return kafkaerr.CoordinatorNotAvailable
	case kafkaerr.NotLeaderOrFollower, kafkaerr.KafkaStorageError:
		return kafkaerr.NotCoordinator
	}
	return code
}

// Replicas is what the coordinator needs of *replica.Manager.
type Replicas interface {
	AppendFromCoordinator(timeout time.Duration, acks int16, records map[topic.Partition][]byte, respond func(map[topic.Partition]replica.ProduceResult))
	ReadLed(p topic.Partition, offset int64, maxBytes int) (replica.LedRead, error)
}

var _ Replicas = (*replica.Manager)(nil)
