package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/record"
)

func TestRecordsArriveInOrder(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		r.send("a", "b", "c")
		r.flush()
		if got := r.stored["t-0"]; !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("stored %q", got)
		}
		for i := range int64(3) {
			if h := r.heard[i]; h.err != nil || h.Offset != i || h.Partition != 0 {
				t.Errorf("record %d: %+v", i, h)
			}
		}
	})
}

// Ref: Kafka 2.8 RecordAccumulator.ready.
func TestWhenABatchIsSent(t *testing.T) {
	linger := func(c *Config) { c.Linger = 10 * time.Millisecond }
	for _, tt := range []struct {
		name      string
		configure func(*Config)
		values    []string
		want      []time.Duration // when the requests went out
	}{
		{"without linger: at once", nil, []string{"a"}, []time.Duration{0}},
		{"a batch that is not full waits for linger.ms", linger, []string{"a", "b"}, []time.Duration{10 * time.Millisecond}},
		{"a full batch goes at once, the next one waits", func(c *Config) { linger(c); c.BatchSize = 200 },
			[]string{strings.Repeat("a", 120), strings.Repeat("b", 120)}, []time.Duration{0, 10 * time.Millisecond}},
		{"out of memory: nothing lingers", func(c *Config) { c.Linger = time.Hour; c.BatchSize = 100; c.BufferMemory = 250 },
			[]string{strings.Repeat("a", 50), strings.Repeat("b", 50), strings.Repeat("c", 50)}, []time.Duration{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, []int32{1}, tt.configure, func(r *rig) {
				r.send(tt.values...)
				if r.p.cfg.Linger < time.Hour {
					time.Sleep(2 * r.p.cfg.Linger)
				}
				synctest.Wait()
				r.mu.Lock()
				got := slices.Clone(r.sentAt)
				r.mu.Unlock()
				if len(got) > len(tt.want) {
					got = got[:len(tt.want)]
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("requests at %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A leader that moved: the batch follows it, is stored once, and order holds.
func TestBatchFollowsTheLeader(t *testing.T) {
	bubble(t, 2, []int32{1}, func(c *Config) { c.MaxInFlight = 1 }, func(r *rig) {
		r.refuse = func(node int32, _ string, _ []string) kafkaerr.Code {
			if node == 1 {
				r.cluster.SetTopic("t", fakebroker.Topic{Leaders: []int32{2}, Epochs: []int32{1}})
				return kafkaerr.NotLeaderOrFollower
			}
			return kafkaerr.None
		}
		r.send("a", "b")
		r.flush()
		if got := r.stored["t-0"]; !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("stored %q", got)
		}
	})
}

// Metadata from a broker that has not heard of an election yet does not send us back.
// Ref: Kafka 2.8 Metadata.updateLatestMetadata.
func TestOlderLeaderEpochIsIgnored(t *testing.T) {
	q := newQueue(newTopicState("t", record.None), 0)
	q.follow(client.Partition{Leader: 2, LeaderEpoch: 5})
	if again := q.follow(client.Partition{Leader: 1, LeaderEpoch: 4}); q.leader.Load() != 2 || !again {
		t.Errorf("leader %d, again %v; want 2, true", q.leader.Load(), again)
	}
	q.follow(client.Partition{Leader: 3, LeaderEpoch: 6})
	if q.leader.Load() != 3 {
		t.Errorf("leader %d, want 3", q.leader.Load())
	}
}

// Ref: Kafka 2.8 Sender: max.in.flight.requests.per.connection=1 mutes the partition, so a
// retried batch is not overtaken.
func TestOneInFlightKeepsOrderOverRetries(t *testing.T) {
	bubble(t, 1, []int32{1}, func(c *Config) { c.MaxInFlight = 1; c.BatchSize = 1 }, func(r *rig) {
		failures := 0
		r.refuse = func(_ int32, _ string, values []string) kafkaerr.Code {
			if values[0] == "b" && failures < 3 {
				failures++
				return kafkaerr.NotEnoughReplicas
			}
			return kafkaerr.None
		}
		r.send("a", "b", "c", "d")
		r.flush()
		if got := r.stored["t-0"]; !slices.Equal(got, []string{"a", "b", "c", "d"}) || failures != 3 {
			t.Errorf("stored %q after %d failures", got, failures)
		}
	})
}

func TestAnswersAndTheirEnds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		configure func(*Config)
		refuse    kafkaerr.Code
		want      error
		requests  int
	}{
		{"an error that is not retriable fails at once", nil, kafkaerr.TopicAuthorizationFailed, kafkaerr.TopicAuthorizationFailed, 1},
		{"retries are counted", func(c *Config) { c.Retries = 2 }, kafkaerr.NotEnoughReplicas, kafkaerr.NotEnoughReplicas, 3},
		{"a duplicate is a success", nil, kafkaerr.DuplicateSequenceNumber, nil, 1},
		{"one record that is too large cannot be split", nil, kafkaerr.MessageTooLarge, kafkaerr.MessageTooLarge, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, []int32{1}, tt.configure, func(r *rig) {
				r.refuse = func(int32, string, []string) kafkaerr.Code { return tt.refuse }
				r.send("a")
				r.flush()
				if h := r.heard[0]; !errors.Is(h.err, tt.want) || (tt.want == nil) != (h.err == nil) {
					t.Errorf("heard %v, want %v", h.err, tt.want)
				}
				if len(r.sentAt) != tt.requests {
					t.Errorf("%d requests, want %d", len(r.sentAt), tt.requests)
				}
			})
		})
	}
}

// Ref: Kafka 2.8 Sender.completeBatch, RecordAccumulator.splitAndReenqueue; that a batch
// below batch.size is split too is ours (docs/divergence.md).
func TestTooLargeBatchIsSplit(t *testing.T) {
	bubble(t, 1, []int32{1}, func(c *Config) { c.Linger = time.Millisecond; c.MaxInFlight = 1 }, func(r *rig) {
		r.refuse = func(_ int32, _ string, values []string) kafkaerr.Code {
			if len(values) > 3 {
				return kafkaerr.MessageTooLarge
			}
			return kafkaerr.None
		}
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprintf("value-%02d", i))
		}
		r.send(want...)
		r.flush()
		if got := r.stored["t-0"]; !slices.Equal(got, want) {
			t.Errorf("stored %q", got)
		}
		for i := range int64(len(want)) {
			if h := r.heard[i]; h.err != nil || h.Offset != i {
				t.Errorf("record %d: %+v", i, h)
			}
		}
		r.checkMemory()
	})
}

