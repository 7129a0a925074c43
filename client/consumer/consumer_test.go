package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/record"
	"kz/internal/topic"
)

// rig is a consumer and brokers that serve one partition, t-0, of batches of two records.
type rig struct {
	t       *testing.T
	cluster *fakebroker.Cluster
	c       *Consumer

	mu     sync.Mutex
	start  int64 // log start
	end    int64
	refuse func(node int32, offset int64) kafkaerr.Code // nil: serve
	spoil  func(b []byte)
	behind []byte  // follows each batch in an answer
	asked  []int64 // fetch offsets
}

func bubble(t *testing.T, brokers int32, configure func(*Config), run func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		c, err := fakebroker.New(network, brokers)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetTopic("t", fakebroker.Topic{Leaders: []int32{1}})
		r := &rig{t: t, cluster: c, end: 10}
		c.Handle(kmsg.Fetch, r.fetch)
		c.Handle(kmsg.ListOffsets, r.listOffsets)
		cc := client.DefaultConfig(c.Addr(1))
		cc.Network = network
		cfg := DefaultConfig(cc)
		if configure != nil {
			configure(&cfg)
		}
		r.c = New(cfg)
		defer r.c.Close()
		run(r)
	})
}

func (r *rig) listOffsets(_ int32, req kmsg.Request) kmsg.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.(*kmsg.ListOffsetsRequest).Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Offset = p.Partition, r.end
			if p.Timestamp == Earliest {
				rp.Offset = r.start
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// fetch serves one batch, or holds an empty answer back for fetch.max.wait.ms.
func (r *rig) fetch(node int32, req kmsg.Request) kmsg.Response {
	q := req.(*kmsg.FetchRequest)
	p := q.Topics[0].Partitions[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, p.FetchOffset)
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.HighWatermark = r.end
	code := kafkaerr.None
	if r.refuse != nil {
		code = r.refuse(node, p.FetchOffset)
	}
	switch {
	case code != kafkaerr.None:
		rp.ErrorCode = int16(code)
	case p.FetchOffset < r.start || p.FetchOffset > r.end:
		rp.ErrorCode = int16(kafkaerr.OffsetOutOfRange)
	case p.FetchOffset == r.end:
		r.mu.Unlock()
		time.Sleep(time.Duration(q.MaxWaitMillis) * time.Millisecond)
		r.mu.Lock()
	default:
		rp.RecordBatches = batchAt(p.FetchOffset &^ 1)
		if r.spoil != nil {
			r.spoil(rp.RecordBatches)
		}
		rp.RecordBatches = append(rp.RecordBatches, r.behind...)
	}
	resp := kmsg.NewPtrFetchResponse()
	rt := kmsg.NewFetchResponseTopic()
	rt.Topic = "t"
	rt.Partitions = append(rt.Partitions, rp)
	resp.Topics = append(resp.Topics, rt)
	return resp
}

// batchAt is the records base and base+1; their values are their offsets.
func batchAt(base int64) []byte {
	w := record.NewBuilder(record.None, base)
	for i := range int64(2) {
		w.Append(1000+base+i, nil, fmt.Append(nil, base+i))
	}
	return slices.Clone(w.Bytes())
}

var t0 = topic.Partition{Topic: "t", Partition: 0}

// read polls until n records came or ten seconds passed without one.
func (r *rig) read(n int) (values []string, err error) {
	for len(values) < n {
		ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
		fetched, err := r.c.Poll(ctx)
		cancel()
		if err != nil || len(fetched) == 0 {
			return values, err
		}
		for i := range fetched {
			for rec, err := range fetched[i].Records() {
				if err != nil {
					return values, err
				}
				if string(rec.Value) != fmt.Sprint(rec.Offset) {
					r.t.Errorf("offset %d holds %q", rec.Offset, rec.Value)
				}
				values = append(values, string(rec.Value))
			}
			fetched[i].Release()
		}
	}
	return values, nil
}

func count(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// Ref: Kafka 2.8 Fetcher: positions, auto.offset.reset.
func TestWhereReadingStarts(t *testing.T) {
	for _, tt := range []struct {
		name      string
		from      int64
		configure func(*Config)
		want      []string
	}{
		{"earliest is the log start", Earliest, nil, count(4, 10)},
		{"an offset in the middle of a batch skips what is before it", 5, nil, count(5, 10)},
		{"below the log start: reset to earliest", 1, nil, count(4, 10)},
		{"beyond the end: reset to latest finds nothing", 99, func(c *Config) { c.FromLatest = true }, nil},
		{"latest finds nothing", Latest, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, tt.configure, func(r *rig) {
				r.start = 4
				r.c.Assign([]topic.Partition{t0}, tt.from)
				got, err := r.read(max(len(tt.want), 1))
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("read %q, %v; want %q", got, err, tt.want)
				}
			})
		})
	}
}

