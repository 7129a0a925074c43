package replica

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/metadata"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/zkpaths"
)

func stops(epoch int32, remove bool, partitions ...int32) map[topic.Partition]StopState {
	out := map[topic.Partition]StopState{}
	for _, n := range partitions {
		out[tp(n)] = StopState{LeaderEpoch: epoch, Delete: remove}
	}
	return out
}

// A newer controller was heard by any of the three requests: an older one is refused by
// all of them. Ref: Kafka 2.8 server/ReplicaManager.scala.
func TestStaleController(t *testing.T) {
	for _, newer := range []func(*Manager){
		func(m *Manager) { m.BecomeLeaderOrFollower(2, 7, nil) },
		func(m *Manager) { m.StopReplicas(2, 7, nil) },
		func(m *Manager) { m.UpdateMetadata(metadata.Update{ControllerID: 2, ControllerEpoch: 7}) },
	} {
		b := newBroker1(t)
		newer(b.m)
		if got := b.m.ControllerEpoch(); got != 7 {
			t.Errorf("controller epoch %d", got)
		}
		codes, code := b.m.BecomeLeaderOrFollower(1, 6, map[topic.Partition]LeaderState{tp(0): {Leader: 1, Replicas: []int32{1}}})
		if codes != nil || code != kafkaerr.StaleControllerEpoch {
			t.Errorf("LeaderAndIsr: %v %v", codes, code)
		}
		if _, code := b.m.StopReplicas(1, 6, stops(-2, true, 0)); code != kafkaerr.StaleControllerEpoch {
			t.Errorf("StopReplica: %v", code)
		}
		if _, code := b.m.UpdateMetadata(metadata.Update{ControllerEpoch: 6}); code != kafkaerr.StaleControllerEpoch {
			t.Errorf("UpdateMetadata: %v", code)
		}
		if len(b.m.Status()) != 0 {
			t.Error("a stale request changed something")
		}
		b.stop()
	}
}

func TestFollowStartsAtTheHighWatermark(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	b.produce(tp(0), 1, 0, 5)
	b.fetchNow(2, tp(0), 3)
	b.follow(tp(0), 2)
	got := b.fetchers.started[tp(0)]
	if got.LeaderID != 2 || got.Leader.Port != 9092 || got.LeaderEpoch != 1 || got.Offset != 3 {
		t.Errorf("%+v", got)
	}
	b.lead(tp(0), 1, 2)
	if len(b.fetchers.started) != 0 {
		t.Error("a leader does not fetch")
	}
	kinds := b.events.kinds(journal.BecameLeader, journal.BecameFollower)
	if len(kinds) != 3 || kinds[1].Kind != journal.BecameFollower || kinds[1].Leader != 2 || kinds[2].LeaderEpoch != 2 {
		t.Errorf("%+v", kinds)
	}
}

// The leader is not among the live brokers: the log is made, the epoch is not taken, so
// that the repeat is obeyed. Ref: Kafka 2.8 ReplicaManager.makeFollowers, KAFKA-1647.
// A broker in controlled shutdown becomes a follower and does not fetch, or the new leader would take it
// back into the ISR. Ref: Kafka 2.8 server/ReplicaManager.scala (makeFollowers).
func TestLeavingBrokerFollowsWithoutFetching(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.follow(tp(0), 2)
	b.lead(tp(1), 1, 2)
	b.m.Leave()
	b.follow(tp(1), 2)
	if st := b.status(tp(1)); st.IsLeader {
		t.Errorf("still the leader: %+v", st)
	}
	b.fetchers.mu.Lock()
	defer b.fetchers.mu.Unlock()
	if _, fetches := b.fetchers.started[tp(1)]; fetches {
		t.Error("a fetcher was started")
	}
	if _, fetches := b.fetchers.started[tp(0)]; !fetches {
		t.Error("the fetcher that ran was stopped")
	}
}

