package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/wire"
)

func batch(key, value string) []byte { return batchOf(record.None, false, key, value) }

func batchOf(codec record.Codec, transactional bool, key, value string) []byte {
	b := record.NewBuilder(codec, 0)
	b.Append(1600000000000, []byte(key), []byte(value))
	if transactional {
		b.SetProducer(1, 0, 0, true)
	}
	return slices.Clone(b.Bytes())
}

func produceRequest(version int16, acks int16, records ...[]byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 1000
	t := kmsg.ProduceRequestTopic{Topic: "t"}
	for i, r := range records {
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: int32(i), Records: r})
	}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	return req
}

func partitionOf(r kmsg.Response) kmsg.ProduceResponseTopicPartition {
	return r.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func TestProduceHandsRecordsOnUncopied(t *testing.T) {
	everyVersion(t, keyProduce, func(t *testing.T, version int16) {
		b := newBench(t)
		req := produceRequest(version, 1, batch("k", "v"))
		body := req.AppendTo(nil)
		e := b.send(t, wire.RequestHeader{Key: keyProduce, Version: version, ClientID: adminClient}, body)
		got := b.replicas.appended[topic.Partition{Topic: "t", Partition: 0}]
		if len(got) == 0 || &got[len(got)-1] != &body[len(body)-tail(version)] {
			t.Error("the records are not the request's own bytes")
		}
		if !b.replicas.internal || !e.answered || !e.detached {
			t.Errorf("internal topics %v, answered %v, detached %v", b.replicas.internal, e.answered, e.detached)
		}
	})
}

// tail is how far before the body's end its last record byte stands: version 9 ends in three tag sections.
func tail(version int16) int {
	if version >= 9 {
		return 4
	}
	return 1
}

// Ref: what Kafka 2.8.2 answered to Produce with these records
func TestProduceChecks(t *testing.T) {
	good := batch("k", "v")
	corrupt := slices.Clone(good)
	corrupt[16] = 3
	magic1 := slices.Clone(good)
	magic1[16] = 1
	short := slices.Clone(good)
	short[8], short[9], short[10], short[11] = 0xff, 0xff, 0xff, 0xff
	for _, row := range []struct {
		rule    string
		version int16
		records []byte
		code    kafkaerr.Code
		message string
	}{
		{"one batch", 8, good, kafkaerr.None, ""},
		{"no bytes", 8, []byte{}, kafkaerr.InvalidRecord, ""},
		{"a cut batch", 8, good[:len(good)-3], kafkaerr.InvalidRecord, ""},
		{"ten bytes", 8, good[:10], kafkaerr.InvalidRecord, ""},
		{"two batches", 8, slices.Concat(good, good), kafkaerr.InvalidRecord, ""},
		{"a batch and five bytes", 8, slices.Concat(good, make([]byte, 5)), kafkaerr.None, ""},
		{"a batch and forty zeros", 8, slices.Concat(good, make([]byte, 40)), kafkaerr.CorruptMessage, ""},
		{"magic 1", 8, magic1, kafkaerr.InvalidRecord, ""},
		{"magic 3", 8, corrupt, kafkaerr.CorruptMessage, "Invalid magic found in record: 3"},
		{"a length below the smallest", 8, short, kafkaerr.CorruptMessage, "Record size -1 is less than the minimum record overhead (14)"},
		{"zstd from version 7 on", 7, batchOf(record.Zstd, false, "k", "v"), kafkaerr.None, ""},
		{"zstd before", 6, batchOf(record.Zstd, false, "k", "v"), kafkaerr.UnsupportedCompressionType, ""},
		{"null", 8, nil, kafkaerr.UnknownServerError, ""},
		{"a transaction without an id", 8, batchOf(record.None, true, "k", "v"), kafkaerr.TransactionalIDAuthorizationFailed, ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			b := newBench(t)
			p := partitionOf(b.ask(t, produceRequest(row.version, -1, row.records), row.version))
			message := ""
			if p.ErrorMessage != nil {
				message = *p.ErrorMessage
			}
			want := []int64{7, -1, 2}
			if row.code != kafkaerr.None {
				want = []int64{-1, -1, -1}
			}
			if p.ErrorCode != int16(row.code) || row.version >= 8 && message != row.message || row.version >= 5 && p.LogStartOffset != want[2] || p.BaseOffset != want[0] {
				t.Errorf("got %+v, message %q", p, message)
			}
		})
	}
}

func TestProduceAnswersPerPartition(t *testing.T) {
	b := newBench(t)
	b.replicas.produce = func(p topic.Partition) replica.ProduceResult {
		if p.Partition == 1 {
			return replica.ProduceResult{Code: kafkaerr.InvalidTimestamp, Message: "m", BaseOffset: -1, LogAppendTime: -1, LogStartOffset: 0,
				RecordErrors: []record.RecordError{{BatchIndex: 1, Message: "bad"}, {BatchIndex: 2}}}
		}
		return replica.ProduceResult{BaseOffset: 3, LogAppendTime: 9, LogStartOffset: 1}
	}
	req := produceRequest(8, 1, batch("a", "a"), batch("b", "b"), batch("c", "c"), batch("d", "d"))
	req.Topics[0].Partitions[3].Partition = 77
	got := b.ask(t, req, 8).(*kmsg.ProduceResponse).Topics[0].Partitions
	if got[0].BaseOffset != 3 || got[0].LogAppendTime != 9 || got[1].ErrorCode != int16(kafkaerr.InvalidTimestamp) || got[3].ErrorCode != int16(kafkaerr.UnknownTopicOrPartition) {
		t.Errorf("%+v", got)
	}
	if e := got[1].ErrorRecords; len(e) != 2 || *e[0].ErrorMessage != "bad" || e[0].RelativeOffset != 1 || e[1].ErrorMessage != nil {
		t.Errorf("record errors %+v", e)
	}
}

func TestProduceOfNothing(t *testing.T) {
	b := newBench(t)
	if got := b.ask(t, produceRequest(8, 1), 8).(*kmsg.ProduceResponse); len(got.Topics) != 0 {
		t.Errorf("a topic of no partitions is not answered: %+v", got)
	}
}

// Ref: Kafka 2.8 KafkaApis.handleProduceRequest
func TestProduceWithoutAcks(t *testing.T) {
	b := newBench(t)
	req := produceRequest(8, 0, batch("k", "v"))
	if e := b.send(t, wire.RequestHeader{Key: keyProduce, Version: 8}, req.AppendTo(nil)); !e.silent {
		t.Error("acks=0 that went well has no answer")
	}
	b.replicas.produce = func(topic.Partition) replica.ProduceResult {
		return replica.ProduceResult{Code: kafkaerr.NotLeaderOrFollower}
	}
	if e := b.send(t, wire.RequestHeader{Key: keyProduce, Version: 8}, req.AppendTo(nil)); e.closed == "" {
		t.Error("acks=0 that failed ends the connection")
	}
}

// The way of a Produce through its handler: decode, hand on, answer. The records are
// not touched, so their size does not show.
func BenchmarkProduce(b *testing.B) {
	bench := newBench(b)
	body := produceRequest(8, 1, batchOf(record.None, false, "k", string(make([]byte, 100<<10)))).AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		e := &ending{t: b, done: make(chan struct{})}
		bench.serve(newCall(e, wire.RequestHeader{Key: keyProduce, Version: 8}, body, "PLAINTEXT", "/127.0.0.1"))
		for _, p := range e.parts {
			p.Release()
		}
	}
}
