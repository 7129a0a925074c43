package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"kz/client"
	"kz/client/admin"
	"kz/client/consumer"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// offsetsBench commits, and asks both sides what that was.
type offsetsBench struct {
	e                              *env
	cfg                            client.Config
	a                              *admin.Admin
	zk                             *zk.Client
	zkServer                       string // to ask four-letter words
	consumers, partitions, commits int
	groups                         []string // of the storage that is being measured
	done                           atomic.Int64
}

const benchTopic = "kz-bench-offsets"

func newOffsetsBench(ctx context.Context, e *env, cfg client.Config, connect string) (*offsetsBench, error) {
	c, err := openZk(ctx, e, connect)
	if err != nil {
		return nil, err
	}
	servers, _, _ := zk.ParseConnect(connect)
	return &offsetsBench{e: e, cfg: cfg, a: admin.New(cfg), zk: c, zkServer: servers[0]}, nil
}

func (b *offsetsBench) close() {
	b.a.Close()
	b.zk.Close()
}

// measure commits to one place. A first commit of each consumer is not counted: it
// finds the coordinator and makes the znodes.
func (b *offsetsBench) measure(ctx context.Context, s consumer.Storage) (offsetsResult, error) {
	r := offsetsResult{Storage: s, Consumers: b.consumers, Partitions: b.partitions}
	if err := b.prepareTopic(ctx); err != nil {
		return r, err
	}
	b.groups = nil
	run := rand.IntN(1_000_000)
	cons := make([]*consumer.Consumer, b.consumers)
	for i := range cons {
		id := fmt.Sprintf("kz-bench-%06d-%s-%d", run, s, i)
		b.groups = append(b.groups, id)
		cfg := consumer.DefaultConfig(b.cfg)
		cfg.Group, cfg.Storage, cfg.AutoCommit = id, s, false
		cons[i] = consumer.New(cfg)
		defer cons[i].Close()
	}
	err := b.patiently(ctx, func() error {
		_, err := b.commitAll(ctx, cons, 1)
		return err
	})
	if err != nil {
		return r, err
	}
	before, err := b.look(ctx, s)
	if err != nil {
		return r, err
	}
	start := time.Now()
	stop := tellEvery(progressEvery, b.e, func() string {
		return fmt.Sprintf("%s: %d of %d commits", s, b.done.Load(), b.consumers*b.commits)
	})
	took, err := b.commitAll(ctx, cons, b.commits)
	stop()
	if err != nil {
		return r, err
	}
	r.took(time.Since(start), took)
	after, err := b.look(ctx, s)
	if err != nil {
		return r, err
	}
	r.ZnodeWrites = after.znodeWrites - before.znodeWrites
	if s != consumer.StoreKafka {
		r.ZnodeBytes = b.znodeBytes()
	}
	if before.zxid != nil && after.zxid != nil {
		n := *after.zxid - *before.zxid
		r.ZkTransactions = &n
	}
	r.Watches = after.watches
	return r, b.readLog(ctx, before.ends, after.ends, &r)
}

func (b *offsetsBench) prepareTopic(ctx context.Context) error {
	err := b.a.CreateTopic(ctx, admin.NewTopic{Name: benchTopic, Partitions: int32(b.partitions), ReplicationFactor: -1})
	if err != nil && kafkaerr.CodeOf(err) != kafkaerr.TopicAlreadyExists {
		return err
	}
	return b.patiently(ctx, func() error {
		t, err := b.a.DescribeTopic(ctx, benchTopic)
		if have := len(t.Partitions); err == nil && have < b.partitions {
			err = b.a.CreatePartitions(ctx, benchTopic, int32(b.partitions), nil)
		}
		return err
	})
}

