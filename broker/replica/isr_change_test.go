package replica

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Ref: Kafka 2.8 cluster/Partition.scala, maybeShrinkIsr; server/ZkIsrManager.scala;
// the order of writes in a capture of a real cluster.
func TestShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2, 3)
		answer := b.produce(tp(0), all, time.Hour, 3)
		start := time.Now()
		b.journal.Arm(journal.MomentLeaderWriteISR, func(string) {
			if s := b.status(tp(0)); !s.ISRPending || s.HighWatermark != 0 || len(s.ISR) != 3 {
				t.Errorf("before the write the change is only proposed: %+v", s)
			}
		})
		for range 100 { // broker 2 keeps fetching, broker 3 is dead
			b.fetchNow(2, tp(0), 3)
			time.Sleep(second) // virtual
			synctest.Wait()
			if len(b.status(tp(0)).ISR) == 2 {
				break
			}
		}
		if took := time.Since(start); took < lagMax || took > lagMax+lagMax/2+second {
			t.Errorf("left after %v; it takes 1 to 1.5 times the lag time", took)
		}
		s, version := b.zk.state(t, tp(0))
		if version != 1 || s.Leader != 1 || s.LeaderEpoch != 0 || s.ControllerEpoch != 1 || !slices.Equal(s.ISR, []int32{1, 2}) {
			t.Errorf("znode version %d: %+v", version, s)
		}
		if r := answer.now(t); r.Code != kafkaerr.None {
			t.Errorf("who left no longer holds the high watermark back: %+v", r)
		}
		if ev := b.events.kinds(journal.ISRShrink); len(ev) != 1 || ev[0].Result != "ok" || ev[0].VersionBefore != 0 || ev[0].VersionAfter != 1 {
			t.Errorf("journal: %+v", ev)
		}
		// The controller hears of it after 5 s of quiet, looked for every 2.5 s.
		if n := b.zk.notifications(zkpaths.ISRChangePrefix); len(n) != 0 {
			t.Errorf("told too early: %s", n)
		}
		time.Sleep(8 * second)
		synctest.Wait()
		want := string(zkpaths.EncodeISRChange([]zkpaths.TopicPartition{{Topic: "orders", Partition: 0}}))
		if n := b.zk.notifications(zkpaths.ISRChangePrefix); len(n) != 1 || string(n[0]) != want {
			t.Errorf("notifications %s, want one %s", n, want)
		}
	})
}

func TestShrinkDropsAllLaggardsInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		for n := range int32(50) {
			b.lead(tp(n), 1, 2, 3)
			b.produce(tp(n), 1, 0, 1)
		}
		time.Sleep(lagMax + lagMax/2 + second)
		synctest.Wait()
		for n := range int32(50) {
			if s, version := b.zk.state(t, tp(n)); version != 1 || !slices.Equal(s.ISR, []int32{1}) {
				t.Fatalf("%v: version %d, %+v", tp(n), version, s)
			}
		}
		time.Sleep(10 * second)
		if n := b.zk.notifications(zkpaths.ISRChangePrefix); len(n) != 1 {
			t.Errorf("%d notifications for one moment's changes", len(n))
		}
	})
}

func TestExpand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1)
		b.produce(tp(0), 1, 0, 3).now(t) // committed: alone in the ISR
		b.fetchNow(2, tp(0), 2)
		synctest.Wait()
		if isr := b.status(tp(0)).ISR; !slices.Equal(isr, []int32{1}) {
			t.Fatalf("joined below the high watermark: %v", isr)
		}
		hold := make(chan struct{})
		b.zk.away = hold
		b.fetchNow(2, tp(0), 3)
		synctest.Wait()
		if s := b.status(tp(0)); !s.ISRPending || !slices.Equal(s.ISR, []int32{1}) {
			t.Fatalf("the write is under way: %+v", s)
		}
		answer := b.produce(tp(0), all, time.Hour, 1)
		answer.notYet(t) // the joiner counts already
		if s := b.status(tp(0)); s.HighWatermark != 3 || s.LogEnd != 4 {
			t.Fatalf("the high watermark ran ahead of the joiner: %+v", s)
		}
		b.zk.away = nil
		close(hold)
		synctest.Wait()
		if s, version := b.zk.state(t, tp(0)); version != 1 || !slices.Equal(s.ISR, []int32{1, 2}) {
			t.Errorf("znode version %d: %+v", version, s)
		}
		if s := b.status(tp(0)); s.ISRPending || !slices.Equal(s.ISR, []int32{1, 2}) {
			t.Errorf("%+v", s)
		}
		b.fetchNow(2, tp(0), 4)
		if r := answer.now(t); r.Code != kafkaerr.None {
			t.Errorf("%+v", r)
		}
	})
}