func TestFollowAnUnknownLeader(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	state := map[topic.Partition]LeaderState{tp(0): {ControllerEpoch: 1, Leader: 9, LeaderEpoch: 4, Replicas: []int32{1, 9}, IsNew: true}}
	for range 2 {
		codes, _ := b.m.BecomeLeaderOrFollower(1, 1, state)
		if codes[tp(0)] != kafkaerr.None || len(b.fetchers.started) != 0 {
			t.Fatalf("%v, fetching %v", codes, b.fetchers.started)
		}
	}
	if _, ok := b.logs.Get(tp(0)); !ok {
		t.Error("there must be a log")
	}
	b.m.UpdateMetadata(metadata.Update{ControllerEpoch: 1, Brokers: []metadata.Broker{{ID: 9, Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 1}}}}})
	if b.m.BecomeLeaderOrFollower(1, 1, state); len(b.fetchers.started) != 1 {
		t.Error("the repeat must be obeyed")
	}
}

func TestRepeatChangesNothing(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	answer := b.produce(tp(0), all, time.Minute, 1)
	repeat := map[topic.Partition]LeaderState{tp(0): {ControllerEpoch: 1, Leader: 1, LeaderEpoch: 0, ISR: []int32{1}, Replicas: []int32{1, 2, 3}}}
	if codes, code := b.m.BecomeLeaderOrFollower(1, 1, repeat); code != 0 || codes[tp(0)] != kafkaerr.StaleControllerEpoch {
		t.Errorf("%v %v", codes, code)
	}
	answer.notYet(t) // with its ISR it would be committed
}

func TestListenerLearnsOfLeadership(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	var led, followed []topic.Partition
	b.m.OnLeadershipChange(func(l, f []topic.Partition) { led, followed = l, f })
	b.lead(tp(0), 1)
	if !slices.Equal(led, []topic.Partition{tp(0)}) || len(followed) != 0 {
		t.Errorf("%v %v", led, followed)
	}
	b.follow(tp(0), 3)
	if len(led) != 0 || !slices.Equal(followed, []topic.Partition{tp(0)}) {
		t.Errorf("%v %v", led, followed)
	}
	followed = nil
	b.m.StopReplicas(1, 1, map[topic.Partition]StopState{tp(0): {LeaderEpoch: -2}})
	if followed != nil {
		t.Errorf("stopped and not deleted: %v", followed)
	}
	b.m.StopReplicas(1, 1, map[topic.Partition]StopState{tp(0): {LeaderEpoch: -2, Delete: true}})
	if !slices.Equal(followed, []topic.Partition{tp(0)}) {
		t.Errorf("deleted: %v", followed)
	}
}

func TestStopReplica(t *testing.T) {
	b := newBroker1(t)
	defer b.stop()
	b.lead(tp(0), 1)
	b.lead(tp(0), 1) // epoch 1
	b.follow(tp(1), 2)
	answer := b.produce(tp(0), 1, 0, 1)
	answer.now(t)
	if codes, _ := b.m.StopReplicas(1, 1, stops(1, true, 0)); codes[tp(0)] != kafkaerr.FencedLeaderEpoch {
		t.Fatalf("the epoch we are at is no reason to stop: %v", codes)
	}
	if codes, _ := b.m.StopReplicas(1, 1, stops(5, false, 1)); codes[tp(1)] != kafkaerr.None || len(b.fetchers.started) != 0 {
		t.Fatalf("%v, still fetching %v", codes, b.fetchers.started)
	}
	if b.status(tp(1)).Leader != 2 {
		t.Error("a stop without deletion leaves the replica")
	}
	if codes, _ := b.m.StopReplicas(1, 1, stops(deletedEpoch, true, 0, 1, 9)); codes[tp(0)]|codes[tp(1)]|codes[tp(9)] != kafkaerr.None {
		t.Fatalf("%v", codes)
	}
	if len(b.m.Status()) != 0 || len(b.logs.All()) != 0 {
		t.Errorf("left: %v, %d logs", b.m.Status(), len(b.logs.All()))
	}
	if r := b.produce(tp(0), 1, 0, 1).now(t); r.Code != kafkaerr.UnknownTopicOrPartition {
		t.Errorf("%+v", r)
	}
}

// The high watermark that was checkpointed is what a replica starts with.
func TestHighWatermarkSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	b := newBroker1(t, dir)
	b.lead(tp(0), 1, 2)
	b.produce(tp(0), 1, 0, 5)
	b.fetchNow(2, tp(0), 3)
	b.m.Stop()
	b.logs.Kill()
	b = newBroker1(t, dir)
	defer b.stop()
	b.lead(tp(0), 1, 2)
	if s := b.status(tp(0)); s.HighWatermark != 3 || s.LogEnd != 5 {
		t.Errorf("%+v", s)
	}
}

