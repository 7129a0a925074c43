package producer

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// requestBuffer builds Produce requests out of reused slices. The request is encoded
// before the next one is built.
type requestBuffer struct {
	cfg *Config
	req *kmsg.ProduceRequest
}

func newRequestBuffer(cfg *Config) *requestBuffer {
	req := kmsg.NewPtrProduceRequest()
	req.Acks = cfg.Acks
	req.TimeoutMillis = int32(cfg.Client.RequestTimeout.Milliseconds())
	return &requestBuffer{cfg: cfg, req: req}
}

func (r *requestBuffer) build(batches []*batch) *kmsg.ProduceRequest {
	r.req.Topics = r.req.Topics[:0]
	for _, b := range batches {
		name := b.queue.topic.name
		i := slices.IndexFunc(r.req.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == name })
		if i < 0 {
			i = len(r.req.Topics)
			t := kmsg.NewProduceRequestTopic()
			t.Topic = name
			r.req.Topics = append(r.req.Topics, t)
		}
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = b.queue.id, b.bytes
		r.req.Topics[i].Partitions = append(r.req.Topics[i].Partitions, p)
	}
	return r.req
}

// answered gives each batch its partition's answer. A partition the broker forgot to
// answer is treated as a lost request.
func (s *sender) answered(batches []*batch, resp *kmsg.ProduceResponse) {
	if resp.ThrottleMillis > 0 {
		s.until.Store(time.Now().UnixMilli() + int64(resp.ThrottleMillis))
	}
	for _, b := range batches {
		p := find(resp, b.queue)
		if p == nil {
			s.p.fail(b, kafkaerr.New(kafkaerr.NetworkException, "the answer does not name the partition"))
			continue
		}
		switch code := kafkaerr.Code(p.ErrorCode); {
		case code == kafkaerr.None || code == kafkaerr.DuplicateSequenceNumber:
			b.queue.unmute()
			s.p.finish(b, p.BaseOffset, p.LogAppendTime, nil)
		case code == kafkaerr.MessageTooLarge && len(b.acks) > 1:
			s.p.split(b)
		default:
			s.p.fail(b, refusal(code, p.ErrorMessage))
		}
	}
}

func find(resp *kmsg.ProduceResponse, q *queue) *kmsg.ProduceResponseTopicPartition {
	for i := range resp.Topics {
		if resp.Topics[i].Topic != q.topic.name {
			continue
		}
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.Partition == q.id {
				return p
			}
		}
	}
	return nil
}

func refusal(code kafkaerr.Code, message *string) error {
	if message != nil {
		return kafkaerr.New(code, *message)
	}
	return code
}

func (p *Producer) failAll(batches []*batch, err error) {
	for _, b := range batches {
		p.fail(b, err)
	}
}

// fail tries the batch again, or gives up on it. Mirrors Sender.completeBatch.
func (p *Producer) fail(b *batch, err error) {
	code := kafkaerr.CodeOf(err)
	if code.RefreshesMetadata() {
		p.requestUpdate()
	}
	now := time.Now()
	if code.Retriable() && b.attempts < p.cfg.Retries && now.Sub(b.created) < p.cfg.DeliveryTimeout && p.ctx.Err() == nil {
		b.attempts++
		b.queue.putBack(b, now)
		return
	}
	b.queue.unmute()
	if p.ctx.Err() != nil {
		err = ErrClosed
	}
	p.finish(b, -1, -1, err)
}

// split takes a batch that the broker found too large apart into parts of at most
// batch.size and half of what was sent, in order, at the front of the queue. It does
// not count as a retry. (Kafka 2.8 knows only batch.size: a batch below it that is
// too large for the topic is sent unchanged until it expires.)
// Mirrors RecordAccumulator.splitAndReenqueue.
func (p *Producer) split(b *batch) {
	var parts []*batch
	limit := max(1, min(p.cfg.BatchSize, len(b.bytes)/2))
	acks := b.acks
	now := time.Now()
	b.queue.topic.observe(1.5) // what we reckoned with was too small
	for r, err := range record.Batch(b.bytes).Records() {
		if err != nil {
			panic(fmt.Sprintf("producer: a batch of our own cannot be read: %v", err))
		}
		rec := Record{Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: r.Headers}
		if n := len(parts); n == 0 || !parts[n-1].tryAppend(&rec, acks[0]) {
			part := p.batches.get(b.queue, limit, 0, 1, b.created)
			part.tryAppend(&rec, acks[0])
			parts = append(parts, part)
		}
		acks = acks[1:]
	}
	p.mu.Lock()
	for _, part := range parts {
		part.full, part.lastAttempt = true, now
		p.incomplete[part] = struct{}{}
	}
	p.mu.Unlock()
	parts[0].memory = b.memory // the bytes stay reserved until the first part is done
	b.memory = 0
	b.queue.replace(parts)
	p.forget(b)
	p.wake(parts[0].queue)
}