// The joiner must have all that came before this leader's epoch, even if the high
// watermark does not reach that far yet.
func TestExpandNeedsTheEpochStart(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	b.produce(tp(0), 1, 0, 5).now(t)
	b.lead(tp(0), 1, 2) // epoch 1 starts at 5, the high watermark is 0
	b.fetchNow(3, tp(0), 4)
	if b.status(tp(0)).ISRPending {
		t.Fatal("broker 3 lacks offset 4, which may be committed")
	}
	b.fetchNow(3, tp(0), 5)
	if !b.status(tp(0)).ISRPending && !slices.Contains(b.status(tp(0)).ISR, 3) {
		t.Fatal("broker 3 has all there is")
	}
}

// The znode was changed behind our back: one attempt, one look, and nothing more until
// the controller speaks. The partition serves on.
// Ref: Kafka 2.8 server/ZkIsrManager.scala (INVALID_UPDATE_VERSION); a capture of it.
func TestStaleZkVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.zk.write(tp(0), zkpaths.PartitionState{ControllerEpoch: 2, Leader: 1, LeaderEpoch: 0, ISR: []int32{1, 2}})
		answer := b.produce(tp(0), all, time.Hour, 3)
		time.Sleep(10 * lagMax)
		synctest.Wait()
		answer.notYet(t)
		if s := b.status(tp(0)); !s.ISRPending || s.HighWatermark != 0 || len(s.ISR) != 2 {
			t.Fatalf("%+v", s)
		}
		if _, version := b.zk.state(t, tp(0)); version != 1 {
			t.Errorf("znode version %d: our write must not have gone through", version)
		}
		if ev := b.events.kinds(journal.ISRShrink); len(ev) != 1 || ev[0].Result != "BADVERSION" {
			t.Errorf("one attempt only: %+v", ev)
		}
		if n := b.zk.notifications(zkpaths.ISRChangePrefix); len(n) != 0 {
			t.Errorf("nothing changed, nothing to tell: %s", n)
		}
		if r := b.produce(tp(0), 1, 0, 1).now(t); r.Code != kafkaerr.None || r.BaseOffset != 3 {
			t.Errorf("acks=1 must go on: %+v", r)
		}
		if r := b.fetchNow(2, tp(0), 0); r.Code != kafkaerr.None || r.Data.Length == 0 {
			t.Errorf("fetches must go on: %+v", r)
		}
		b.lead(tp(0), 1) // the controller's word, with the new version
		if r := answer.now(t); r.Code != kafkaerr.None {
			t.Errorf("%+v", r)
		}
		if s := b.status(tp(0)); s.ISRPending || s.HighWatermark != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// A setData whose answer was lost is repeated by the client and finds its own version.
func TestEchoOfOurOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.zk.echo = true
		b.produce(tp(0), 1, 0, 3)
		time.Sleep(2 * lagMax)
		synctest.Wait()
		if s := b.status(tp(0)); s.ISRPending || !slices.Equal(s.ISR, []int32{1}) || s.HighWatermark != 3 {
			t.Fatalf("%+v", s)
		}
		b.fetchNow(2, tp(0), 3) // and the next write knows the version
		synctest.Wait()
		if s, version := b.zk.state(t, tp(0)); version != 2 || !slices.Equal(s.ISR, []int32{1, 2}) {
			t.Errorf("znode version %d: %+v", version, s)
		}
	})
}

