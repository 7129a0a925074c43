package fetcher

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

const all = int16(-1)

var orders = topic.Partition{Topic: "orders"}

// bubble runs a test in virtual time with a cluster of n brokers.
func bubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, n)
		defer c.close()
		test(t, c)
	})
}

func wait(d time.Duration) { time.Sleep(d); synctest.Wait() } // virtual

func TestFollowersCopyTheLeader(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2, 3})
		var values []string
		for i := range 20 {
			v := fmt.Sprint("v", i)
			values = append(values, v)
			start := time.Now()
			if r := <-c.produce(1, orders, all, v); r.Code != kafkaerr.None || r.BaseOffset != int64(i) {
				t.Fatalf("%+v", r)
			}
			if took := time.Since(start); took != 0 {
				t.Fatalf("waiting fetches are answered at once by an append, it took %v", took)
			}
		}
		c.same(orders, values, 1, 2, 3)
		wait(time.Second) // the last high watermark comes with the next fetch
		for id := int32(1); id <= 3; id++ {
			if s := c.status(id, orders); s.HighWatermark != 20 || s.LogEnd != 20 {
				t.Errorf("broker %d: %+v", id, s)
			}
		}
	})
}

// At protocol 2.6: first the epoch question, then a full fetch, then only changes.
func TestWhatAFollowerAsks(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		wait(100 * time.Millisecond)
		if got := c.asked(); !slices.Equal(got, []string{"2>1 fetch full 1"}) {
			t.Errorf("a log without epochs needs no question: %v", got)
		}
		<-c.produce(1, orders, all, "a")
		wait(2 * time.Second)
		got := c.asked()
		if len(got) < 3 || slices.ContainsFunc(got, func(s string) bool {
			return s != "2>1 fetch incremental 1" && s != "2>1 fetch incremental 0"
		}) {
			t.Errorf("%v", got)
		}
		if n := count(got, "2>1 fetch incremental 1"); n != 1 {
			t.Errorf("the offset moved once, and was said %d times", n)
		}
		c.elect(orders, 1, 1, []int32{1, 2})
		wait(time.Second)
		// The leader's new epoch fenced the fetch that waited. If its answer came before the
		// follower's own LeaderAndIsr, the session lost its only partition and ended: then the
		// question, and a session anew. If it came after, it was about an epoch gone by: then
		// the question, and the session goes on.
		first, second := []string{"2>1 fetch incremental 0", "2>1 epoch 0", "2>1 fetch full 1"}, []string{"2>1 epoch 0", "2>1 fetch incremental 1"}
		if got := c.asked(); !begins(got, first) && !begins(got, second) {
			t.Errorf("a new epoch: %v", got)
		}
	})
}

func begins(in, with []string) bool {
	return len(in) >= len(with) && slices.Equal(in[:len(with)], with)
}

func count(in []string, s string) (n int) {
	for _, x := range in {
		if x == s {
			n++
		}
	}
	return n
}

// KIP-101, scenario 1. Broker 2 follows and has the record, but not yet the high
// watermark that commits it. It restarts, and before it hears of the mark the leader
// dies. Truncating at the high watermark (before 0.11) would lose the record.
func TestRestartKeepsWhatIsCommitted(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "m1")
		wait(2 * time.Second)
		// The next fetch of broker 2 would bring it the mark 2: it does not come through.
		if r := <-c.produce(1, orders, all, "m2"); r.Code != kafkaerr.None {
			t.Fatalf("%+v", r)
		}
		if hw := c.status(2, orders).HighWatermark; hw != 1 {
			t.Fatalf("broker 2 must not know yet that m2 is committed, its mark is %d", hw)
		}
		c.kill(2)
		c.start(2)
		c.tell(orders, 1, 1, []int32{1, 2}, 1, 2) // to broker 2 alone; broker 1 dies before it leads in epoch 1
		wait(10 * time.Millisecond)
		c.kill(1)
		c.elect(orders, 2, 2, []int32{2}, 2)
		c.start(1)
		c.elect(orders, 2, 3, []int32{2})
		wait(5 * time.Second)
		c.same(orders, []string{"m1", "m2"}, 2, 1)
	})
}

