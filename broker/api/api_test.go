package api

import (
	"testing"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestEveryServedAPIHasAHandler(t *testing.T) {
	for _, row := range wire.Served() {
		if handlers[row.Key] == nil {
			t.Errorf("%s is advertised and not handled", wire.APIName(row.Key))
		}
	}
	for key := range handlers {
		if _, ok := wire.Lookup(key); !ok {
			t.Errorf("%s is handled and not advertised", wire.APIName(key))
		}
	}
}

// Ref: Kafka 2.8 RequestContext.parseRequest: unknown keys and versions close the connection
func TestUnservedIsClosed(t *testing.T) {
	b := newBench(t)
	for _, h := range []wire.RequestHeader{{Key: 26}, {Key: 99}, {Key: -1}, {Key: keyProduce, Version: 2}, {Key: keyMetadata, Version: 12}, {Key: keyMetadata, Version: -1}} {
		if e := b.send(t, h, nil); e.closed == "" {
			t.Errorf("%+v was not closed", h)
		}
	}
}

func TestMalformedBodyIsClosed(t *testing.T) {
	b := newBench(t)
	hasNoBody := func(key, v int16) bool { return (key == keyAPIVersions || key == keyListGroups) && v <= 2 }
	for _, row := range wire.Served() {
		for v := row.Min; v <= row.Max; v++ {
			if e := b.send(t, wire.RequestHeader{Key: row.Key, Version: v}, []byte{0xff}); e.closed == "" && !hasNoBody(row.Key, v) {
				t.Errorf("%s v%d: a body of one byte was not closed", wire.APIName(row.Key), v)
			}
		}
	}
}

func TestPanicClosesOneConnection(t *testing.T) {
	b := newBench(t)
	b.replicas.epochs = func(topic.Partition, int32, int32) (int32, int64, kafkaerr.Code) { panic("bug") }
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{{}}}}
	e := b.send(t, wire.RequestHeader{Key: req.Key()}, req.AppendTo(nil))
	if e.closed != "internal error" {
		t.Errorf("closed with %q", e.closed)
	}
}

// A panic after the answer must not end the request again.
func TestPanicAfterTheAnswer(t *testing.T) {
	b := newBench(t)
	b.replicas.fetch = func(p replica.FetchPartition) replica.FetchResult {
		return replica.FailedFetch(p.Partition, kafkaerr.None)
	}
	e := &ending{t: t, done: make(chan struct{})}
	c := newCall(e, wire.RequestHeader{Key: keyDescribeCluster}, kmsg.NewPtrDescribeClusterRequest().AppendTo(nil), "PLAINTEXT", "")
	handlers[keyDescribeCluster] = func(a *API, c *call) { a.describeCluster(c); panic("late") }
	defer func() { handlers[keyDescribeCluster] = (*API).describeCluster }()
	b.serve(c)
	if e.times != 1 || !e.answered {
		t.Errorf("ended %d times, answered %v", e.times, e.answered)
	}
}

// Foreign bytes through every handler: at most their connection ends, never the process.
func FuzzHandlers(f *testing.F) {
	for _, row := range wire.Served() {
		for v := row.Min; v <= row.Max; v++ {
			req := kmsg.RequestForKey(row.Key)
			req.SetVersion(v)
			f.Add(row.Key, v, req.AppendTo(nil))
		}
	}
	for _, seed := range seeds() {
		f.Add(seed.Key(), seed.GetVersion(), seed.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if len(body) > 1<<16 {
			return
		}
		b := newBench(t)
		e := b.sendRaw(t, key, version, body)
		if e.closed == "internal error" {
			t.Error("a handler panicked")
		}
		e.bytes()
	})
}

// sendRaw is send for topics that may wait for leaders, which nobody elects here.
func (b *bench) sendRaw(t *testing.T, key, version int16, body []byte) *ending {
	e := &ending{t: t, done: make(chan struct{})}
	b.serve(newCall(e, wire.RequestHeader{Key: key, Version: version}, body, "PLAINTEXT", "/127.0.0.1"))
	b.d.Admin.Stop()
	b.waits.Wait()
	<-e.done
	return e
}

// seeds are requests with something in them.
func seeds() []kmsg.Request {
	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks = 9, 1
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch("k", "v")}}}}
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 12
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{PartitionMaxBytes: 10}}}}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version, create.TimeoutMillis = 7, 1000
	create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "n", NumPartitions: 2, ReplicationFactor: 1,
		Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: kmsg.StringPtr("1")}}}}
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Version = 4
	describe.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: 2, ResourceName: "t"}, {ResourceType: 4, ResourceName: "1"}}
	return []kmsg.Request{produce, fetch, create, describe}
}