func TestWriteThatFailsStaysPending(t *testing.T) {
	for _, err := range []error{zk.SessionExpired, zk.NoNode, errors.New("anything")} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker1(t)
			defer b.stop()
			b.lead(tp(0), 1, 2)
			b.zk.fail = err
			b.produce(tp(0), 1, 0, 3)
			time.Sleep(2 * lagMax)
			synctest.Wait()
			if s := b.status(tp(0)); !s.ISRPending || s.HighWatermark != 0 {
				t.Errorf("%v: %+v", err, s)
			}
		})
	}
}

// ZooKeeper is away: Kafka's leader stalls inside its write, with the partition locked.
// Ours serves on, and writes when ZooKeeper is back.
func TestZooKeeperAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.lead(tp(1), 1, 2)
		back := make(chan struct{})
		b.zk.away = back
		b.produce(tp(0), 1, 0, 3)
		time.Sleep(10 * lagMax)
		synctest.Wait()
		if s := b.status(tp(0)); !s.ISRPending {
			t.Fatalf("%+v", s)
		}
		if r := b.produce(tp(0), 1, 0, 1).now(t); r.Code != kafkaerr.None {
			t.Errorf("%+v", r)
		}
		if r := b.fetchNow(2, tp(0), 0); r.Data.Length == 0 {
			t.Errorf("%+v", r)
		}
		healthy := b.produce(tp(1), all, time.Hour, 1)
		b.fetchNow(2, tp(1), 1)
		if r := healthy.now(t); r.Code != kafkaerr.None {
			t.Errorf("a healthy partition: %+v", r)
		}
		b.zk.mu.Lock()
		b.zk.away = nil
		b.zk.mu.Unlock()
		close(back)
		synctest.Wait()
		if s, version := b.zk.state(t, tp(0)); version != 1 || !slices.Equal(s.ISR, []int32{1}) {
			t.Errorf("znode version %d: %+v", version, s)
		}
	})
}

// A LeaderAndIsr overtakes a write: whatever becomes of the write is old news.
func TestLeaderAndISROvertakesAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		hold := make(chan struct{})
		disarm := b.journal.Arm(journal.MomentLeaderWriteISR, func(string) { <-hold })
		b.produce(tp(0), 1, 0, 3)
		time.Sleep(2 * lagMax)
		synctest.Wait() // the shrink stands before its write
		b.lead(tp(0), 1, 2, 3)
		disarm()
		close(hold)
		synctest.Wait()
		if s := b.status(tp(0)); s.ISRPending || !slices.Equal(s.ISR, []int32{1, 2, 3}) || s.HighWatermark != 0 {
			t.Errorf("%+v", s)
		}
		if s, version := b.zk.state(t, tp(0)); version != 1 || !slices.Equal(s.ISR, []int32{1, 2, 3}) {
			t.Errorf("znode version %d: %+v", version, s)
		}
	})
}

func TestStopDoesNotWaitForZooKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker1(t)
		b.lead(tp(0), 1, 2)
		b.zk.away = make(chan struct{}) // for ever
		answer := b.produce(tp(0), all, time.Hour, 3)
		poll := b.fetch(-1, tp(0), 0, time.Hour)
		time.Sleep(2 * lagMax)
		b.stop()
		if r := answer.now(t); r.Code != kafkaerr.RequestTimedOut {
			t.Errorf("everyone left waiting gets an answer: %+v", r)
		}
		if r := <-poll; r.Code != kafkaerr.None {
			t.Errorf("%+v", r)
		}
	})
}

// The same, but the write was faster: it succeeded in ZooKeeper before the controller's,
// and its outcome comes here last.
func TestOldOutcomeIsIgnored(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2, 3)
	p, _ := b.m.hosted(tp(0))
	old := isrWrite{p: p, proposal: pendingLeave(3, 1, 2, 3), state: zkpaths.PartitionState{ISR: []int32{1, 2}}}
	if p.commit(old, 1, nil) {
		t.Error("it must not raise the high watermark")
	}
	if s := b.status(tp(0)); !slices.Equal(s.ISR, []int32{1, 2, 3}) || p.zkVersion != 0 {
		t.Errorf("%+v, zk version %d", s, p.zkVersion)
	}
}
