package api

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/commitlog"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// concat is the encoder's answer in one piece, parts released.
func concat(t testing.TB, a fetchAnswer) []byte {
	e := &ending{t: t, parts: encodeFetch(a)}
	return e.bytes()
}

// viaKmsg is the same answer by kmsg, which copies the records.
func viaKmsg(t testing.TB, a fetchAnswer, data []string) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode, resp.SessionID = a.version, int16(a.code), a.session
	for i, r := range a.results {
		if i == 0 || r.Partition.Topic != a.results[i-1].Partition.Topic {
			ft := kmsg.NewFetchResponseTopic()
			ft.Topic = r.Partition.Topic
			resp.Topics = append(resp.Topics, ft)
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode, p.HighWatermark = r.Partition.Partition, int16(r.Code), r.HighWatermark
		p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica = r.LastStableOffset, r.LogStartOffset, r.PreferredReadReplica
		if a.readCommitted && r.Code == kafkaerr.None {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		if r.DivergingEpoch >= 0 {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = r.DivergingEpoch, r.DivergingEndOffset
		}
		p.RecordBatches = []byte(data[i]) // empty, not null
		last := &resp.Topics[len(resp.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return resp.AppendTo(nil)
}

// The encoder against kmsg: random answers in every version.
func TestEncodeFetchIsWhatKmsgWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	f := tempFile(t, strings.Repeat("0123456789", 100))
	everyVersion(t, keyFetch, func(t *testing.T, version int16) {
		for range 200 {
			a := fetchAnswer{version: version, readCommitted: r.IntN(2) == 0}
			if version >= 7 {
				a.code, a.session = kafkaerr.Code(r.IntN(2)*71), r.Int32()
			}
			var data []string
			for range r.IntN(6) {
				res := replica.FailedFetch(topic.Partition{Topic: fmt.Sprint("topic", r.IntN(3)), Partition: r.Int32N(5)}, kafkaerr.Code(r.IntN(3)))
				res.HighWatermark, res.LastStableOffset, res.LogStartOffset = r.Int64(), r.Int64(), r.Int64()
				text := ""
				if n := r.Int64N(300); n > 40 {
					at := r.Int64N(600)
					res.Data = commitlog.Slice{File: f, Offset: at, Length: n}
					text = strings.Repeat("0123456789", 100)[at : at+n]
				}
				if version >= 12 && r.IntN(3) == 0 {
					res.DivergingEpoch, res.DivergingEndOffset = r.Int32(), r.Int64()
				}
				a.results, data = append(a.results, res), append(data, text)
			}
			want := viaKmsg(t, a, data)
			if got := concat(t, a); !bytes.Equal(got, want) {
				t.Fatalf("%+v\ngot  %x\nwant %x", a, got, want)
			}
		}
	})
}

func fetchRequest(version int16, partitions ...int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.SessionEpoch = version, 1000, 1, -1
	ft := kmsg.NewFetchRequestTopic()
	ft.Topic = "t"
	for _, n := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes, p.FetchOffset, p.CurrentLeaderEpoch = n, 100, 5, 4
		ft.Partitions = append(ft.Partitions, p)
	}
	req.Topics = []kmsg.FetchRequestTopic{ft}
	return req
}

func TestFetch(t *testing.T) {
	everyVersion(t, keyFetch, func(t *testing.T, version int16) {
		b := newBench(t)
		f := tempFile(t, "0123456789")
		var asked replica.FetchPartition
		b.replicas.fetch = func(p replica.FetchPartition) replica.FetchResult {
			asked = p
			r := replica.FailedFetch(p.Partition, kafkaerr.None)
			r.HighWatermark, r.LastStableOffset, r.LogStartOffset = 8, 8, 1
			r.Data = commitlog.Slice{File: f, Offset: 2, Length: 5}
			return r
		}
		req := fetchRequest(version, 0, 66)
		req.IsolationLevel = readCommitted
		got := b.ask(t, req, version).(*kmsg.FetchResponse).Topics[0].Partitions
		if len(got) != 2 || string(got[0].RecordBatches) != "23456" || got[0].HighWatermark != 8 || got[0].AbortedTransactions == nil {
			t.Errorf("%+v", got)
		}
		if got[1].ErrorCode != int16(kafkaerr.UnknownTopicOrPartition) || got[1].HighWatermark != -1 || got[1].RecordBatches == nil || len(got[1].RecordBatches) > 0 {
			t.Errorf("a partition nobody knows: %+v", got[1])
		}
		epoch := int32(4)
		if version < 9 {
			epoch = -1
		}
		if asked.Offset != 5 || asked.MaxBytes != 100 || asked.CurrentLeaderEpoch != epoch || asked.LogStartOffset != -1 || asked.LastFetchedEpoch != -1 {
			t.Errorf("asked %+v", asked)
		}
		if p := b.replicas.params; p.ReplicaID != -1 || !p.ReadCommitted || p.AnyReplica != (version >= 11) || p.MaxBytes != 1000 || p.HardMaxBytes {
			t.Errorf("params %+v", p)
		}
	})
}

// Ref: what Kafka 2.8.2 answered; KafkaApis.handleFetchRequest
func TestFetchErrors(t *testing.T) {
	b := newBench(t)
	code := func(req *kmsg.FetchRequest) kafkaerr.Code {
		t.Helper()
		return kafkaerr.Code(b.ask(t, req, req.Version).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode)
	}
	negative := fetchRequest(11, 0)
	negative.MaxBytes = -1
	if got := code(negative); got != kafkaerr.UnknownServerError {
		t.Errorf("negative max bytes: %s", got)
	}
	strange := fetchRequest(11, 0)
	strange.IsolationLevel, strange.SessionID = 2, 5
	if got := b.ask(t, strange, 11).(*kmsg.FetchResponse); got.ErrorCode != -1 || got.SessionID != 5 || got.Topics[0].Partitions[0].ErrorCode != -1 {
		t.Errorf("unknown isolation level: %+v", got)
	}
	b.replicas.fetch = func(p replica.FetchPartition) replica.FetchResult {
		if p.CurrentLeaderEpoch != -1 {
			t.Errorf("a negative leader epoch is none: %d", p.CurrentLeaderEpoch)
		}
		return replica.FailedFetch(p.Partition, kafkaerr.None)
	}
	negative = fetchRequest(11, 0)
	negative.Topics[0].Partitions[0].CurrentLeaderEpoch = -2
	code(negative)
	b.replicas.fetch = func(p replica.FetchPartition) replica.FetchResult {
		return replica.FailedFetch(p.Partition, kafkaerr.KafkaStorageError)
	}
	if got := code(fetchRequest(5, 0)); got != kafkaerr.NotLeaderOrFollower {
		t.Errorf("a storage error up to version 5: %s", got)
	}
	if got := code(fetchRequest(6, 0)); got != kafkaerr.KafkaStorageError {
		t.Errorf("a storage error from version 6 on: %s", got)
	}
	b.replicas.fetch = nil
	b.store.nodes["/config/topics/t"] = []byte(`{"version":1,"config":{"compression.type":"zstd"}}`)
	if got := code(fetchRequest(9, 0)); got != kafkaerr.UnsupportedCompressionType {
		t.Errorf("zstd up to version 9: %s", got)
	}
	if got := code(fetchRequest(10, 0)); got != kafkaerr.None {
		t.Errorf("zstd from version 10 on: %s", got)
	}
}

// Ref: Kafka 2.8 FetchManager, IncrementalFetchContext
func TestFetchSession(t *testing.T) {
	b := newBench(t)
	ask := func(id, epoch int32, req *kmsg.FetchRequest) *kmsg.FetchResponse {
		t.Helper()
		req.SessionID, req.SessionEpoch = id, epoch
		return b.ask(t, req, 12).(*kmsg.FetchResponse)
	}
	full := ask(0, 0, fetchRequest(12, 0, 66))
	if full.SessionID == 0 || len(full.Topics[0].Partitions) != 2 {
		t.Fatalf("%+v", full)
	}
	// Nothing new but the error, which is repeated: also the failed partition is in the session.
	next := ask(full.SessionID, 1, fetchRequest(12))
	if next.SessionID != full.SessionID || len(next.Topics) != 1 || len(next.Topics[0].Partitions) != 1 || next.Topics[0].Partitions[0].Partition != 66 {
		t.Errorf("%+v", next)
	}
	if wrong := ask(full.SessionID, 9, fetchRequest(12)); wrong.ErrorCode != int16(kafkaerr.InvalidFetchSessionEpoch) || wrong.SessionID != 0 || len(wrong.Topics) != 0 {
		t.Errorf("%+v", wrong)
	}
	if unknown := ask(12345, 1, fetchRequest(12)); unknown.ErrorCode != int16(kafkaerr.FetchSessionIDNotFound) {
		t.Errorf("%+v", unknown)
	}
}

func BenchmarkEncodeFetch(b *testing.B) {
	var results []replica.FetchResult
	for i := range int32(50) {
		results = append(results, replica.FailedFetch(topic.Partition{Topic: "topic", Partition: i}, kafkaerr.None))
	}
	b.ReportAllocs()
	for b.Loop() {
		parts := encodeFetch(fetchAnswer{version: 11, results: results})
		parts[len(parts)-1].Release()
	}
}