func TestFollowerAppend(t *testing.T) {
	leader, b := newBroker1(t), newBroker1(t)
	defer leader.stop()
	defer b.stop()
	leader.lead(tp(0), 1)
	leader.produce(tp(0), 1, 0, 3)
	p, _ := leader.m.hosted(tp(0))
	info, err := p.log.Read(0, 1<<20, p.log.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	records, _ := info.Data.ReadAll()
	info.Data.Release()
	b.follow(tp(0), 2)
	if _, err := b.m.FollowerAppend(tp(0), 1, records, 3, 0); kafkaerr.CodeOf(err) != kafkaerr.NotLeaderOrFollower {
		t.Errorf("another epoch: %v", err)
	}
	got, err := b.m.FollowerAppend(tp(0), 0, records, 2, 0)
	if err != nil || got.LastOffset != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if s := b.status(tp(0)); s.LogEnd != 3 || s.HighWatermark != 2 {
		t.Errorf("%+v", s)
	}
	if _, err := b.m.FollowerAppend(tp(0), 0, nil, 9, 1); err != nil {
		t.Fatal(err)
	}
	if s := b.status(tp(0)); s.HighWatermark != 3 || s.LogStart != 1 {
		t.Errorf("the mark goes as far as the log: %+v", s)
	}
	if err := b.m.FollowerTruncate(tp(0), 0); err != nil {
		t.Fatal(err)
	}
	if ev := b.events.kinds(journal.Truncation); len(ev) != 1 || ev[0].Offset != 0 || ev[0].EndOffset != 3 {
		t.Errorf("%+v", ev)
	}
	b.lead(tp(0), 1)
	if _, err := b.m.FollowerAppend(tp(0), 1, records, 3, 0); kafkaerr.CodeOf(err) != kafkaerr.NotLeaderOrFollower {
		t.Errorf("a leader does not follow: %v", err)
	}
}

// The leader's log start lies inside a batch: an empty follower takes the whole batch.
func TestFollowerStartsInsideABatch(t *testing.T) {
	leader, b := newBroker1(t), newBroker1(t)
	defer leader.stop()
	defer b.stop()
	leader.lead(tp(0), 1)
	leader.produce(tp(0), 1, 0, 5)
	p, _ := leader.m.hosted(tp(0))
	info, err := p.log.Read(3, 1<<20, p.log.End(), true)
	if err != nil {
		t.Fatal(err)
	}
	records, _ := info.Data.ReadAll()
	info.Data.Release()
	b.follow(tp(0), 2)
	if err := b.m.FollowerTruncateFully(tp(0), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := b.m.FollowerAppend(tp(0), 0, records, 5, 3); err != nil {
		t.Fatal(err)
	}
	if s := b.status(tp(0)); s.LogEnd != 5 || s.LogStart != 3 {
		t.Errorf("%+v", s)
	}
}

// Ref: Kafka 2.8 server/ReplicaManager.scala, handleLogDirFailure.
func TestLogDirFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad, good := t.TempDir(), t.TempDir()
		b := newBroker1(t, bad, good)
		defer b.stop()
		b.lead(tp(0), 1, 2)
		b.follow(tp(1), 2)
		b.lead(tp(2), 1, 2)
		b.lead(tp(3), 1, 2)
		var lost, kept []topic.Partition
		for _, l := range b.logs.All() {
			if l.Dir() == bad {
				lost = append(lost, l.Partition())
			} else {
				kept = append(kept, l.Partition())
			}
		}
		if len(lost) != 2 || len(kept) != 2 {
			t.Fatalf("lost %v, kept %v", lost, kept)
		}
		var gone []topic.Partition
		b.m.OnLeadershipChange(func(_, f []topic.Partition) { gone = append(gone, f...) })
		var answers []produced
		for _, p := range lost {
			answers = append(answers, b.produce(p, all, time.Hour, 1))
		}
		b.logs.FailDir(bad, os.ErrInvalid)
		synctest.Wait()
		if slices.SortFunc(gone, topic.Partition.Compare); !slices.Equal(gone, slices.SortedFunc(slices.Values(lost), topic.Partition.Compare)) {
			t.Errorf("the listener lost %v, the disk %v", gone, lost)
		}
		for i, p := range lost {
			if r := answers[i].now(t); r.Code != kafkaerr.KafkaStorageError && r.Code != kafkaerr.NotLeaderOrFollower {
				t.Errorf("%v: %+v", p, r)
			}
			if r := b.produce(p, 1, 0, 1).now(t); r.Code != kafkaerr.KafkaStorageError {
				t.Errorf("%v: %+v", p, r)
			}
			if r := b.fetchNow(-1, p, 0); r.Code != kafkaerr.KafkaStorageError {
				t.Errorf("%v: %+v", p, r)
			}
			codes, _ := b.m.BecomeLeaderOrFollower(1, 1, map[topic.Partition]LeaderState{p: {Leader: 1, LeaderEpoch: 9, Replicas: []int32{1}}})
			if codes[p] != kafkaerr.KafkaStorageError {
				t.Errorf("%v: LeaderAndIsr: %v", p, codes[p])
			}
			if codes, _ := b.m.StopReplicas(1, 1, map[topic.Partition]StopState{p: {LeaderEpoch: -2, Delete: true}}); codes[p] != kafkaerr.KafkaStorageError {
				t.Errorf("%v: StopReplica: %v", p, codes[p])
			}
		}
		for _, p := range kept {
			if s := b.status(p); s.Partition != p {
				t.Errorf("%v is gone", p)
			}
		}
		if n := b.zk.notifications(zkpaths.LogDirEventPrefix); len(n) != 1 || !bytes.Equal(n[0], zkpaths.EncodeLogDirEvent(1)) {
			t.Errorf("notifications %s", n)
		}
		// A partition that may lie on the failed disk is not made anew; a new one is.
		for _, row := range []struct {
			name  string
			p     topic.Partition
			isNew bool
			want  kafkaerr.Code
		}{{"not new", tp(8), false, kafkaerr.KafkaStorageError}, {"new", tp(9), true, kafkaerr.None}} {
			codes, _ := b.m.BecomeLeaderOrFollower(1, 1, map[topic.Partition]LeaderState{row.p: {Leader: 1, LeaderEpoch: 0, Replicas: []int32{1}, ISR: []int32{1}, IsNew: row.isNew}})
			if codes[row.p] != row.want {
				t.Errorf("%s: %v", row.name, codes[row.p])
			}
		}
		if r := b.produce(tp(8), 1, 0, 1).now(t); r.Code != kafkaerr.KafkaStorageError {
			t.Errorf("%+v", r)
		}
		b.logs.FailDir(good, os.ErrInvalid)
		synctest.Wait()
		select {
		case <-b.halted:
		default:
			t.Error("the last directory failed: the broker must end")
		}
	})
}