// Ref: Kafka 2.8 Sender.sendProducerData (expired batches), ProducerBatch.
func TestBatchWithoutALeaderExpires(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		r.send("first")
		r.flush()
		r.refuse = func(int32, string, []string) kafkaerr.Code {
			r.cluster.SetTopic("t", fakebroker.Topic{Leaders: []int32{-1}, Epochs: []int32{1}})
			return kafkaerr.NotLeaderOrFollower
		}
		begin := time.Now()
		r.sendTo(0, 7, "never")
		r.flush()
		took := time.Since(begin)
		if h := r.heard[7]; !errors.Is(h.err, kafkaerr.RequestTimedOut) || !strings.HasPrefix(kafkaerr.MessageOf(h.err), "Expiring 1 record(s) for t-0:") {
			t.Errorf("heard %v", h.err)
		}
		if limit := r.p.cfg.DeliveryTimeout; took < limit || took > limit+2*expiryCheck {
			t.Errorf("took %v, want %v", took, limit)
		}
	})
}

// The same while a request for metadata is not answered: delivery.timeout.ms does not wait for it.
func TestBatchExpiresWhileMetadataIsAwaited(t *testing.T) {
	bubble(t, 1, []int32{1, -1}, func(c *Config) { c.DeliveryTimeout = 5 * time.Second }, func(r *rig) {
		r.send("a")
		r.flush()
		r.cluster.Handle(kmsg.Metadata, func(int32, kmsg.Request) kmsg.Response { return nil })
		begin := time.Now()
		r.sendTo(1, 1, "no leader")
		r.flush()
		if took := time.Since(begin); took > r.p.cfg.DeliveryTimeout+2*expiryCheck || r.heard[1].err == nil {
			t.Errorf("heard %v after %v", r.heard[1].err, took)
		}
	})
}

// Who closes with Patience hears why each record failed, not that the producer was closed.
func TestPatienceOutlastsEveryBatch(t *testing.T) {
	limits := func(c *Config) { c.DeliveryTimeout, c.Client.RequestTimeout = 5*time.Second, 5*time.Second }
	bubble(t, 1, []int32{1, -1}, limits, func(r *rig) {
		r.cluster.Handle(kmsg.Produce, func(int32, kmsg.Request) kmsg.Response { return nil })
		r.sendTo(1, 1, "no leader")
		time.Sleep(4 * time.Second) // in the bubble: sent when the other is nearly over
		r.sendTo(0, 2, "no answer")
		ctx, cancel := context.WithTimeout(context.Background(), r.p.cfg.Patience())
		defer cancel()
		r.p.Close(ctx)
		for tag := int64(1); tag <= 2; tag++ {
			if h, ok := r.heard[tag]; !ok || h.err == nil || errors.Is(h.err, ErrClosed) {
				t.Errorf("record %d: %v", tag, h.err)
			}
		}
	})
}

