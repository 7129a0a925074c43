package producer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// ErrClosed is what a closed producer answers, also to the records it had not sent.
var ErrClosed = errors.New("producer is closed")

// AnyPartition lets the partitioner choose.
const AnyPartition int32 = -1

// Record is one record to send. Key, Value and Headers are copied by Send.
type Record struct {
	Topic     string
	Partition int32 // AnyPartition: by the key's hash, or sticky without a key
	Timestamp int64 // epoch ms; 0 = now
	Key       []byte
	Value     []byte
	Headers   []record.Header
	Tag       int64 // handed back to the callback, so that one function can serve all records
}

// Metadata is where a record went. Mirrors RecordMetadata.
type Metadata struct {
	Topic     string
	Partition int32
	Offset    int64 // -1 with acks=0 and on failure
	Timestamp int64 // the broker's append time where the topic uses it, else the record's own
}

// Callback hears, exactly once, how a record fared. It runs on the producer's
// goroutines and must not block.
type Callback func(tag int64, m Metadata, err error)

// Producer sends records. It is safe for concurrent use.
type Producer struct {
	cfg     Config
	client  *client.Client
	memory  memory
	batches batchPool
	topics  sync.Map // name -> *topicState

	view    atomic.Pointer[clusterView] // which queues each broker leads
	flushes atomic.Int32                // how many Flush calls wait
	closing atomic.Bool                 // no new records

	mu         sync.Mutex // guards what follows; taken with no other lock held
	senders    map[int32]*sender
	incomplete map[*batch]struct{}
	updated    chan struct{} // closed and replaced after each metadata update

	refresh chan struct{} // one token: the keeper should ask for metadata
	ctx     context.Context
	cancel  context.CancelFunc // ends every goroutine
	wg      sync.WaitGroup
}

// clusterView is the queues by leader and all of them; replaced, never changed.
type clusterView struct {
	byLeader map[int32][]*queue
	all      []*queue
}

// New makes a producer and starts its keeper and its reaper. Close ends it.
func New(cfg Config) *Producer {
	p := &Producer{
		cfg: cfg, client: client.New(cfg.Client),
		senders: map[int32]*sender{}, incomplete: map[*batch]struct{}{},
		updated: make(chan struct{}), refresh: make(chan struct{}, 1),
	}
	p.memory.available, p.memory.onWait = cfg.BufferMemory, p.wakeAll
	p.batches.codec = cfg.Compression
	p.view.Store(&clusterView{})
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.keep)
	p.wg.Go(p.reap)
	return p
}

// Send puts a record into a batch and returns. It waits, up to max.block.ms or the
// end of ctx, for the topic's metadata and for memory. An error means that the
// record was not taken and callback will not run; callback may be nil.
func (p *Producer) Send(ctx context.Context, r Record, callback Callback) error {
	if p.closing.Load() {
		return ErrClosed
	}
	begin := time.Now()
	t, view, err := p.topic(ctx, r.Topic)
	if err != nil {
		return err
	}
	now := time.Now()
	if r.Timestamp == 0 {
		r.Timestamp = now.UnixMilli()
	}
	size := recordUpperBound(&r)
	if err := p.checkSize(size); err != nil {
		return err
	}
	q, err := p.choose(t, view, &r)
	if err != nil {
		return err
	}
	a := ack{callback: callback, tag: r.Tag, timestamp: r.Timestamp}
	if ok, full := q.tryAppend(&r, a); ok {
		if full {
			p.wake(q)
		}
		return nil
	}
	if p.sticks(&r) { // a new batch is due: let another partition have it
		q = t.stick(view, q.id)
		if ok, full := q.tryAppend(&r, a); ok {
			if full {
				p.wake(q)
			}
			return nil
		}
	}
	return p.appendNew(ctx, q, &r, a, size, begin, now)
}

// appendNew reserves memory and opens a batch for the record. What waiting for metadata
// took since begin is no longer there to wait for memory.
func (p *Producer) appendNew(ctx context.Context, q *queue, r *Record, a ack, size int, begin, now time.Time) error {
	n := max(p.cfg.BatchSize, size)
	if err := p.reserve(ctx, n, begin.Add(p.cfg.MaxBlock)); err != nil {
		return err
	}
	b := p.batches.get(q, max(p.cfg.BatchSize, 1), n, q.topic.expected(), now)
	p.mu.Lock()
	p.incomplete[b] = struct{}{}
	p.mu.Unlock()
	used, _ := q.push(b, r, a)
	if !used {
		p.forget(b)
	}
	p.wake(q)
	return nil
}

