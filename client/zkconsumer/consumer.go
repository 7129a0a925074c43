package zkconsumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/client"
	"kz/client/consumer"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// ErrRebalanceFailed says that the retries were used up: the member owns nothing until
// something changes again. Mirrors ConsumerRebalanceFailedException.
var ErrRebalanceFailed = errors.New("can't rebalance after all retries (rebalance.max.retries)")

// Stats counts what a herd costs.
type Stats struct {
	Wakeups    int // watches that fired
	Rebalances int // times that the rule was applied and the share was taken
	Conflicts  int // attempts that found somebody else's owner node
}

// Consumer is one member of a group. Poll and Close are for one goroutine.
type Consumer struct {
	cfg   Config
	id    string
	zk    *zk.Client
	inner *consumer.Consumer // reads what we own

	flag   chan struct{} // one token: something changed
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex                 // guards what follows
	owned      map[topic.Partition]string // by which of our threads
	written    map[topic.Partition]int64  // what we last wrote into ZooKeeper
	newSession bool                       // our ephemeral nodes are gone
	failed     error
	stats      Stats
}

// New registers a member and begins to rebalance. ctx bounds the start alone; it waits
// until a broker is registered.
func New(ctx context.Context, cfg Config, n link.Network) (*Consumer, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	z, err := zk.Connect(ctx, cfg.ZooKeeper, n, nil, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	c := &Consumer{cfg: cfg, id: cfg.ID, zk: z, flag: make(chan struct{}, 1), owned: map[topic.Partition]string{}, written: map[topic.Partition]int64{}}
	if c.id == "" {
		c.id = newID(cfg.Group)
	}
	if cfg.Client.Bootstrap, err = c.brokers(ctx); err != nil {
		z.Close()
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.inner = consumer.New(innerConfig(cfg, n))
	c.watch()
	if err := c.register(ctx); err != nil {
		c.Close()
		return nil, err
	}
	c.wake()
	c.wg.Go(c.run)
	return c, nil
}

// innerConfig is the reader's: it is in no group, but may commit for one.
func innerConfig(cfg Config, n link.Network) consumer.Config {
	cc := cfg.Client
	cc.Network = n
	in := consumer.DefaultConfig(cc)
	in.FromLatest, in.AutoCommit = !cfg.Smallest, false
	if cfg.Storage != consumer.StoreZooKeeper {
		in.Group = cfg.Group
	}
	return in
}

// newID is <group>_<host>-<ms>-<8 hex digits>.
func newID(group string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s_%s-%s-%08x", group, host, millis(time.Now()), rand.Uint32())
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// brokers gives the addresses of the registered brokers, waiting for the first.
func (c *Consumer) brokers(ctx context.Context) ([]string, error) {
	for {
		ids, err := c.zk.Children(ctx, zkpaths.BrokerIDs, false)
		if err != nil && !errors.Is(err, zk.NoNode) {
			return nil, err
		}
		var out []string
		for _, id := range ids {
			data, _, err := c.zk.Get(ctx, zkpaths.BrokerIDs+"/"+id)
			if err != nil {
				continue // it has just gone
			}
			if b, err := zkpaths.DecodeBrokerInfo(data); err == nil && b.Host != "" {
				out = append(out, client.Address(b.Host, b.Port))
			}
		}
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("no broker is registered in ZooKeeper: %w", ctx.Err())
		}
	}
}

// watch says what wakes us besides the topics, which look finds.
func (c *Consumer) watch() {
	c.zk.RegisterChild(idsPath(c.cfg.Group), c.fired)
	if len(c.cfg.Topics) == 0 {
		c.zk.RegisterChild(zkpaths.Topics, c.fired)
	}
	c.zk.RegisterSession("zkconsumer", nil, func() {
		c.mu.Lock()
		c.newSession = true
		c.mu.Unlock()
		c.wake()
	})
}

// fired is every watch's handler. It runs on ZooKeeper's event goroutine and only sets the flag.
func (c *Consumer) fired(zk.EventType) {
	c.mu.Lock()
	c.stats.Wakeups++
	c.mu.Unlock()
	c.wake()
}

func (c *Consumer) wake() {
	select {
	case c.flag <- struct{}{}:
	default:
	}
}

// register writes who we are. A node of ours that a dead session left behind goes when
// that session does.
func (c *Consumer) register(ctx context.Context) error {
	if err := c.zk.CreateRecursive(ctx, idsPath(c.cfg.Group), nil); err != nil && !errors.Is(err, zk.NodeExists) {
		return err
	}
	data := c.cfg.registration(time.Now()).encode()
	for {
		err := c.create(ctx, idPath(c.cfg.Group, c.id), data)
		if !errors.Is(err, zk.NodeExists) {
			return err
		}
		select {
		case <-time.After(c.cfg.ZooKeeper.SessionTimeout):
		case <-ctx.Done():
			return err
		}
	}
}

// create makes an ephemeral node. One that holds our data already is ours: the answer
// to an earlier try was lost.
func (c *Consumer) create(ctx context.Context, path string, data []byte) error {
	op := zk.CreateOp(path, data)
	op.Ephemeral = true
	err := c.zk.Do(ctx, op)[0].Err
	if errors.Is(err, zk.NodeExists) {
		if have, stat, gerr := c.zk.Get(ctx, path); gerr == nil && string(have) == string(data) && stat.EphemeralOwner == c.zk.SessionID() {
			return nil
		}
	}
	return err
}

// run rebalances when the flag is set, and commits. It is the only goroutine that does.
func (c *Consumer) run() {
	var commits <-chan time.Time
	if c.cfg.AutoCommit {
		t := time.NewTicker(c.cfg.AutoCommitEvery)
		defer t.Stop()
		commits = t.C
	}
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-commits:
			_ = c.Commit(c.ctx) // the next one says more
		case <-c.flag:
			if err := c.rebalance(); err != nil && c.ctx.Err() == nil {
				c.mu.Lock()
				c.failed = err
				c.mu.Unlock()
				c.inner.Wakeup()
			}
		}
	}
}

// Poll gives records of the partitions that we own; see consumer.Consumer.Poll. A
// rebalance that failed for good is its error, once.
func (c *Consumer) Poll(ctx context.Context) ([]consumer.Fetched, error) {
	for {
		fetched, err := c.inner.Poll(ctx)
		if !errors.Is(err, consumer.ErrWakeup) {
			return fetched, err
		}
		c.mu.Lock()
		err, c.failed = c.failed, nil
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// Seek sets from where the next Poll reads a partition that we own, and so what the next
// commit says.
func (c *Consumer) Seek(p topic.Partition, offset int64) error { return c.inner.Seek(p, offset) }

// ID is the member's name in ZooKeeper.
func (c *Consumer) ID() string { return c.id }

// Owned lists the partitions whose owner node is ours, sorted.
func (c *Consumer) Owned() []topic.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []topic.Partition
	for p := range c.owned {
		out = append(out, p)
	}
	slices.SortFunc(out, topic.Partition.Compare)
	return out
}

// Stats is what happened so far.
func (c *Consumer) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Close commits, if commits are automatic, and ends the session: the nodes go at once.
func (c *Consumer) Close() error {
	c.cancel()
	c.wg.Wait()
	var err error
	if c.cfg.AutoCommit {
		ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Client.RequestTimeout)
		err = c.Commit(ctx)
		cancel()
	}
	err = errors.Join(err, c.inner.Close())
	c.zk.Close()
	return err
}
