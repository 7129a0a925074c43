package producer

import (
	"sync"
	"time"

	"kz/internal/record"
)

// batch is what becomes one record batch of one partition. Mirrors ProducerBatch.
type batch struct {
	queue   *queue
	builder *record.Builder
	acks    []ack  // one per record, in order
	limit   int    // bytes after which no further record is taken
	memory  int    // bytes reserved for it
	bytes   []byte // the closed batch; nil while open
	ratio   float64

	created     time.Time
	attempts    int
	lastAttempt time.Time     // of the last failed attempt
	full        bool          // no record fits any more
	done        chan struct{} // closed when every callback has run, or its parts took its place
}

// ack is what is owed to the sender of one record.
type ack struct {
	callback  Callback
	tag       int64
	timestamp int64
}

// batchPool keeps builders, with their buffers, for reuse.
type batchPool struct {
	codec record.Codec
	pool  sync.Pool
}

func (p *batchPool) get(q *queue, limit, memory int, ratio float64, now time.Time) *batch {
	b, _ := p.pool.Get().(*batch)
	if b == nil {
		b = &batch{builder: record.NewBuilder(p.codec, 0)}
	}
	*b = batch{
		queue: q, builder: b.builder, acks: b.acks[:0], limit: limit, memory: memory, ratio: ratio,
		created: now, done: make(chan struct{}),
	}
	b.builder.Reset()
	return b
}

// put gives a completed batch back. Nobody may hold it or its bytes any longer.
func (p *batchPool) put(b *batch) {
	clear(b.acks)
	b.queue = nil
	p.pool.Put(b)
}

// tryAppend takes the record if it fits; the first record always fits. Its queue's
// lock is held.
func (b *batch) tryAppend(r *Record, a ack) bool {
	if b.bytes != nil || b.full {
		return false
	}
	if len(b.acks) > 0 && b.estimate(b.builder.SizeWith(r.Timestamp, r.Key, r.Value, r.Headers...)) > b.limit {
		b.full = true
		return false
	}
	b.builder.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
	b.acks = append(b.acks, a)
	if b.estimate(b.builder.Len()) >= b.limit {
		b.full = true
	}
	return true
}

// estimate is what size bytes will probably be once compressed.
// Mirrors MemoryRecordsBuilder.estimatedBytesWritten.
func (b *batch) estimate(size int) int {
	if b.ratio == 1 {
		return size
	}
	return int(float64(size) * b.ratio * 1.05)
}

// close ends the batch and compresses it. It returns the batch's bytes, which stay
// valid until the batch is put back.
func (b *batch) close() []byte {
	if b.bytes == nil {
		plain := b.builder.Len()
		b.bytes = b.builder.Bytes()
		b.queue.topic.observe(float64(len(b.bytes)) / float64(plain))
	}
	return b.bytes
}

// complete runs every callback. base is the offset of the first record, -1 when
// unknown (acks=0, failure); appendTime is epoch ms or -1.
func (b *batch) complete(base, appendTime int64, err error) {
	m := Metadata{Topic: b.queue.topic.name, Partition: b.queue.id, Offset: -1, Timestamp: appendTime}
	for i := range b.acks {
		a := &b.acks[i]
		if a.callback == nil {
			continue
		}
		if err == nil && base >= 0 {
			m.Offset = base + int64(i)
		}
		if appendTime < 0 {
			m.Timestamp = a.timestamp
		}
		a.callback(a.tag, m, err)
	}
}