// KIP-101, scenario 2. Both brokers lose power; the one that comes back first is chosen
// uncleanly and writes another record at the same offset. The other must notice that
// its record is of another history.
func TestDivergedLogsAreMadeEqual(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "m1")
		c.mu.Lock()
		c.cut[[2]int32{2, 1}] = true
		c.mu.Unlock()
		wait(time.Second)
		c.produce(1, orders, 1, "m2 of broker 1") // broker 2 never gets it
		c.kill(1)
		c.elect(orders, 2, 1, []int32{2}, 2) // unclean
		<-c.produce(2, orders, all, "m2 of broker 2")
		c.start(1)
		c.elect(orders, 2, 2, []int32{2})
		wait(2 * time.Second)
		c.same(orders, []string{"m1", "m2 of broker 2"}, 2, 1)
		if s, _ := c.zk.read(t, orders); !slices.Equal(s.ISR, []int32{2, 1}) {
			t.Errorf("caught up, broker 1 joins: %+v", s)
		}
	})
}

// KIP-279: leaders change so fast that the follower's last epoch is one the leader never
// had. One question is not enough.
func TestFastFailoversTruncateStepByStep(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a0", "a1")
		c.mu.Lock()
		c.cut[[2]int32{1, 2}], c.cut[[2]int32{2, 1}] = true, true
		c.mu.Unlock()
		wait(time.Second)
		// Both write alone, in turns, as unclean elections go.
		c.elect(orders, 1, 1, []int32{1}, 1)
		c.produce(1, orders, 1, "b2 of 1")
		c.elect(orders, 2, 2, []int32{2}, 2)
		c.produce(2, orders, 1, "c2 of 2")
		c.elect(orders, 1, 3, []int32{1}, 1)
		c.produce(1, orders, 1, "d3 of 1")
		c.elect(orders, 2, 4, []int32{2}, 2)
		c.produce(2, orders, 1, "e3 of 2", "e4 of 2")
		c.mu.Lock()
		clear(c.cut)
		c.mu.Unlock()
		c.asked()
		c.elect(orders, 2, 5, []int32{2})
		wait(2 * time.Second)
		c.same(orders, []string{"a0", "a1", "c2 of 2", "e3 of 2", "e4 of 2"}, 2, 1)
		var questions []string
		for _, s := range c.asked() {
			if s != "1>2 fetch full 1" && len(s) > 9 && s[4:9] == "epoch" {
				questions = append(questions, s)
			}
		}
		questions = slices.Compact(questions) // broker 1 may ask before broker 2 has heard of epoch 5
		if !slices.Equal(questions, []string{"1>2 epoch 3", "1>2 epoch 1"}) {
			t.Errorf("%v", questions)
		}
	})
}

// The leader deleted what the follower needs: it starts over at the leader's log start.
func TestFollowerFarBehindStartsOver(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		c.stop(2)
		c.elect(orders, 1, 1, []int32{1}, 1)
		for _, v := range []string{"b", "c", "d", "e"} {
			<-c.produce(1, orders, all, v)
		}
		log, _ := c.brokers[1].logs.Get(orders)
		if err := log.MaybeIncrementStartOffset(3); err != nil {
			t.Fatal(err)
		}
		c.start(2)
		c.elect(orders, 1, 2, []int32{1})
		wait(2 * time.Second)
		if s := c.status(2, orders); s.LogStart != 3 || s.LogEnd != 5 {
			t.Errorf("%+v", s)
		}
		c.same(orders, []string{"d", "e"}, 1, 2)
	})
}

// The leader's log is shorter than ours, and its epochs do not tell: an old log format,
// or epochs lost with the file. Ours is cut to its end.
func TestFollowerAheadIsCut(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a", "b", "c")
		wait(time.Second)
		c.brokers[2].fetchers.mu.Lock()
		t2 := c.brokers[2].fetchers.threads[threadKey{1, 0}]
		c.brokers[2].fetchers.mu.Unlock()
		log, _ := c.brokers[1].logs.Get(orders)
		if _, err := log.TruncateTo(0); err != nil {
			t.Fatal(err)
		}
		<-c.produce(1, orders, 1, "x")
		t2.mu.Lock()
		t2.parts.get(orders).until = time.Time{}
		t2.mu.Unlock()
		wait(3 * time.Second)
		if s := c.status(2, orders); s.LogEnd != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// A fenced follower waits for the controller and asks no more.
func TestFencedFollowerWaitsForTheController(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		c.elect(orders, 1, 1, []int32{1, 2}, 1) // broker 2 is not told
		wait(5 * time.Second)
		if got := c.brokers[2].fetchers.Failed(); !slices.Equal(got, []topic.Partition{orders}) {
			t.Fatalf("failed: %v", got)
		}
		c.asked()
		<-c.produce(1, orders, 1, "b")
		wait(time.Minute)
		if got := c.asked(); len(got) != 0 {
			t.Errorf("still asking: %v", got)
		}
		c.tell(orders, 1, 1, []int32{1, 2}, 1, 2)
		wait(time.Second)
		if got := c.brokers[2].fetchers.Failed(); len(got) != 0 {
			t.Errorf("failed: %v", got)
		}
		c.same(orders, []string{"a", "b"}, 1, 2)
	})
}