// reserve takes memory without waiting when it can, else until a deadline.
func (p *Producer) reserve(ctx context.Context, n int, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return p.memory.reserve(ctx, n)
}

// recordUpperBound is what a record can need in a batch of its own.
func recordUpperBound(r *Record) int {
	n := record.HeaderSize + 32 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

func (p *Producer) checkSize(size int) error {
	switch {
	case size > p.cfg.MaxRequestSize:
		return kafkaerr.New(kafkaerr.MessageTooLarge, fmt.Sprintf("The message is %d bytes when serialized which is larger than %d, which is the value of the max.request.size configuration.", size, p.cfg.MaxRequestSize))
	case size > p.cfg.BufferMemory:
		return kafkaerr.New(kafkaerr.MessageTooLarge, fmt.Sprintf("The message is %d bytes when serialized which is larger than the total memory buffer you have configured with the buffer.memory configuration.", size))
	}
	return nil
}

// choose picks the record's queue: what it names, or what the partitioner says.
func (p *Producer) choose(t *topicState, v *topicView, r *Record) (*queue, error) {
	n, all := r.Partition, len(v.queues)
	switch {
	case n != AnyPartition:
	case p.sticks(r):
		if n = t.sticky.Load(); n < 0 || int(n) >= all {
			return t.stick(v, n), nil
		}
	case p.cfg.Partitioner != nil:
		n = p.cfg.Partitioner(r, all, v.available)
	default:
		n = forKey(r.Key, all)
	}
	if n < 0 || int(n) >= all {
		return nil, kafkaerr.New(kafkaerr.UnknownTopicOrPartition, fmt.Sprintf("Invalid partition given with record: %d is not in the range [0...%d).", n, all))
	}
	return v.queues[n], nil
}

// sticks says whether the record goes where the last one without a place of its own went.
// Mirrors DefaultPartitioner and UniformStickyPartitioner.
func (p *Producer) sticks(r *Record) bool {
	return r.Partition == AnyPartition && p.cfg.Partitioner == nil && (r.Key == nil || p.cfg.IgnoreKeys)
}

// stick replaces the sticky partition previous by another and gives the one that now
// holds: somebody else's choice, if that came first. Their view of the topic may be
// newer than ours; a partition that we do not know yet is not taken.
func (t *topicState) stick(v *topicView, previous int32) *queue {
	mine := nextSticky(previous, v.available, len(v.queues), rand.IntN)
	if !t.sticky.CompareAndSwap(previous, mine) {
		if theirs := t.sticky.Load(); theirs >= 0 && int(theirs) < len(v.queues) {
			return v.queues[theirs]
		}
	}
	return v.queues[mine]
}

// Flush sends everything now and waits until all that was sent before is answered.
func (p *Producer) Flush(ctx context.Context) error {
	p.flushes.Add(1)
	defer p.flushes.Add(-1)
	begin := time.Now()
	for {
		waits := p.unfinished(begin)
		if len(waits) == 0 {
			return nil
		}
		p.wakeAll()
		for _, done := range waits {
			select {
			case <-done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// unfinished are the batches opened up to a moment. The parts of a batch that was
// split count as old as it was, hence the loop in Flush.
func (p *Producer) unfinished(upTo time.Time) (waits []chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.incomplete {
		if !b.created.After(upTo) {
			waits = append(waits, b.done)
		}
	}
	return waits
}

// Close sends what is left, waiting at most until ctx ends; then the rest fails with
// ErrClosed. Every callback has run when it returns.
func (p *Producer) Close(ctx context.Context) error {
	if p.closing.Swap(true) {
		p.wg.Wait()
		return nil
	}
	p.memory.close()
	err := p.Flush(ctx)
	p.cancel()
	p.client.Close()
	p.wg.Wait()
	for _, q := range p.view.Load().all {
		for _, b := range q.expire(time.Now(), 0, true) {
			p.finish(b, -1, -1, ErrClosed)
		}
	}
	return err
}

// finish completes a batch and forgets it.
func (p *Producer) finish(b *batch, base, appendTime int64, err error) {
	b.complete(base, appendTime, err)
	p.forget(b)
}

// forget gives a batch's memory back and recycles it. Nobody is owed anything for it.
func (p *Producer) forget(b *batch) {
	p.mu.Lock()
	delete(p.incomplete, b)
	p.mu.Unlock()
	close(b.done)
	p.memory.release(b.memory)
	p.batches.put(b)
}

// hurry says whether batches go without lingering.
func (p *Producer) hurry() bool {
	return p.flushes.Load() > 0 || p.closing.Load() || p.memory.exhausted()
}
