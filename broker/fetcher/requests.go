package fetcher

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// The versions that brokers speak with each other at protocol 2.6. They are not
// negotiated: inter.broker.protocol.version says that every broker knows them.
// Ref: Kafka 2.8 ReplicaFetcherThread.
const (
	fetchVersion       = 11
	epochVersion       = 3
	listOffsetsVersion = 5
)

func epochRequest(self int32, questions []epochQuestion) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version, req.ReplicaID = epochVersion, self
	at := map[string]int{}
	for _, q := range questions {
		i, ok := at[q.id.Topic]
		if !ok {
			i = len(req.Topics)
			at[q.id.Topic] = i
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = q.id.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = q.id.Partition, q.leaderEpoch, q.epoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

func epochAnswers(resp *kmsg.OffsetForLeaderEpochResponse) []epochAnswer {
	var out []epochAnswer
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for _, p := range t.Partitions {
			out = append(out, epochAnswer{
				id:   topic.Partition{Topic: t.Topic, Partition: p.Partition},
				code: kafkaerr.Code(p.ErrorCode), epoch: p.LeaderEpoch, end: p.EndOffset,
			})
		}
	}
	return out
}

// fetchMessage names the partitions in order; neighbours of one topic share its entry.
func fetchMessage(cfg Config, r fetchRequest) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID = fetchVersion, cfg.BrokerID
	req.MaxWaitMillis = int32(cfg.WaitMax.Milliseconds())
	req.MinBytes, req.MaxBytes = int32(cfg.MinBytes), int32(cfg.ResponseMaxBytes)
	req.SessionID, req.SessionEpoch = r.sessionID, r.epoch
	for i := range r.send {
		w := &r.send[i]
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != w.id.Topic {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = w.id.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = w.id.Partition, w.leaderEpoch
		p.FetchOffset, p.LogStartOffset, p.PartitionMaxBytes = w.offset, w.logStart, int32(cfg.MaxBytes)
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	at := map[string]int{}
	for _, id := range r.forget {
		i, ok := at[id.Topic]
		if !ok {
			i = len(req.ForgottenTopics)
			at[id.Topic] = i
			t := kmsg.NewFetchRequestForgottenTopic()
			t.Topic = id.Topic
			req.ForgottenTopics = append(req.ForgottenTopics, t)
		}
		req.ForgottenTopics[i].Partitions = append(req.ForgottenTopics[i].Partitions, id.Partition)
	}
	return req
}

func fetchAnswerOf(resp *kmsg.FetchResponse) *fetchAnswer {
	a := &fetchAnswer{code: kafkaerr.Code(resp.ErrorCode), sessionID: resp.SessionID}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			a.parts = append(a.parts, fetched{
				id:   topic.Partition{Topic: t.Topic, Partition: p.Partition},
				code: kafkaerr.Code(p.ErrorCode), highWatermark: p.HighWatermark, logStart: p.LogStartOffset,
				records: p.RecordBatches,
			})
		}
	}
	return a
}

func offsetRequest(self int32, id topic.Partition, leaderEpoch int32, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, self
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = id.Partition, leaderEpoch, timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = id.Topic
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func offsetAnswer(resp *kmsg.ListOffsetsResponse, id topic.Partition) (int64, kafkaerr.Code, error) {
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			if resp.Topics[i].Topic == id.Topic && p.Partition == id.Partition {
				return p.Offset, kafkaerr.Code(p.ErrorCode), nil
			}
		}
	}
	return -1, kafkaerr.None, fmt.Errorf("the answer to ListOffsets does not have %v", id)
}
