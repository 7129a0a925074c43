package fetcher

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/wire"
)

// answering is a broker that answers each request with what "answer" says, over an
// in-memory connection. nil closes the connection.
func answering(t *testing.T, answer func(h wire.RequestHeader, req kmsg.Request) kmsg.Response) (link.Network, metadata.Endpoint) {
	network := link.NewMemory()
	l, err := network.Listen("leader:9092")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn, answer)
		}
	}()
	return network, metadata.Endpoint{Listener: "PLAINTEXT", Host: "leader", Port: 9092}
}

func serve(conn net.Conn, answer func(wire.RequestHeader, kmsg.Request) kmsg.Response) {
	defer conn.Close()
	for {
		frame, err := wire.ReadFrame(conn, 1<<20)
		if err != nil {
			return
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			return
		}
		req := kmsg.RequestForKey(h.Key)
		req.SetVersion(h.Version)
		if err := req.ReadFrom(body); err != nil {
			return
		}
		resp := answer(h, req)
		if resp == nil {
			return
		}
		resp.SetVersion(h.Version)
		out := wire.AppendResponseHeader(make([]byte, 4), h.Key, h.Version, h.CorrelationID)
		out = resp.AppendTo(out)
		n := len(out) - 4
		out[0], out[1], out[2], out[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// Versions, client id and fields as real brokers at protocol 2.6 send them.
// Ref: Kafka 2.8 server/ReplicaFetcherThread.scala; a capture of a real follower.
func TestRequestsOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var headers []wire.RequestHeader
		network, at := answering(t, func(h wire.RequestHeader, req kmsg.Request) kmsg.Response {
			headers = append(headers, h)
			switch r := req.(type) {
			case *kmsg.OffsetForLeaderEpochRequest:
				p := r.Topics[0].Partitions[0]
				if r.ReplicaID != 2 || r.Topics[0].Topic != "orders" || p.Partition != 3 || p.CurrentLeaderEpoch != 7 || p.LeaderEpoch != 5 {
					t.Errorf("%+v", r)
				}
				resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
				a := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				a.Partition, a.LeaderEpoch, a.EndOffset = 3, 4, 99
				resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{a}}}
				return resp
			case *kmsg.ListOffsetsRequest:
				p := r.Topics[0].Partitions[0]
				if r.ReplicaID != 2 || p.Partition != 3 || p.CurrentLeaderEpoch != 7 || p.Timestamp != -2 {
					t.Errorf("%+v", r)
				}
				resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
				a := kmsg.NewListOffsetsResponseTopicPartition()
				a.Partition, a.Offset = 3, 42
				resp.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "orders", Partitions: []kmsg.ListOffsetsResponseTopicPartition{a}}}
				return resp
			case *kmsg.FetchRequest:
				if r.ReplicaID != 2 || r.MaxWaitMillis != 500 || r.MinBytes != 1 || r.MaxBytes != 10<<20 || r.SessionID != 9 || r.SessionEpoch != 4 || r.Rack != "" {
					t.Errorf("%+v", r)
				}
				if len(r.Topics) != 2 || len(r.Topics[0].Partitions) != 2 || len(r.ForgottenTopics) != 1 || len(r.ForgottenTopics[0].Partitions) != 2 {
					t.Errorf("neighbours share a topic: %+v", r)
				}
				p := r.Topics[0].Partitions[1]
				if p.Partition != 4 || p.FetchOffset != 11 || p.LogStartOffset != 1 || p.CurrentLeaderEpoch != 7 || p.PartitionMaxBytes != 1<<20 {
					t.Errorf("%+v", p)
				}
				resp := r.ResponseKind().(*kmsg.FetchResponse)
				resp.SessionID = 9
				a := kmsg.NewFetchResponseTopicPartition()
				a.Partition, a.HighWatermark, a.LogStartOffset, a.RecordBatches = 3, 10, 2, []byte("records")
				b := a
				b.Partition, b.ErrorCode, b.RecordBatches = 4, int16(kafkaerr.FencedLeaderEpoch), nil
				resp.Topics = []kmsg.FetchResponseTopic{{Topic: "orders", Partitions: []kmsg.FetchResponseTopicPartition{a, b}}}
				return resp
			}
			return nil
		})
		cfg := Config{BrokerID: 2, WaitMax: 500 * time.Millisecond, MinBytes: 1, MaxBytes: 1 << 20, ResponseMaxBytes: 10 << 20, SocketTimeout: 30 * time.Second}
		l := &remoteLeader{network: network, addr: address(at), clientID: "broker-2-fetcher-0", cfg: cfg}
		defer l.close()
		ctx := context.Background()

		ends, err := l.epochEnds(ctx, []epochQuestion{{tp(3), 7, 5}})
		if err != nil || len(ends) != 1 || ends[0] != (epochAnswer{tp(3), 0, 4, 99}) {
			t.Errorf("%+v %v", ends, err)
		}
		offset, code, err := l.listOffset(ctx, tp(3), 7, replica.EarliestTimestamp)
		if offset != 42 || code != 0 || err != nil {
			t.Errorf("%d %v %v", offset, code, err)
		}
		other := topic.Partition{Topic: "other"}
		a, err := l.fetch(ctx, fetchRequest{
			sessionID: 9, epoch: 4, forget: []topic.Partition{tp(8), tp(9)},
			send: []wanted{{tp(3), fetchTerms{10, 1, 7}}, {tp(4), fetchTerms{11, 1, 7}}, {other, fetchTerms{0, 0, 7}}},
		})
		if err != nil || a.sessionID != 9 || len(a.parts) != 2 {
			t.Fatalf("%+v %v", a, err)
		}
		if p := a.parts[0]; p.id != tp(3) || p.highWatermark != 10 || p.logStart != 2 || string(p.records) != "records" {
			t.Errorf("%+v", p)
		}
		if p := a.parts[1]; p.id != tp(4) || p.code != kafkaerr.FencedLeaderEpoch {
			t.Errorf("%+v", p)
		}
		for i, want := range []wire.RequestHeader{{Key: 23, Version: 3}, {Key: 2, Version: 5}, {Key: 1, Version: 11}} {
			if h := headers[i]; h.Key != want.Key || h.Version != want.Version || h.ClientID != "broker-2-fetcher-0" {
				t.Errorf("%+v, want %+v", h, want)
			}
		}
	})
}

