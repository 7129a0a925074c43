package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"kz/client"
	"kz/client/consumer"
	"kz/client/producer"
	"kz/internal/topic"
)

// demoLoad writes numbered records and remembers which were acknowledged.
type demoLoad struct {
	producer *producer.Producer
	topic    string
	spread   int    // over so many partitions, in turn; 0: all to partition 0
	kind     string // what its records are called: "record", "stale record"

	mu      sync.Mutex // guards the fields below
	next    int
	acked   map[string]time.Time // the value of each acknowledged record, and when
	refused error                // the first record that was given up
}

// newDemoLoad writes with acks=all.
func newDemoLoad(bootstrap []string, topic string) *demoLoad {
	return newDemoWriter(bootstrap, topic, "record", func(cfg *producer.Config) { cfg.Acks = -1 })
}

func newDemoWriter(bootstrap []string, topic, kind string, tune func(*producer.Config)) *demoLoad {
	cfg := producer.DefaultConfig(client.DefaultConfig(bootstrap...))
	tune(&cfg)
	return &demoLoad{producer: producer.New(cfg), topic: topic, kind: kind, acked: map[string]time.Time{}}
}

// send hands one record to the producer.
func (l *demoLoad) send(ctx context.Context) error {
	l.mu.Lock()
	l.next++
	partition := int32(l.next % max(1, l.spread))
	value := l.kind + " " + strconv.Itoa(l.next)
	l.mu.Unlock()
	return l.producer.Send(ctx, producer.Record{Topic: l.topic, Partition: partition, Value: []byte(value)}, func(_ int64, _ producer.Metadata, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.acked[value] = time.Now()
		} else if l.refused == nil {
			l.refused = err
		}
	})
}

// sendMany sends n records and waits until all are answered.
func (l *demoLoad) sendMany(ctx context.Context, n int) error {
	for range n {
		if err := l.send(ctx); err != nil {
			return err
		}
	}
	return l.settle(ctx)
}

// trickle sends a record every few milliseconds until the returned function is called,
// which waits for the last answer.
func (l *demoLoad) trickle(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(5 * time.Millisecond)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				_ = l.send(ctx) // a record that was not taken was not acknowledged either
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() error {
		cancel()
		<-ended
		return l.settle(context.WithoutCancel(ctx))
	}
}

// settle waits until every record is answered.
func (l *demoLoad) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := l.producer.Flush(ctx); err != nil {
		return fmt.Errorf("records were not answered within 20s: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// firstAckAfter says when the first record after a moment was acknowledged.
func (l *demoLoad) firstAckAfter(t time.Time) (first time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.acked {
		if at.After(t) && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

// ackedBetween counts the acknowledgements from one moment to another.
func (l *demoLoad) ackedBetween(from, to time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, at := range l.acked {
		if at.After(from) && at.Before(to) {
			n++
		}
	}
	return n
}

func (l *demoLoad) counts() (sent, acked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, len(l.acked)
}

func (l *demoLoad) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.producer.Close(ctx)
}

// audit compares what was acknowledged with what can be read.
func (l *demoLoad) audit(read map[string]int) (lost []string, duplicates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost = []string{}
	for _, value := range slices.Sorted(maps.Keys(l.acked)) {
		if read[value] == 0 {
			lost = append(lost, value)
		}
	}
	for _, times := range read {
		duplicates += times - 1
	}
	return lost, duplicates
}

// readBack reads partition 0 from its first record to its high watermark and counts how
// often each value is there.
func readBack(ctx context.Context, bootstrap []string, name string) (map[string]int, error) {
	return readAllBack(ctx, bootstrap, name, 1)
}

// readAllBack does so with every partition; each must hold something.
func readAllBack(ctx context.Context, bootstrap []string, name string, partitions int32) (map[string]int, error) {
	const atMost = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	c := consumer.New(consumer.DefaultConfig(client.DefaultConfig(bootstrap...)))
	defer c.Close()
	var all []topic.Partition
	for p := range partitions {
		all = append(all, topic.Partition{Topic: name, Partition: p})
	}
	c.Assign(all, consumer.Earliest)
	read, ended := map[string]int{}, map[topic.Partition]bool{}
	for {
		fetched, err := c.Poll(ctx)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("topic %s could not be read to its end within %v", name, atMost)
		}
		for _, f := range fetched {
			next := f.From
			for r, err := range f.Records() {
				if err != nil {
					return nil, err
				}
				read[string(r.Value)]++
				next = r.Offset + 1
			}
			if end := f.HighWatermark; end > 0 && next >= end {
				ended[f.Partition] = true
			}
			f.Release()
		}
		if len(ended) == len(all) {
			return read, nil
		}
	}
}
