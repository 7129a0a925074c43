//go:build unix

package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kz/internal/topic"
)

func (w *crew) morePartitions(n int) {
	w.t.Helper()
	resps, err := kadm.NewClient(w.kgo).UpdatePartitions(context.Background(), n, "t")
	if err == nil {
		err = resps.Error()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// take polls until n records came; it gives their places.
func take(t *testing.T, c *Consumer, n int) (out []string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for len(out) < n && time.Now().Before(deadline) {
		fetched, err := pollFor(c, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fetched {
			for r, err := range fetched[i].Records() {
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("%d@%d", fetched[i].Partition.Partition, r.Offset))
			}
			fetched[i].Release()
		}
	}
	return out
}

// max.poll.records bounds one Poll; a commit says what Poll gave, not what was fetched.
func TestCommitSaysWhatPollGave(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		w.produce(10)
		cfg := w.config("a")
		cfg.MaxPollRecords, cfg.AutoCommit = 3, false
		c := New(cfg)
		if err := c.Assign([]topic.Partition{p0}, Committed); err != nil {
			t.Fatal(err)
		}
		if got := take(t, c, 1); !slices.Equal(got, []string{"0@0", "0@1", "0@2"}) {
			t.Errorf("one Poll gave %q", got)
		}
		if err := c.CommitSync(context.Background()); err != nil {
			t.Fatal(err)
		}
		if at, err := c.Position(context.Background(), p0); at != 3 || err != nil {
			t.Errorf("position %d, %v", at, err)
		}
		c.Close()
		c = New(cfg)
		defer c.Close()
		_ = c.Assign([]topic.Partition{p0, p1}, Committed)
		if at, err := c.Position(context.Background(), p0); at != 3 || err != nil {
			t.Errorf("after a restart: position %d, %v", at, err)
		}
		got, err := c.Committed(context.Background(), p0, p1)
		if err != nil || len(got) != 1 || got[p0].At != 3 || got[p0].LeaderEpoch != 0 {
			t.Errorf("committed %v, %v", got, err)
		}
	})
}

// Asynchronous commits are kept in the order of the calls; their callbacks run in Poll.
func TestCommitAsyncInOrder(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		c := New(w.config("a"))
		defer c.Close()
		_ = c.Assign([]topic.Partition{p0}, Earliest)
		var heard []int64
		for i := range int64(20) {
			err := c.CommitAsync(Offsets{p0: {At: i, LeaderEpoch: -1, Metadata: "m"}}, func(o Offsets, err error) {
				if err != nil {
					t.Error(err)
				}
				heard = append(heard, o[p0].At)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		pollUntil(t, c, func() bool { return len(heard) == 20 })
		if !slices.IsSorted(heard) {
			t.Errorf("answered in the order %v", heard)
		}
		if got, err := c.Committed(context.Background(), p0); err != nil || got[p0].At != 19 || got[p0].Metadata != "m" {
			t.Errorf("kept: %v, %v", got, err)
		}
	})
}

// offsets.storage: where a commit goes, and that the two places know nothing of each other.
func TestStorage(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		with := func(s Storage) *Consumer {
			cfg := w.config("s")
			cfg.Storage = s
			return New(cfg)
		}
		kafka, zookeeper, dual := with(StoreKafka), with(StoreZooKeeper), with(StoreDual)
		for _, c := range []*Consumer{kafka, zookeeper, dual} {
			defer c.Close()
		}
		expect := func(k, z, d int64) {
			t.Helper()
			for i, c := range []*Consumer{kafka, zookeeper, dual} {
				got, err := c.Committed(context.Background(), p0)
				at := int64(-1)
				if o, ok := got[p0]; ok {
					at = o.At
				}
				if want := []int64{k, z, d}[i]; err != nil || at != want {
					t.Errorf("%s reads %d, %v; want %d", c.cfg.Storage, at, err, want)
				}
			}
		}
		commit := func(c *Consumer, at int64) {
			t.Helper()
			if err := c.CommitOffsets(context.Background(), Offsets{p0: {At: at, LeaderEpoch: -1}}); err != nil {
				t.Fatal(err)
			}
		}
		expect(-1, -1, -1)
		commit(zookeeper, 7)
		expect(-1, 7, 7)
		data, _, err := w.cluster.Znodes().Get(context.Background(), "/consumers/g/offsets/t/0")
		if err != nil || string(data) != "7" {
			t.Errorf("the znode holds %q, %v", data, err)
		}
		commit(kafka, 5)
		expect(5, 7, 7) // dual: the greater holds
		commit(dual, 9)
		expect(9, 9, 9)
	})
}