func TestUnknownTopicFailsAfterMaxBlock(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		begin := time.Now()
		err := r.p.Send(r.t.Context(), Record{Topic: "nothing", Partition: AnyPartition}, nil)
		if want := "Topic nothing not present in metadata after 60000 ms."; kafkaerr.MessageOf(err) != want || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

func TestInvalidTopicFailsAtOnce(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		r.cluster.SetTopic("bad", fakebroker.Topic{Err: int16(kafkaerr.InvalidTopicException)})
		err := r.p.Send(r.t.Context(), Record{Topic: "bad", Partition: AnyPartition}, nil)
		if !errors.Is(err, kafkaerr.InvalidTopicException) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAcksZeroIsDoneWhenSent(t *testing.T) {
	bubble(t, 1, []int32{1}, func(c *Config) { c.Acks = 0 }, func(r *rig) {
		r.send("a")
		r.flush()
		if h := r.heard[0]; h.err != nil || h.Offset != -1 {
			t.Errorf("heard %+v", h)
		}
	})
}

// A broker that is silent: the request times out, the batch is sent again.
func TestSilentBrokerIsTriedAgain(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		first := true
		r.silent = func(int32) bool {
			was := first
			first = false
			return was
		}
		begin := time.Now()
		r.send("a")
		r.flush()
		if took := time.Since(begin); r.heard[0].err != nil || took < r.p.cfg.Client.RequestTimeout {
			t.Errorf("after %v: %v", took, r.heard[0].err)
		}
	})
}

// Everybody who waits gets an answer when the producer closes without success.
func TestCloseAnswersEverybody(t *testing.T) {
	bubble(t, 1, []int32{1, -1}, nil, func(r *rig) {
		r.silent = func(int32) bool { return true }
		r.send("in flight")
		r.sendTo(1, 1, "no leader")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if err := r.p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		for tag := range int64(2) {
			if h, ok := r.heard[tag]; !ok || !errors.Is(h.err, ErrClosed) {
				t.Errorf("record %d: heard %v, %v", tag, ok, h.err)
			}
		}
		if err := r.p.Send(r.t.Context(), Record{Topic: "t"}, nil); !errors.Is(err, ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
	})
}

func TestKeysDecideThePartition(t *testing.T) {
	bubble(t, 1, []int32{1, 1, -1}, nil, func(r *rig) {
		for i := range 50 {
			key := []byte(fmt.Sprint("key-", i))
			if forKey(key, 3) == 2 {
				continue // no leader: it would wait, rightly
			}
			if err := r.p.Send(r.t.Context(), Record{Topic: "t", Partition: AnyPartition, Key: key, Value: key, Tag: int64(i)}, r.hear); err != nil {
				t.Fatal(err)
			}
		}
		r.flush()
		for tp, values := range r.stored {
			for _, v := range values {
				if want := fmt.Sprint("t-", forKey([]byte(v), 3)); want != tp {
					t.Errorf("%s is in %s, want %s", v, tp, want)
				}
			}
		}
		if len(r.stored["t-0"]) == 0 || len(r.stored["t-1"]) == 0 {
			t.Errorf("%d and %d records in the two partitions", len(r.stored["t-0"]), len(r.stored["t-1"]))
		}
	})
}

func TestRecordThatIsTooLargeIsRefused(t *testing.T) {
	bubble(t, 1, []int32{1}, func(c *Config) { c.MaxRequestSize = 500 }, func(r *rig) {
		err := r.p.Send(r.t.Context(), Record{Topic: "t", Value: make([]byte, 600)}, nil)
		if !errors.Is(err, kafkaerr.MessageTooLarge) || !strings.Contains(kafkaerr.MessageOf(err), "max.request.size") {
			t.Errorf("got %v", err)
		}
	})
}

// A partition the broker forgets to answer must not be forgotten by us.
func TestMissingAnswerIsALostRequest(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		empty := true
		r.cluster.Handle(kmsg.Produce, func(node int32, req kmsg.Request) kmsg.Response {
			if empty {
				empty = false
				return kmsg.NewPtrProduceResponse()
			}
			return r.produce(node, req)
		})
		r.send("a")
		r.flush()
		if h := r.heard[0]; h.err != nil || !slices.Equal(r.stored["t-0"], []string{"a"}) {
			t.Errorf("heard %v, stored %q", h.err, r.stored["t-0"])
		}
	})
}

// A goroutine with an older view of the topic must not trip over a partition that
// another one, which knows more partitions, has chosen.
func TestStickyPartitionOfANewerView(t *testing.T) {
	ts := newTopicState("t", record.None)
	older := &topicView{queues: []*queue{newQueue(ts, 0)}, available: []int32{0}}
	ts.sticky.Store(5)
	if q := ts.stick(older, 3); q.id != 0 {
		t.Errorf("partition %d", q.id)
	}
	if q := ts.stick(older, 5); q.id != 0 || ts.sticky.Load() != 0 {
		t.Errorf("partition %d, sticky %d", q.id, ts.sticky.Load())
	}
}