// patiently repeats what fails because a broker has not heard of a new topic yet.
func (b *offsetsBench) patiently(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(offsetsWait); ; {
		err := try()
		if kafkaerr.CodeOf(err) != kafkaerr.UnknownTopicOrPartition || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(b.cfg.RetryBackoff):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// firstOffset makes every offset that is committed as long as any other.
const firstOffset = 1_000_000

// commitAll lets every consumer commit so often, and says how long each commit took.
func (b *offsetsBench) commitAll(ctx context.Context, cons []*consumer.Consumer, times int) ([]time.Duration, error) {
	took := make([]time.Duration, len(cons)*times)
	b.done.Store(0)
	all, ctx := errgroup.WithContext(ctx)
	for i, c := range cons {
		all.Go(func() error {
			for n := range times {
				offsets := consumer.Offsets{}
				for p := range b.partitions {
					offsets[topic.Partition{Topic: benchTopic, Partition: int32(p)}] = consumer.Offset{At: firstOffset + int64(n), LeaderEpoch: -1}
				}
				start := time.Now()
				if err := c.CommitOffsets(ctx, offsets); err != nil {
					return err
				}
				took[i*times+n] = time.Since(start)
				b.done.Add(1)
			}
			return nil
		})
	}
	return took, all.Wait()
}

func (b *offsetsBench) znodeBytes() int64 {
	return int64(b.consumers) * int64(b.partitions) * int64(b.commits) * int64(len(strconv.Itoa(firstOffset)))
}

// sight is what both sides say at one moment.
type sight struct {
	znodeWrites   int64
	zxid, watches *int64
	ends          map[topic.Partition]int64 // of __consumer_offsets
}

func (b *offsetsBench) look(ctx context.Context, storage consumer.Storage) (s sight, err error) {
	for _, id := range b.groups {
		offsets, _, err := readZkOffsets(ctx, b.zk, id)
		if err != nil {
			return s, err
		}
		for _, o := range offsets {
			s.znodeWrites += int64(o.Version) + 1 // version 0 was a write too
		}
	}
	s.zxid = b.ask(ctx, "srvr", regexp.MustCompile(`Zxid: 0x([0-9a-f]+)`), 16)
	s.watches = b.ask(ctx, "wchs", regexp.MustCompile(`Total watches:(\d+)`), 10)
	err = b.patiently(ctx, func() (err error) {
		s.ends, err = b.logEnds(ctx)
		if storage == consumer.StoreZooKeeper && kafkaerr.CodeOf(err) == kafkaerr.UnknownTopicOrPartition {
			err = nil // nobody has needed it yet
		}
		return err
	})
	return s, err
}

// logEnds are the ends of __consumer_offsets.
func (b *offsetsBench) logEnds(ctx context.Context) (map[topic.Partition]int64, error) {
	t, err := b.a.DescribeTopic(ctx, topic.ConsumerOffsets)
	if err != nil {
		return nil, err
	}
	times := map[topic.Partition]int64{}
	for _, p := range t.Partitions {
		times[topic.Partition{Topic: topic.ConsumerOffsets, Partition: p.ID}] = admin.LatestTime
	}
	return b.a.ListOffsets(ctx, times)
}

// ask sends a four-letter word to ZooKeeper. A server that answers otherwise, or does
// not allow the word, gives nil: these numbers are an extra.
func (b *offsetsBench) ask(ctx context.Context, word string, find *regexp.Regexp, base int) *int64 {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := b.e.network.Dial(ctx, b.zkServer)
	if err != nil {
		return nil
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, 1<<16))
	m := find.FindSubmatch(answer)
	if m == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(m[1]), base, 64)
	if err != nil {
		return nil
	}
	return &n
}

// readLog counts records and bytes of __consumer_offsets between two sights.
func (b *offsetsBench) readLog(ctx context.Context, from, to map[topic.Partition]int64, r *offsetsResult) error {
	var parts []topic.Partition
	for tp, end := range to {
		if end > from[tp] {
			parts = append(parts, tp)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	c := consumer.New(consumer.DefaultConfig(b.cfg))
	defer c.Close()
	if err := c.Assign(parts, consumer.Earliest); err != nil {
		return err
	}
	for _, tp := range parts {
		if err := c.Seek(tp, from[tp]); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, offsetsWait)
	defer cancel()
	for left := len(parts); left > 0; {
		got, err := c.Poll(ctx)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("reading __consumer_offsets: %w", err)
		}
		for _, f := range got {
			if f.From < to[f.Partition] && f.To >= to[f.Partition] {
				left--
			}
			r.count(f.Bytes, f.From, min(f.To, to[f.Partition]))
			f.Release()
		}
	}
	return nil
}

// count adds the batches of [from, to).
func (r *offsetsResult) count(b []byte, from, to int64) {
	for batch, err := range record.Batches(b) {
		if err != nil || batch.BaseOffset() >= to {
			return
		}
		if batch.BaseOffset() >= from {
			r.LogRecords += int64(batch.Count())
			r.LogBytes += int64(batch.Length())
		}
	}
}

// progressEvery is how often long work says how far it is.
const progressEvery = 5 * time.Second

// tellEvery prints what text says, on stderr, so often until stop.
func tellEvery(every time.Duration, e *env, text func() string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				fmt.Fprintln(e.stderr, text())
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}

// clean removes the groups from both places, as far as it can, also after Ctrl-C: then
// with less patience, in case that a side does not answer.
func (b *offsetsBench) clean(ctx context.Context) {
	wait := offsetsWait
	if ctx.Err() != nil {
		wait = offsetsWait / 3
		fmt.Fprintf(b.e.stderr, "removing the groups; at most %v\n", wait)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	left := b.groups
	for {
		var again []string // a commit that Ctrl-C left under way may write once more
		for _, id := range left {
			if gone, err := b.remove(ctx, id); err != nil || !gone {
				again = append(again, id)
			}
		}
		if left = again; len(left) == 0 {
			return
		}
		select {
		case <-time.After(b.cfg.RetryBackoff):
		case <-ctx.Done():
			fmt.Fprintf(b.e.stderr, "not removed: the groups %s\n", strings.Join(left, ", "))
			return
		}
	}
}

// remove removes a group from both places; gone says that there was nothing to remove.
func (b *offsetsBench) remove(ctx context.Context, id string) (gone bool, err error) {
	err = b.a.DeleteGroup(ctx, id)
	unknown := kafkaerr.CodeOf(err) == kafkaerr.GroupIDNotFound
	if err != nil && !unknown {
		return false, err
	}
	path := zkpaths.Consumers + "/" + id
	if _, found, err := b.zk.Exists(ctx, path); err != nil || !found {
		return unknown && err == nil, err
	}
	return false, b.removeZnodes(ctx, path)
}

// removeZnodes removes a znode and what is below it, children first.
func (b *offsetsBench) removeZnodes(ctx context.Context, path string) error {
	children, err := b.zk.Children(ctx, path, false)
	if errors.Is(err, zk.NoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range children {
		if err := b.removeZnodes(ctx, path+"/"+name); err != nil {
			return err
		}
	}
	if err := b.zk.Do(ctx, zk.DeleteOp(path, -1))[0].Err; err != nil && !errors.Is(err, zk.NoNode) {
		return err
	}
	return nil
}