// The follower heard of the new epoch before the leader did: it tries again.
func TestFollowerAheadOfTheLeaderRetries(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		c.elect(orders, 1, 1, []int32{1, 2}, 2)
		wait(3 * time.Second)
		if n := len(c.asked()); n > 12 {
			t.Errorf("%d requests in 3 s: the back-off is 1 s", n)
		}
		c.tell(orders, 1, 1, []int32{1, 2}, 1, 1)
		<-c.produce(1, orders, 1, "b")
		wait(2 * time.Second)
		c.same(orders, []string{"a", "b"}, 1, 2)
		if got := c.brokers[2].fetchers.Failed(); len(got) != 0 {
			t.Errorf("failed: %v", got)
		}
	})
}

func TestLeaderOutOfReachIsTriedEverySecond(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		var fetches atomic.Int32
		c.brokers[2].journal.Arm(journal.MomentFollowerFetch, func(string) { fetches.Add(1) })
		c.mu.Lock()
		c.cut[[2]int32{2, 1}] = true
		c.mu.Unlock()
		wait(20 * time.Second)
		if n := fetches.Load(); n < 15 || n > 25 {
			t.Errorf("%d tries in 20 s", n)
		}
		c.mu.Lock()
		clear(c.cut)
		c.mu.Unlock()
		<-c.produce(1, orders, all, "b")
		c.same(orders, []string{"a", "b"}, 1, 2)
	})
}

// The moments of a follower are outside of all locks: a follower frozen before its
// append lets the controller take the partition away, and then appends nothing.
func TestRemoveDoesNotWaitForAFrozenFollower(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		wait(time.Second)
		hold := make(chan struct{})
		disarm := c.brokers[2].journal.Arm(journal.MomentFollowerAppend, func(string) { <-hold })
		c.produce(1, orders, 1, "a")
		synctest.Wait()
		c.elect(orders, 2, 1, []int32{2}) // both; broker 2 leads now
		disarm()
		close(hold)
		wait(5 * time.Second)
		c.same(orders, nil, 2, 1)
	})
}

// Three leaders, a hundred partitions: each follower has one thread per leader.
func TestManyPartitionsOneThread(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		const n = 100
		for i := range int32(n) {
			c.elect(topic.Partition{Topic: "many", Partition: i}, 1+i%3, 0, []int32{1, 2, 3})
		}
		wait(time.Second)
		var answers []chan replica.ProduceResult
		for i := range int32(n) {
			answers = append(answers, c.produce(1+i%3, topic.Partition{Topic: "many", Partition: i}, all, fmt.Sprint("v", i)))
		}
		for i, a := range answers {
			if r := <-a; r.Code != kafkaerr.None {
				t.Fatalf("%d: %+v", i, r)
			}
		}
		for i := range int32(n) {
			c.same(topic.Partition{Topic: "many", Partition: i}, []string{fmt.Sprint("v", i)}, 1, 2, 3)
		}
		for id, b := range c.brokers {
			b.fetchers.mu.Lock()
			if got := len(b.fetchers.threads); got != 2 {
				t.Errorf("broker %d has %d threads for two leaders", id, got)
			}
			b.fetchers.mu.Unlock()
		}
	})
}

// A thread without partitions ends by itself, and a new one begins when there is work.
func TestIdleThreadEnds(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		c.elect(orders, 1, 0, []int32{1, 2})
		wait(time.Second)
		threads := func() int {
			m := c.brokers[2].fetchers
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.threads)
		}
		c.elect(orders, 2, 1, []int32{1, 2})
		if threads() != 1 {
			t.Error("it lingers: the partition may come back")
		}
		wait(2 * idleLinger)
		if threads() != 0 {
			t.Error("it should have ended")
		}
		c.elect(orders, 1, 2, []int32{1, 2})
		<-c.produce(1, orders, all, "a")
		c.same(orders, []string{"a"}, 1, 2)
	})
}
