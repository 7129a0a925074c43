package producer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
)

// expiryCheck is how often batches are looked over for delivery.timeout.ms.
const expiryCheck = 500 * time.Millisecond

// reap runs until the producer closes: the expiry of batches that nobody can send. It
// waits for nobody; the keeper may be waiting for an answer.
func (p *Producer) reap() {
	tick := time.NewTicker(expiryCheck)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-tick.C:
			p.expire(now)
		}
	}
}

// keep runs until the producer closes: metadata when somebody asks for it or it is old.
func (p *Producer) keep() {
	tick := time.NewTimer(expiryCheck)
	defer tick.Stop()
	var last time.Time // of the last attempt to fetch metadata
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.refresh:
			if p.pause(time.Until(last.Add(p.cfg.Client.RetryBackoff))) != nil {
				return
			}
			last = time.Now()
			p.update()
		case now := <-tick.C:
			tick.Reset(expiryCheck)
			if now.Sub(last) >= p.cfg.Client.MetadataMaxAge && len(p.view.Load().all) > 0 {
				p.requestUpdate()
			}
		}
	}
}

func (p *Producer) pause(d time.Duration) error {
	if d <= 0 {
		return p.ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// requestUpdate asks the keeper for metadata.
func (p *Producer) requestUpdate() {
	select {
	case p.refresh <- struct{}{}:
	default:
	}
}

// topic gives what is known of a topic, waiting for its first metadata.
func (p *Producer) topic(ctx context.Context, name string) (*topicState, *topicView, error) {
	v, ok := p.topics.Load(name)
	if !ok {
		v, _ = p.topics.LoadOrStore(name, newTopicState(name, p.cfg.Compression))
	}
	t := v.(*topicState)
	if view := t.view.Load(); view != nil {
		return t, view, nil
	}
	return p.awaitTopic(ctx, t)
}

func (p *Producer) awaitTopic(ctx context.Context, t *topicState) (*topicState, *topicView, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.MaxBlock)
	defer cancel()
	for {
		p.mu.Lock()
		updated := p.updated
		p.mu.Unlock()
		if view := t.view.Load(); view != nil {
			return t, view, nil
		}
		if e := t.hopeless.Load(); e != nil {
			return nil, nil, *e
		}
		p.requestUpdate()
		select {
		case <-updated:
		case <-p.ctx.Done():
			return nil, nil, ErrClosed
		case <-ctx.Done():
			return nil, nil, kafkaerr.New(kafkaerr.RequestTimedOut, fmt.Sprintf("Topic %s not present in metadata after %d ms.", t.name, p.cfg.MaxBlock.Milliseconds()))
		}
	}
}

// update fetches metadata of every topic in use and rebuilds the views.
func (p *Producer) update() {
	var names []string
	p.topics.Range(func(k, _ any) bool { names = append(names, k.(string)); return true })
	if len(names) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Client.RequestTimeout)
	defer cancel()
	cl, err := p.client.Metadata(ctx, names, true)
	again := err != nil
	if err == nil {
		view := &clusterView{byLeader: map[int32][]*queue{}}
		for _, name := range names {
			again = p.apply(name, cl, view) || again
		}
		p.view.Store(view)
		for leader := range view.byLeader {
			p.startSender(leader)
		}
	}
	p.mu.Lock()
	close(p.updated)
	p.updated = make(chan struct{})
	p.mu.Unlock()
	p.wakeAll()
	if again {
		p.requestUpdate()
	}
}

// apply takes over one topic. It reports whether metadata should be asked again: a
// topic or leader that is missing may be there in a moment.
func (p *Producer) apply(name string, cl *client.Cluster, view *clusterView) (again bool) {
	v, _ := p.topics.Load(name)
	t := v.(*topicState)
	old := t.view.Load()
	answer, ok := cl.Topics[name]
	if !ok || answer.Err != kafkaerr.None || len(answer.Partitions) == 0 {
		if answer.Hopeless() {
			err := error(answer.Err)
			t.hopeless.Store(&err)
		}
		if old == nil {
			return false // who waits for the topic asks again; without anybody there is no hurry
		}
		p.add(view, old)
		return slices.ContainsFunc(old.queues, (*queue).waiting)
	}
	next := &topicView{}
	for i, part := range answer.Partitions {
		if int(part.ID) != i {
			return true // a hole in the numbers: the broker is in the middle of an update
		}
		var q *queue
		if old != nil && i < len(old.queues) {
			q = old.queues[i]
		} else {
			q = newQueue(t, part.ID)
		}
		again = q.follow(part) || again
		next.queues = append(next.queues, q)
		if q.leader.Load() != client.NoLeader {
			next.available = append(next.available, part.ID)
		}
	}
	t.hopeless.Store(nil)
	t.view.Store(next)
	p.add(view, next)
	return again
}

// follow takes over the leader, unless the answer is older than what is known
// already: a broker that has not heard of an election yet must not send us back.
func (q *queue) follow(part client.Partition) (again bool) {
	if part.LeaderEpoch >= 0 && part.LeaderEpoch < q.leaderEpoch {
		return true
	}
	q.leaderEpoch = max(q.leaderEpoch, part.LeaderEpoch)
	leader := part.Leader
	if part.Err != kafkaerr.None && part.Err != kafkaerr.ReplicaNotAvailable {
		leader = client.NoLeader
	}
	q.leader.Store(leader)
	return leader == client.NoLeader && q.waiting()
}

func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.batches) > 0
}

func (p *Producer) add(view *clusterView, t *topicView) {
	for _, q := range t.queues {
		view.all = append(view.all, q)
		if l := q.leader.Load(); l != client.NoLeader {
			view.byLeader[l] = append(view.byLeader[l], q)
		}
	}
}

// expire fails the batches that have waited longer than delivery.timeout.ms. A batch
// in a request is not touched: request.timeout.ms ends that wait first.
func (p *Producer) expire(now time.Time) {
	for _, q := range p.view.Load().all {
		for _, b := range q.expire(now, p.cfg.DeliveryTimeout, false) {
			p.finish(b, -1, -1, expired(b))
		}
	}
}

func expired(b *batch) error {
	return kafkaerr.New(kafkaerr.RequestTimedOut, fmt.Sprintf("Expiring %d record(s) for %s-%d:%d ms has passed since batch creation",
		len(b.acks), b.queue.topic.name, b.queue.id, time.Since(b.created).Milliseconds()))
}