func TestSeekPauseAndOffsets(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		w.produce(10)
		c := New(w.config("a"))
		defer c.Close()
		_ = c.Assign([]topic.Partition{p0}, Earliest)
		if got := take(t, c, 10); len(got) != 10 {
			t.Fatalf("read %q", got)
		}
		if err := c.Seek(p0, 8); err != nil {
			t.Fatal(err)
		}
		if got := take(t, c, 2); !slices.Equal(got, []string{"0@8", "0@9"}) {
			t.Errorf("after Seek: %q", got)
		}
		_ = c.SeekToBeginning()
		if at, err := c.Position(context.Background(), p0); at != 0 || err != nil {
			t.Errorf("beginning: %d, %v", at, err)
		}
		_ = c.Pause(p0)
		if got, err := pollFor(c, 5*time.Second); len(got) > 0 || err != nil {
			t.Errorf("paused, yet %v, %v", got, err)
		}
		_ = c.Resume(p0)
		if got := take(t, c, 10); len(got) != 10 || got[0] != "0@0" {
			t.Errorf("after Resume: %q", got)
		}
		_ = c.SeekToEnd(p0)
		if at, err := c.Position(context.Background(), p0); at != 10 || err != nil {
			t.Errorf("end: %d, %v", at, err)
		}
		if err := c.Seek(p1, 0); err == nil {
			t.Error("Seek of a partition that is not assigned")
		}
		ends, err := c.EndOffsets(context.Background(), p0, p1)
		if err != nil || ends[p0] != 10 || ends[p1] != 10 {
			t.Errorf("ends %v, %v", ends, err)
		}
		now := time.Now().UnixMilli()
		at, err := c.OffsetsForTimes(context.Background(), map[topic.Partition]int64{p0: 1, p1: now + 1e6})
		if _, future := at[p1]; err != nil || at[p0].Offset != 0 || future {
			t.Errorf("times %v, %v", at, err)
		}
	})
}

func TestWakeupAndUse(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		c := New(w.config("a"))
		_ = c.Assign([]topic.Partition{p0}, Latest)
		got := make(chan error)
		go func() { _, err := c.Poll(context.Background()); got <- err }()
		synctest.Wait() // Poll waits by now
		if _, err := pollFor(c, time.Second); !errors.Is(err, ErrInUse) {
			t.Errorf("a second goroutine got %v", err)
		}
		c.Wakeup()
		if err := <-got; !errors.Is(err, ErrWakeup) {
			t.Errorf("woken: %v", err)
		}
		go func() { _, err := c.Poll(context.Background()); got <- err }()
		synctest.Wait()
		go c.Close()
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		c.Close() // waits for the other Close
		if err := c.Subscribe([]string{"t"}, Listener{}); !errors.Is(err, ErrMixed) {
			t.Errorf("Subscribe after Assign: %v", err)
		}
	})
}

// auto.offset.reset=none: without a committed offset Poll fails, and Seek makes it good.
func TestNoReset(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		w.produce(1)
		cfg := w.config("a")
		cfg.NoReset = true
		c := New(cfg)
		defer c.Close()
		_ = c.Assign([]topic.Partition{p0}, Committed)
		var err error
		for err == nil {
			_, err = pollFor(c, time.Second)
		}
		if !errors.Is(err, ErrNoOffset) {
			t.Fatal(err)
		}
		_ = c.Seek(p0, 0)
		if got := take(t, c, 1); len(got) != 1 {
			t.Errorf("then %q", got)
		}
	})
}
