package consumer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// What a consumer answers besides Kafka's codes.
var (
	ErrClosed   = errors.New("consumer is closed")
	ErrWakeup   = errors.New("consumer was woken up")
	ErrInUse    = errors.New("a consumer is for one goroutine: another is inside Poll")
	ErrNoOffset = errors.New("no committed offset, and auto.offset.reset is none")
)

// Consumer reads partitions: those it is told to (Assign), or its share of what a
// group reads (Subscribe). Poll, Unsubscribe and Close are for one goroutine; Wakeup,
// commits, and what only looks or moves positions are for any.
type Consumer struct {
	cfg    Config
	client *client.Client
	group  *membership // nil without group.id

	mu        sync.Mutex // guards what follows and the group; taken with no other lock held
	parts     map[topic.Partition]*position
	lives     int // how many positions there ever were
	fetchers  map[int32]*fetcher
	cluster   *client.Cluster // what metadata last said; nil before
	sub       subscription
	news      chan struct{} // closed and replaced when something changed that Poll waits for
	resolving bool          // somebody asks for committed offsets
	callbacks []func()      // of asynchronous commits, for Poll to run

	turn     chan struct{} // one token: whoever holds it is the consumer's goroutine
	listens  atomic.Bool   // that goroutine is inside a Listener, which may call back
	woken    atomic.Bool
	closed   atomic.Bool
	closing  chan struct{} // closed when Close begins
	ended    chan struct{} // closed when it is done
	closeErr error         // set before ended is closed

	rest    *answer      // what the last Poll left over; only the turn's holder touches it
	fetched chan *answer // answers that hold something, one per fetcher at most
	refresh chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	open    context.Context // ends when Close begins: what Poll waits for
	endOpen context.CancelFunc
	wg      sync.WaitGroup
}

// New makes a consumer and starts its keeper. Close ends it.
func New(cfg Config) *Consumer {
	c := &Consumer{
		cfg: cfg, client: client.New(cfg.Client),
		parts: map[topic.Partition]*position{}, fetchers: map[int32]*fetcher{}, news: make(chan struct{}),
		turn: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}), fetched: make(chan *answer), refresh: make(chan struct{}, 1),
	}
	c.turn <- struct{}{}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.open, c.endOpen = context.WithCancel(c.ctx)
	if cfg.Group != "" {
		c.group = newMembership(c)
	}
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

// enter takes the consumer's turn. A Listener's call back finds it taken by its own
// goroutine and goes on.
func (c *Consumer) enter() (leave func(), err error) {
	select {
	case <-c.closing:
		if !c.listens.Load() { // the last calls of a Listener while Close runs it
			return nil, ErrClosed
		}
	default:
	}
	if c.listens.Load() {
		return func() {}, nil
	}
	select {
	case <-c.turn:
		return func() { c.turn <- struct{}{} }, nil
	default:
		return nil, ErrInUse
	}
}

// Wakeup makes the Poll under way, or the next one, return ErrWakeup. Any goroutine may call it.
func (c *Consumer) Wakeup() {
	c.woken.Store(true)
	c.announce()
}

// Poll gives records of some partitions, waiting until there are any or ctx ends; then
// it returns nothing and no error. It also does, in between, all the work of the group:
// joining, the Listener's calls, automatic commits, the callbacks of asynchronous ones.
// So it has to be called again within max.poll.interval.ms.
func (c *Consumer) Poll(ctx context.Context) ([]Fetched, error) {
	leave, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	c.group.polling(true)
	defer c.group.polling(false)
	for {
		c.mu.Lock()
		news := c.news // before looking, so that no change is missed
		c.mu.Unlock()
		if c.woken.Swap(false) {
			return nil, ErrWakeup
		}
		due, err := c.chores()
		if err != nil {
			return nil, err
		}
		if out, err := c.hand(); len(out) > 0 || err != nil {
			return out, err
		}
		if err := c.await(ctx, news, due); err != nil || ctx.Err() != nil {
			return nil, err
		}
	}
}

// chores is what Poll does besides fetching. It says in how long it is due again, 0 for never.
func (c *Consumer) chores() (due time.Duration, err error) {
	c.runCallbacks()
	if c.group == nil {
		return 0, nil
	}
	if err := c.group.step(); err != nil {
		return 0, err
	}
	c.resolveCommitted()
	return c.autoCommit(), nil
}

// await waits for an answer, news, the chores or the end of ctx.
func (c *Consumer) await(ctx context.Context, news chan struct{}, due time.Duration) error {
	var timer <-chan time.Time
	if due > 0 {
		t := time.NewTimer(due)
		defer t.Stop()
		timer = t.C
	}
	select {
	case c.rest = <-c.fetched:
	case <-news:
	case <-timer:
	case <-ctx.Done():
	case <-c.closing:
		return ErrClosed
	}
	return nil
}

// hand gives what is left of the answer at hand, up to max.poll.records, and moves the
// consumed marks. Pieces read before a jump, or of a partition that is no longer ours,
// are dropped.
func (c *Consumer) hand() (out []Fetched, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failedLocked(); err != nil || c.rest == nil {
		return nil, err
	}
	room := c.cfg.MaxPollRecords
	if room == 0 {
		room = int(^uint32(0) >> 1)
	}
	parts := c.rest.parts
	for len(parts) > 0 && room > 0 {
		f := parts[0]
		pos := c.parts[f.Partition]
		if pos == nil || pos.version != f.version || pos.paused {
			f.Release()
			parts = parts[1:]
			continue
		}
		piece, rest, epoch := f.split(room)
		if rest != nil {
			f.answer.hold()
			parts[0] = *rest
		} else {
			parts = parts[1:]
		}
		room -= int(min(piece.To-piece.From, int64(room)))
		pos.consumed, pos.epoch = piece.To, max(epoch, -1)
		out = append(out, piece)
	}
	if c.rest.parts = parts; len(parts) == 0 {
		c.rest = nil
	}
	return out, nil
}

// failedLocked reports a partition that cannot be read, once, and after the records
// that were fetched before the failure.
func (c *Consumer) failedLocked() error {
	for _, p := range c.parts {
		if unread := p.known() && p.consumed < p.offset; p.err != nil && !p.reported && !unread {
			p.reported = true
			return p.err
		}
	}
	return nil
}

// closeTimeout is how long Close waits for the last commit and the farewell, as in Kafka.
const closeTimeout = 30 * time.Second

// Close commits (enable.auto.commit), tells the Listener, leaves the group unless the
// member is static, and ends every goroutine. A Poll under way returns ErrClosed first.
func (c *Consumer) Close() error {
	if c.closed.Swap(true) {
		<-c.ended
		return c.closeErr
	}
	close(c.closing)
	c.endOpen()
	<-c.turn
	if c.group != nil {
		ctx, cancel := context.WithTimeout(c.ctx, closeTimeout)
		c.closeErr = c.group.farewell(ctx)
		cancel()
	}
	c.mu.Lock()
	c.cancel() // under the lock: no fetcher is started after it
	c.mu.Unlock()
	c.client.Close()
	c.group.closeClients()
	c.wg.Wait()
	close(c.ended)
	return c.closeErr
}

func (c *Consumer) lookForLeaders() {
	select {
	case c.refresh <- struct{}{}:
	default:
	}
}
