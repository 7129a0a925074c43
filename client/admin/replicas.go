package admin

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// Marks are the four marks of one replica's log, and the leader epoch its broker believes in.
type Marks struct {
	LogStart, LastStable, HighWatermark, LogEnd int64
	Epoch                                       int32
	Err                                         error // then the numbers mean nothing
}

// debugReplica is the replica id of a debugging client: any replica answers it, not the
// leader alone, and shows its log end.
const debugReplica int32 = -2

// marksTries is how often a broker is asked whose log changed between two of the questions.
const marksTries = 3

// ReplicaMarks asks one broker about its own copies of some partitions of a topic. The
// error is that the broker was not reached.
//
// Nothing but the protocol is used, so that it works with any broker of Kafka 2.3 or
// newer: ListOffsets as a debugging client gives log end and epoch, a fetch as a consumer
// (version 11 on: KIP-392 lets consumers read from followers) the other three. The fetch
// is at the log end, so it brings no records. The end is asked once more after it, so that
// high watermark <= log end holds although time passes between the questions.
func (a *Admin) ReplicaMarks(ctx context.Context, broker int32, topic string, partitions []int32) (map[int32]Marks, error) {
	out := map[int32]Marks{}
	todo := partitions
	for try := range marksTries {
		ends, err := a.logEnds(ctx, broker, topic, todo)
		if err != nil {
			return nil, err
		}
		fetched, err := a.fetchMarks(ctx, broker, topic, ends)
		if err != nil {
			return nil, err
		}
		after, err := a.logEnds(ctx, broker, topic, todo)
		if err != nil {
			return nil, err
		}
		var again []int32
		for _, p := range todo {
			m := joinMarks(ends[p], fetched[p], after[p])
			if m.Err == errMoved && try+1 < marksTries {
				again = append(again, p)
				continue
			}
			out[p] = m
		}
		if todo = again; len(todo) == 0 {
			break
		}
	}
	return out, nil
}

var errMoved = fmt.Errorf("its log changed while it was looked at (%w)", kafkaerr.OffsetOutOfRange)

// joinMarks makes one view of three answers. One that was truncated or got another leader
// in between is no view.
func joinMarks(before, fetched, after Marks) Marks {
	for _, m := range []Marks{before, fetched, after} {
		if m.Err != nil {
			return Marks{Err: m.Err}
		}
	}
	m := Marks{fetched.LogStart, fetched.LastStable, fetched.HighWatermark, after.LogEnd, after.Epoch, nil}
	if before.Epoch != after.Epoch || m.HighWatermark > m.LogEnd {
		m.Err = errMoved
	}
	return m
}

// logEnds asks for log end and epoch.
func (a *Admin) logEnds(ctx context.Context, broker int32, topic string, partitions []int32) (map[int32]Marks, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = debugReplica
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = p, -1, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := a.c.Node(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	out := unanswered(partitions)
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			out[p.Partition] = Marks{LogEnd: p.Offset, Epoch: p.LeaderEpoch, Err: refusal(p.ErrorCode, nil)}
		}
	}
	return out, nil
}

// fetchMarks asks for log start, last stable offset and high watermark.
func (a *Admin) fetchMarks(ctx context.Context, broker int32, topic string, ends map[int32]Marks) (map[int32]Marks, error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 0, 0, 1
	req.SessionID, req.SessionEpoch = 0, -1 // no session
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	var partitions []int32
	for p, end := range ends {
		partitions = append(partitions, p)
		if end.Err != nil {
			continue
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p, end.LogEnd, 1
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch, rp.LogStartOffset = -1, -1, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	out := unanswered(partitions)
	if len(rt.Partitions) == 0 {
		return out, nil
	}
	req.Topics = append(req.Topics, rt)
	resp, err := a.c.Node(ctx, broker, req)
	if err != nil {
		return nil, err
	}
	if v := resp.GetVersion(); v < 11 {
		return nil, kafkaerr.New(kafkaerr.UnsupportedVersion, fmt.Sprintf("broker %d speaks Fetch up to version %d; version 11 is needed to ask a follower", broker, v))
	}
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		for _, p := range t.Partitions {
			m := Marks{LogStart: p.LogStartOffset, LastStable: p.LastStableOffset, HighWatermark: p.HighWatermark, Err: refusal(p.ErrorCode, nil)}
			if kafkaerr.Code(p.ErrorCode) == kafkaerr.OffsetOutOfRange { // truncated since it named its end
				m.Err = errMoved
			}
			out[p.Partition] = m
		}
	}
	return out, nil
}

func unanswered(partitions []int32) map[int32]Marks {
	out := map[int32]Marks{}
	for _, p := range partitions {
		out[p] = Marks{Err: fmt.Errorf("its broker's answer leaves it out")}
	}
	return out
}