// A leader that moved: reading goes on where it was, nothing twice.
func TestReadingFollowsTheLeader(t *testing.T) {
	bubble(t, 2, nil, func(r *rig) {
		r.refuse = func(node int32, offset int64) kafkaerr.Code {
			if node == 1 && offset >= 4 {
				r.cluster.SetTopic("t", fakebroker.Topic{Leaders: []int32{2}})
				return kafkaerr.NotLeaderOrFollower
			}
			return kafkaerr.None
		}
		r.c.Assign([]topic.Partition{t0}, 0)
		if got, err := r.read(10); err != nil || !slices.Equal(got, count(0, 10)) {
			t.Errorf("read %q, %v", got, err)
		}
	})
}

func TestLostConnectionIsTriedAgain(t *testing.T) {
	bubble(t, 1, nil, func(r *rig) {
		r.c.Assign([]topic.Partition{t0}, 0)
		got, err := r.read(4)
		r.cluster.Disconnect(1)
		more, err2 := r.read(6)
		if got = append(got, more...); err != nil || err2 != nil || !slices.Equal(got, count(0, 10)) {
			t.Errorf("read %q, %v, %v", got, err, err2)
		}
	})
}

// The next request is under way while the caller works: one answer waits, no more.
func TestOneAnswerAhead(t *testing.T) {
	bubble(t, 1, nil, func(r *rig) {
		r.c.Assign([]topic.Partition{t0}, 0)
		synctest.Wait()
		r.mu.Lock()
		asked := slices.Clone(r.asked)
		r.mu.Unlock()
		if !slices.Equal(asked, []int64{0}) {
			t.Errorf("before the first Poll: asked %v", asked)
		}
		if _, err := r.read(1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Equal(r.asked, []int64{0, 2}) {
			t.Errorf("after it: asked %v", r.asked)
		}
	})
}

func TestDamagedBatchIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name     string
		checkCRC bool
		spoil    func(b []byte)
	}{
		{"a flipped bit, with check.crcs", true, func(b []byte) { b[len(b)-2] ^= 1 }},
		{"a size below the minimum, always", false, func(b []byte) { clear(b[8:12]) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, func(c *Config) { c.CheckCRC = tt.checkCRC }, func(r *rig) {
				r.spoil = tt.spoil
				r.c.Assign([]topic.Partition{t0}, 0)
				if _, err := r.read(1); !errors.Is(err, kafkaerr.CorruptMessage) {
					t.Errorf("got %v, want CORRUPT_MESSAGE", err)
				}
			})
		})
	}
}

func TestGoodBatchesComeBeforeTheError(t *testing.T) {
	old := batchAt(2)
	old[16] = 1            // magic: a broker of before 0.11 wrote it
	for limit := range 3 { // records a Poll; 0 is no limit
		bubble(t, 1, func(c *Config) { c.MaxPollRecords = limit }, func(r *rig) {
			r.behind = old
			r.c.Assign([]topic.Partition{t0}, 0)
			got, err := r.read(3)
			if !slices.Equal(got, []string{"0", "1"}) {
				t.Errorf("max.poll.records=%d: got %q before the error", limit, got)
			}
			if !errors.Is(err, kafkaerr.UnsupportedForMessageFormat) || !strings.Contains(err.Error(), "t-0 at offset 2") {
				t.Errorf("max.poll.records=%d: error %v", limit, err)
			}
			if at, _ := r.c.Position(r.t.Context(), t0); at != 2 {
				t.Errorf("max.poll.records=%d: position %d, not at the record that cannot be read", limit, at)
			}
		})
	}
}

func TestFatalErrorIsReportedOnce(t *testing.T) {
	bubble(t, 1, nil, func(r *rig) {
		r.refuse = func(int32, int64) kafkaerr.Code { return kafkaerr.TopicAuthorizationFailed }
		r.c.Assign([]topic.Partition{t0}, 0)
		if _, err := r.read(1); !errors.Is(err, kafkaerr.TopicAuthorizationFailed) {
			t.Errorf("got %v", err)
		}
		if got, err := r.read(1); err != nil || got != nil {
			t.Errorf("then %q, %v", got, err)
		}
		if len(r.asked) != 1 {
			t.Errorf("asked %d times for a partition that we may not read", len(r.asked))
		}
	})
}

func TestPartitionsWaitsForTheTopic(t *testing.T) {
	bubble(t, 1, nil, func(r *rig) {
		time.AfterFunc(3*time.Second, func() { r.cluster.SetTopic("late", fakebroker.Topic{Leaders: []int32{1, 1}}) })
		got, err := r.c.Partitions(r.t.Context(), "late", true)
		if err != nil || len(got) != 2 {
			t.Errorf("got %v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
		defer cancel()
		if _, err := r.c.Partitions(ctx, "never", false); !errors.Is(err, kafkaerr.UnknownTopicOrPartition) {
			t.Errorf("got %v", err)
		}
	})
}