// Nothing of a partition's past keeps files open.
func TestStopLeavesNoLock(t *testing.T) {
	dir := t.TempDir()
	b := newBroker1(t, dir)
	b.lead(tp(0), 1)
	b.stop()
	if _, err := os.Stat(filepath.Join(dir, "replication-offset-checkpoint")); err != nil {
		t.Error(err)
	}
	newBroker1(t, dir).stop()
}

// Logs made by one request are spread over the directories in the partitions' order,
// whatever order the request's map has: the same request makes the same layout.
func TestLogsOfOneRequestArePlacedInOrder(t *testing.T) {
	a, z := t.TempDir(), t.TempDir()
	b := newBroker1(t, a, z)
	defer b.stop()
	const n = 12
	states := map[topic.Partition]LeaderState{}
	for p := range int32(n) {
		states[tp(p)] = LeaderState{ControllerEpoch: 1, Leader: 1, ISR: []int32{1}, Replicas: []int32{1}, IsNew: true}
	}
	if _, code := b.m.BecomeLeaderOrFollower(1, 1, states); code != kafkaerr.None {
		t.Fatal(code)
	}
	for p := range int32(n) {
		log, ok := b.logs.Get(tp(p))
		if !ok {
			t.Fatalf("partition %d has no log", p)
		}
		if want := []string{a, z}[p%2]; log.Dir() != want {
			t.Errorf("partition %d is in %s, not in %s", p, log.Dir(), want)
		}
	}
}
