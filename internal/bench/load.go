package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A load is one produce run and the consume run of what it wrote.
type load struct {
	acks       string // "1", "all"
	rf         int16  // 1 with acks=1, so that no replication goes on behind the answers; 3 with all
	size       int
	codec      string // "none", "lz4"
	megabytes  int
	partitions int
}

func loads(o options) []load {
	var out []load
	for _, acks := range []string{"1", "all"} {
		rf := int16(1)
		if acks == "all" {
			rf = 3
		}
		for _, size := range []int{100, 1000} {
			for _, codec := range []string{"none", "lz4"} {
				mb := o.megabytes
				if size == 100 { // the client's cost per record dominates
					mb /= 4
				}
				out = append(out, load{acks, rf, size, codec, mb, o.partitions})
			}
		}
	}
	return out
}

func (l load) label() string {
	return fmt.Sprintf("acks=%s, rf %d, %d B, %s", l.acks, l.rf, l.size, l.codec)
}

func (l load) run(s *system, r *report) error {
	topic := fmt.Sprintf("load-%s-%d-%s", l.acks, l.size, l.codec)
	if err := createTopic(s.addrs, topic, l.partitions, l.rf); err != nil {
		return err
	}
	records := l.megabytes * 1_000_000 / l.size
	before, err := s.cpu()
	if err != nil {
		return err
	}
	took, err := produce(s.addrs, topic, l, records)
	if err != nil {
		return err
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	mb := float64(records) * float64(l.size) / 1e6
	r.put("produce "+l.label(), s.name, mb/took.Seconds(), "MB/s", higher)
	r.put("  broker CPU, "+l.label(), s.name, (after-before)/(mb/1000), "s/GB", lower)
	if l.acks != "all" {
		return nil
	}
	took, err = consume(s.addrs, topic, records)
	if err != nil {
		return err
	}
	last, err := s.cpu()
	if err != nil {
		return err
	}
	kind := fmt.Sprintf("%d B, %s", l.size, l.codec)
	r.put("consume "+kind, s.name, mb/took.Seconds(), "MB/s", higher)
	r.put("  broker CPU, consume "+kind, s.name, (last-after)/(mb/1000), "s/GB", lower)
	return nil
}

func createTopic(addrs []string, topic string, partitions int, rf int16) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	adm := kadm.NewClient(cl)
	adm.SetTimeoutMillis(int32(deadline.Milliseconds()))
	resp, err := adm.CreateTopic(ctx, int32(partitions), rf, nil, topic)
	if err == nil {
		err = resp.Err
	}
	return err
}

// payload is bytes of which about half compress, as text does.
func payload(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b[:size/2])
	for i := size / 2; i < size; i++ {
		b[i] = byte('a' + i%7)
	}
	return b
}

func produce(addrs []string, topic string, l load, records int) (time.Duration, error) {
	acks := kgo.LeaderAck()
	if l.acks == "all" {
		acks = kgo.AllISRAcks()
	}
	codec := kgo.NoCompression()
	if l.codec == "lz4" {
		codec = kgo.Lz4Compression()
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(acks),
		kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(1_000_000), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(200_000), kgo.MaxProduceRequestsInflightPerBroker(5),
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(64<<10, false, false, nil)))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	value := payload(l.size)
	var failed atomic.Pointer[error]
	promise := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.Store(&err)
		}
	}
	start := time.Now()
	for range records {
		cl.Produce(context.Background(), &kgo.Record{Topic: topic, Value: value}, promise)
	}
	if err := cl.Flush(context.Background()); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if e := failed.Load(); e != nil {
		return 0, *e
	}
	return took, nil
}

func consume(addrs []string, topic string, records int) (time.Duration, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxPartitionBytes(4<<20))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	start := time.Now()
	for got := 0; got < records; {
		f := cl.PollFetches(ctx)
		if errs := f.Errors(); len(errs) > 0 {
			return 0, errs[0].Err
		}
		got += f.NumRecords()
	}
	return time.Since(start), nil
}

func rateLabel(o options) string { return fmt.Sprintf("latency acks=all, 1 kB, %d/s", o.rate) }

// fixedRate sends records at a steady rate and prints how long acknowledgements took.
func fixedRate(o options, s *system, r *report) error {
	const topic = "rate"
	if err := createTopic(s.addrs, topic, o.partitions, 3); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.MaxProduceRequestsInflightPerBroker(5), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	c := &rateClient{cl: cl, topic: topic, value: payload(1000)}
	// After a topic's creation a follower may ask a leader that has not heard of its election yet,
	// and then waits for replica.fetch.backoff.ms. That is told by itself, not as latency.
	start := time.Now()
	if err := cl.ProduceSync(context.Background(), c.onePerPartition(o.partitions)...).FirstErr(); err != nil {
		return err
	}
	r.put(fmt.Sprintf("first acks=all answers after creation, %d partitions", o.partitions), s.name, time.Since(start).Seconds()*1000, "ms", lower)
	c.run(warmUp, o.rate)
	before, err := s.cpu()
	if err != nil {
		return err
	}
	took := c.run(time.Duration(o.seconds)*time.Second, o.rate)
	after, err := s.cpu()
	if err != nil {
		return err
	}
	if len(took) == 0 {
		return fmt.Errorf("nothing was acknowledged at a fixed rate")
	}
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1000 }
	label := rateLabel(o)
	r.put(label+", p50", s.name, at(0.50), "ms", lower)
	r.put(label+", p99", s.name, at(0.99), "ms", lower)
	r.put("  broker CPU of three, "+label, s.name, (after-before)/float64(o.seconds)*100, "% of a core", lower)
	return nil
}

// warmUp is how long the rate goes on before it is measured.
const warmUp = 2 * time.Second

// rateClient produces single records, batched as the client likes.
type rateClient struct {
	cl    *kgo.Client
	topic string
	value []byte
}

func (c *rateClient) onePerPartition(n int) []*kgo.Record {
	records := make([]*kgo.Record, n) // one to each: the partitioner goes round
	for i := range records {
		records[i] = &kgo.Record{Topic: c.topic, Value: c.value}
	}
	return records
}

// run sends rate records a second for so long and returns how long each took to be acknowledged,
// sorted. It waits for the last.
func (c *rateClient) run(d time.Duration, rate int) []time.Duration {
	var mu sync.Mutex
	var took []time.Duration
	send := func() {
		at := time.Now()
		c.cl.Produce(context.Background(), &kgo.Record{Topic: c.topic, Value: c.value}, func(_ *kgo.Record, err error) {
			if err == nil {
				mu.Lock()
				took = append(took, time.Since(at))
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for start, sent := time.Now(), 0; time.Since(start) < d; {
		<-tick.C
		for due := int(time.Since(start).Seconds() * float64(rate)); sent < due; sent++ {
			send()
		}
	}
	_ = c.cl.Flush(context.Background()) // never ends early: its context does not
	slices.Sort(took)
	return took
}
