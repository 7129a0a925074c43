package producer

import (
	"context"
	"fmt"
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
)

// rig is a producer, brokers that keep what they are sent, and what the callbacks said.
type rig struct {
	t       *testing.T
	cluster *fakebroker.Cluster
	p       *Producer

	mu      sync.Mutex
	refuse  func(node int32, tp string, values []string) kafkaerr.Code // nil: accept all
	silent  func(node int32) bool
	stored  map[string][]string // topic-partition -> values, in order
	batches map[string][]int    // how many records each batch had
	sentAt  []time.Duration     // since the start, per request
	begin   time.Time
	heard   map[int64]heard // by tag
}

type heard struct {
	Metadata
	err error
}

// bubble runs a test in virtual time: brokers 1..n, topic "t" with the given leaders.
// Everything must have ended when it returns.
func bubble(t *testing.T, brokers int32, leaders []int32, configure func(*Config), run func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		c, err := fakebroker.New(network, brokers)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetTopic("t", fakebroker.Topic{Leaders: leaders})
		r := &rig{t: t, cluster: c, stored: map[string][]string{}, batches: map[string][]int{}, begin: time.Now(), heard: map[int64]heard{}}
		c.Handle(kmsg.Produce, r.produce)
		cc := client.DefaultConfig(c.Addr(1))
		cc.Network = network
		cfg := DefaultConfig(cc)
		if configure != nil {
			configure(&cfg)
		}
		r.p = New(cfg)
		defer r.p.Close(t.Context())
		run(r)
	})
}

// produce is the brokers' Produce: refuse, keep silent, or store.
func (r *rig) produce(node int32, req kmsg.Request) kmsg.Response {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sentAt = append(r.sentAt, time.Since(r.begin))
	if r.silent != nil && r.silent(node) {
		return nil
	}
	q := req.(*kmsg.ProduceRequest)
	resp := kmsg.NewPtrProduceResponse()
	for _, t := range q.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, r.store(node, fmt.Sprintf("%s-%d", t.Topic, p.Partition), p))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if q.Acks == 0 {
		return nil
	}
	return resp
}

func (r *rig) store(node int32, tp string, p kmsg.ProduceRequestTopicPartition) kmsg.ProduceResponseTopicPartition {
	out := kmsg.NewProduceResponseTopicPartition()
	out.Partition, out.LogAppendTime = p.Partition, -1
	b := record.Batch(p.Records)
	if err := b.CheckCRC(); err != nil || b.Length() != len(p.Records) {
		r.t.Errorf("%s: a bad batch of %d bytes: %v", tp, len(p.Records), err)
	}
	var values []string
	for rec, err := range b.Records() {
		if err != nil {
			r.t.Errorf("%s: %v", tp, err)
		}
		values = append(values, string(rec.Value))
	}
	if r.refuse != nil {
		if code := r.refuse(node, tp, values); code != kafkaerr.None {
			out.ErrorCode = int16(code)
			return out
		}
	}
	out.BaseOffset = int64(len(r.stored[tp]))
	r.stored[tp] = append(r.stored[tp], values...)
	r.batches[tp] = append(r.batches[tp], len(values))
	return out
}

// send sends the values to partition 0, tagged with their place.
func (r *rig) send(values ...string) {
	r.t.Helper()
	for i, v := range values {
		r.sendTo(0, int64(i), v)
	}
}

func (r *rig) sendTo(partition int32, tag int64, value string) {
	r.t.Helper()
	err := r.p.Send(r.t.Context(), Record{Topic: "t", Partition: partition, Value: []byte(value), Tag: tag}, r.hear)
	if err != nil {
		r.t.Fatalf("Send(%q): %v", value, err)
	}
}

func (r *rig) hear(tag int64, m Metadata, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, twice := r.heard[tag]; twice {
		r.t.Errorf("record %d was answered twice: %v, then %v", tag, old, err)
	}
	r.heard[tag] = heard{m, err}
}

// onOne is a topic of one partition, led by broker 1.
func (r *rig) onOne() fakebroker.Topic { return fakebroker.Topic{Leaders: []int32{1}} }

func (r *rig) flush() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Hour)
	defer cancel()
	if err := r.p.Flush(ctx); err != nil {
		r.t.Fatalf("Flush: %v", err)
	}
}

// checkMemory: with nothing under way all of buffer.memory is free again.
func (r *rig) checkMemory() {
	r.t.Helper()
	synctest.Wait()
	m := &r.p.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.available != r.p.cfg.BufferMemory {
		r.t.Errorf("%d bytes of memory are lost", r.p.cfg.BufferMemory-m.available)
	}
}
