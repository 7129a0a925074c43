package consumer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// ErrClosed is what a closed consumer answers.
var ErrClosed = errors.New("consumer is closed")

// Earliest and Latest are the starts that only the leader knows.
const (
	Latest   int64 = -1
	Earliest int64 = -2
)

// Fetched is what one answer holds of one partition.
type Fetched struct {
	Partition     topic.Partition
	From          int64 // the position asked for: earlier records of the first batch are skipped
	HighWatermark int64
	Bytes         []byte // whole batches, perhaps with a partial one at the end
	checkCRC      bool
	answer        *answer
}

// Records yields the records from the position on. Key and value alias the answer and
// are valid until Release. Control records are skipped. An error ends it: CORRUPT_MESSAGE.
func (f *Fetched) Records() iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for b, err := range record.Batches(f.Bytes) {
			if err == nil && f.checkCRC {
				err = b.CheckCRC()
			}
			if err != nil {
				yield(record.Record{}, fmt.Errorf("%v: %w", f.Partition, err))
				return
			}
			if b.IsControl() || b.LastOffset() < f.From {
				continue
			}
			for r, err := range b.Records() {
				if err == nil && r.Offset < f.From {
					continue
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Release gives the memory back once the records are done with. It is optional.
func (f *Fetched) Release() { f.answer.release() }

// Consumer reads assigned partitions. Poll is for one goroutine.
type Consumer struct {
	cfg    Config
	client *client.Client

	mu       sync.Mutex // guards what follows; taken with no other lock held
	parts    map[topic.Partition]*position
	fetchers map[int32]*fetcher

	fetched chan *answer // answers that hold something, one per fetcher at most
	refresh chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// position is where a partition is read next.
type position struct {
	part   topic.Partition
	leader int32 // client.NoLeader: the keeper looks for one
	offset int64 // Earliest and Latest until the leader was asked
	err    error // fatal; Poll reports it once
}

// New makes a consumer and starts its keeper. Close ends it.
func New(cfg Config) *Consumer {
	c := &Consumer{
		cfg: cfg, client: client.New(cfg.Client),
		parts: map[topic.Partition]*position{}, fetchers: map[int32]*fetcher{},
		fetched: make(chan *answer), refresh: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.keep)
	return c
}

// Partitions lists a topic's partitions, waiting until the topic exists or ctx ends.
func (c *Consumer) Partitions(ctx context.Context, name string, create bool) ([]topic.Partition, error) {
	var why error // what the cluster last said; a wait that ended says less
	for {
		var t client.Topic
		cl, err := c.client.Metadata(ctx, []string{name}, create)
		switch {
		case err == nil:
			t = cl.Topics[name]
			if t.Err == kafkaerr.None && len(t.Partitions) > 0 {
				return partitionsOf(t), nil
			}
			if why = t.Err; t.Err == kafkaerr.None {
				why = kafkaerr.UnknownTopicOrPartition
			}
		case ctx.Err() == nil && !client.Retriable(err):
			return nil, err
		case ctx.Err() == nil || why == nil:
			why = err
		}
		if t.Hopeless() || c.client.Backoff(ctx) != nil {
			return nil, why
		}
	}
}

func partitionsOf(t client.Topic) []topic.Partition {
	out := make([]topic.Partition, len(t.Partitions))
	for i, p := range t.Partitions {
		out[i] = topic.Partition{Topic: t.Name, Partition: p.ID}
	}
	return out
}

// Assign adds partitions to read, each from an offset or from Earliest or Latest.
func (c *Consumer) Assign(parts []topic.Partition, from int64) {
	c.mu.Lock()
	for _, p := range parts {
		c.parts[p] = &position{part: p, leader: client.NoLeader, offset: from}
	}
	c.mu.Unlock()
	c.lookForLeaders()
}

// Poll gives what one broker's answer holds, waiting until there is one or ctx ends;
// then it returns nothing and no error.
func (c *Consumer) Poll(ctx context.Context) ([]Fetched, error) {
	select {
	case a := <-c.fetched:
		return a.parts, a.err
	case <-ctx.Done():
		return nil, nil
	case <-c.ctx.Done():
		return nil, ErrClosed
	}
}

// Close ends every goroutine.
func (c *Consumer) Close() {
	c.cancel()
	c.client.Close()
	c.wg.Wait()
}

func (c *Consumer) lookForLeaders() {
	select {
	case c.refresh <- struct{}{}:
	default:
	}
}