// A leader that closes the connection, answers nothing, or is not there: an error, in
// time, and a new connection for the next request.
func TestLeaderThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var mode atomic.Value
		network, at := answering(t, func(h wire.RequestHeader, req kmsg.Request) kmsg.Response {
			switch mode.Load() {
			case "close":
				return nil
			case "silence":
				<-hold
				return nil
			}
			return req.ResponseKind()
		})
		defer close(hold)
		l := &remoteLeader{network: network, addr: address(at), clientID: "c", cfg: Config{SocketTimeout: 30 * time.Second}}
		defer l.close()
		for _, m := range []string{"close", "silence", "answer"} {
			mode.Store(m)
			start := time.Now()
			_, err := l.fetch(context.Background(), fetchRequest{})
			if (err == nil) != (m == "answer") {
				t.Errorf("%s: %v", m, err)
			}
			if took := time.Since(start); m == "silence" && took != 30*time.Second || m != "silence" && took != 0 {
				t.Errorf("%s took %v", m, took)
			}
		}
		away := &remoteLeader{network: network, addr: "nobody:1", clientID: "c", cfg: Config{SocketTimeout: time.Second}}
		if _, _, err := away.listOffset(context.Background(), tp(0), 1, -1); err == nil {
			t.Error("nobody listens there")
		}
	})
}

// What a leader answers is foreign: nonsense must not end the follower.
func TestNonsenseAnswers(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		for _, row := range []struct {
			name   string
			answer func(*kmsg.FetchResponse)
		}{
			{"nothing", func(*kmsg.FetchResponse) {}},
			{"another topic", func(r *kmsg.FetchResponse) { r.Topics[0].Topic = strings.Repeat("x", 300) }},
			{"the same partition twice", func(r *kmsg.FetchResponse) {
				r.Topics[0].Partitions = append(r.Topics[0].Partitions, r.Topics[0].Partitions[0])
			}},
			{"garbage for records", func(r *kmsg.FetchResponse) {
				r.Topics[0].Partitions[0].RecordBatches = []byte(strings.Repeat("?", 500))
			}},
			{"a part of a batch", func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].RecordBatches = make([]byte, 5) }},
			{"null records", func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].RecordBatches = nil }},
			{"a high watermark below zero", func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].HighWatermark = -5 }},
			{"a log start in the sky", func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].LogStartOffset = 1 << 60 }},
			{"an unknown error", func(r *kmsg.FetchResponse) { r.Topics[0].Partitions[0].ErrorCode = 32000 }},
			{"an unknown top-level error", func(r *kmsg.FetchResponse) { r.ErrorCode = 32000 }},
		} {
			var fetches atomic.Int32
			hold := make(chan struct{})
			network, at := answering(t, func(h wire.RequestHeader, req kmsg.Request) kmsg.Response {
				resp := req.ResponseKind()
				switch r := resp.(type) {
				case *kmsg.FetchResponse:
					if fetches.Add(1) > 3 {
						<-hold // else virtual time would stand still while the two talk
					}
					p := kmsg.NewFetchResponseTopicPartition()
					p.RecordBatches = []byte{}
					r.Topics = []kmsg.FetchResponseTopic{{Topic: "orders", Partitions: []kmsg.FetchResponseTopicPartition{p}}}
					row.answer(r)
				case *kmsg.OffsetForLeaderEpochResponse:
					p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
					p.LeaderEpoch, p.EndOffset = 0, 1
					r.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: "orders", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{p}}}
				}
				return resp
			})
			cfg := c.fetch
			cfg.BrokerID = 2
			m := NewManager(cfg, c.brokers[2].replicas, network, nil, zerolog.Nop())
			m.Add(map[topic.Partition]replica.FetchStart{orders: {LeaderID: 1, Leader: at, LeaderEpoch: 0, Offset: 0}})
			wait(500 * time.Millisecond)
			m.Remove([]topic.Partition{orders})
			m.Stop()
			close(hold)
			if fetches.Load() == 0 {
				t.Errorf("%s: not even asked", row.name)
			}
			if s := c.status(2, orders); s.LogEnd > 1 || s.HighWatermark < 0 || s.LogStart > s.LogEnd {
				t.Errorf("%s: %+v", row.name, s)
			}
		}
	})
}
