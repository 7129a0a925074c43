package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// inBubble runs f on a rig in a bubble of virtual time. A goroutine that Stop leaves behind
// fails the test.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f(t, r)
		r.stop()
		synctest.Wait()
	})
}

// threeWithTopic: controller on 1, brokers 2 and 3, t-0 on 2,3 led by 2.
func threeWithTopic(r *rig) (p topic.Partition) {
	r.start(1)
	r.register(2)
	r.register(3)
	synctest.Wait()
	r.createTopic("t", "0=2,3")
	synctest.Wait()
	r.tree.takeWrites()
	return topic.Partition{Topic: "t", Partition: 0}
}

func (r *rig) state(p topic.Partition) string {
	data, stat, ok := r.tree.get(zkpaths.PartitionStatePath(p.Topic, p.Partition))
	if !ok {
		return "none"
	}
	s, err := zkpaths.DecodePartitionState(data)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("leader %d epoch %d isr %v ce %d v%d", s.Leader, s.LeaderEpoch, s.ISR, s.ControllerEpoch, stat.Version)
}

func TestLostAnswers(t *testing.T) {
	isState := func(kind zk.OpKind) func(zk.Op) bool {
		return func(op zk.Op) bool { return op.Kind == kind && strings.HasSuffix(op.Path, "/state") }
	}
	t.Run("a state write that was applied is read back, not repeated", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			p := threeWithTopic(r)
			r.brokers[1].client.loseAnswer = isState(zk.OpSet)
			r.kill(2)
			synctest.Wait()
			if got := r.state(p); got != "leader 3 epoch 1 isr [3] ce 1 v1" {
				t.Errorf("state is %s; a second election would have made epoch 2", got)
			}
			if got := strings.Join(r.brokers[3].requests, "\n"); !strings.Contains(got, "leader 3 epoch 1 isr [3] zkV 1") {
				t.Errorf("broker 3 was not told:\n%s", got)
			}
		})
	})
	t.Run("a state create that was applied counts", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.start(1)
			synctest.Wait()
			r.brokers[1].client.loseAnswer = isState(zk.OpCreate)
			r.createTopic("t", "0=1")
			synctest.Wait()
			if got := strings.Join(r.brokers[1].requests, "\n"); !strings.Contains(got, "t-0{ce 1 leader 1 epoch 0 isr [1] zkV 0") {
				t.Errorf("broker 1 was not told:\n%s", got)
			}
		})
	})
	t.Run("a claim that was applied is won", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			b := r.register(1)
			lost := 0
			b.client.loseAnswer = func(op zk.Op) bool {
				if op.Path == zkpaths.Controller {
					lost++
				}
				return lost == 1
			}
			r.stand(b)
			synctest.Wait()
			if !b.controller.IsActive() || b.controller.ID() != 1 {
				t.Errorf("active %v, id %d", b.controller.IsActive(), b.controller.ID())
			}
			if data, _, _ := r.tree.get(zkpaths.ControllerEpoch); string(data) != "1" {
				t.Errorf("epoch %s, want 1", data)
			}
		})
	})
}

// The leader shrinks the ISR between the controller's read and its write: whoever was thrown
// out must not be elected on the strength of the old read.
func TestConflictIsDecidedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.start(1)
		r.register(2)
		r.register(3)
		r.register(4)
		synctest.Wait()
		r.createTopic("t", "0=2,3,4")
		synctest.Wait()
		p := topic.Partition{Topic: "t", Partition: 0}
		first := true
		r.brokers[1].client.beforeWrite = func(op zk.Op) {
			if first && strings.HasSuffix(op.Path, "/state") {
				first = false
				r.setISR(p, []int32{2, 4}, -1) // 3 is out
			}
		}
		r.kill(2)
		synctest.Wait()
		if got := r.state(p); got != "leader 4 epoch 1 isr [4] ce 1 v2" {
			t.Errorf("state is %s, want 4 elected over the leader's write", got)
		}
	})
}

// The same while a follower is taken out of the ISR.
func TestConflictWhileLeavingISR(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := threeWithTopic(r)
		first := true
		r.brokers[1].client.beforeWrite = func(op zk.Op) {
			if first && strings.HasSuffix(op.Path, "/state") {
				first = false
				r.setISR(p, []int32{3, 2}, -1)
			}
		}
		r.kill(3)
		synctest.Wait()
		if got := r.state(p); got != "leader 2 epoch 1 isr [2] ce 1 v2" {
			t.Errorf("state is %s", got)
		}
	})
}

// A state with a later controller epoch means that we are deposed: hands off.
func TestLaterControllersStateIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := threeWithTopic(r)
		r.setISR(p, []int32{2, 3}, 5)
		r.kill(2)
		synctest.Wait()
		if got := r.state(p); got != "leader 2 epoch 0 isr [2 3] ce 5 v1" {
			t.Errorf("state is %s, want it untouched", got)
		}
	})
}

func TestControlledShutdownErrors(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		c := r.brokers[1].controller
		other := r.start(4)
		synctest.Wait()
		epoch := r.brokers[2].epoch()
		for _, tt := range []struct {
			name   string
			at     *Controller
			broker int32
			epoch  int64
			want   kafkaerr.Code
		}{
			{"not the controller", other.controller, 2, epoch, kafkaerr.StaleControllerEpoch},
			{"from before the last registration", c, 2, epoch - 1, kafkaerr.StaleBrokerEpoch},
			{"not registered", c, 9, 1, kafkaerr.BrokerNotAvailable},
			{"not registered, epoch unknown", c, 9, -1, kafkaerr.BrokerNotAvailable},
			{"epoch unknown", c, 3, -1, kafkaerr.None},
			{"the right epoch", c, 2, epoch, kafkaerr.None},
		} {
			_, err := tt.at.ControlledShutdown(context.Background(), tt.broker, tt.epoch)
			if got := kafkaerr.CodeOf(err); got != tt.want {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want.Name())
			}
		}
	})
}

// With its whole ISR in shutdown a partition stays where it is, and the broker is told so.
func TestControlledShutdownRemaining(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := threeWithTopic(r)
		r.kill(3)
		synctest.Wait()
		remaining, err := r.brokers[1].controller.ControlledShutdown(context.Background(), 2, r.brokers[2].epoch())
		if err != nil || len(remaining) != 1 || remaining[0] != p {
			t.Errorf("remaining %v, %v; want %v", remaining, err, p)
		}
	})
}

// A session ends while events wait: they are dropped, whoever waits for one is told, and the
// new session is not opened before the controller has begun to resign.
func TestSessionExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		b := r.brokers[1]
		before := b.controller.BrokerEpoch()

		held := make(chan struct{}) // the controller's goroutine is busy
		b.controller.queue.put(blocked(held))
		answered := make(chan error, 1)
		go func() {
			_, err := b.controller.ControlledShutdown(context.Background(), 2, -1)
			answered <- err
		}()
		synctest.Wait()
		b.client.endSession()
		reborn := make(chan struct{})
		go func() { b.client.newSession(); close(reborn) }()
		synctest.Wait()
		if code := kafkaerr.CodeOf(<-answered); code != kafkaerr.StaleControllerEpoch {
			t.Errorf("the waiting request got %s", code.Name())
		}
		select {
		case <-reborn:
			t.Error("a new session was opened while the controller was still at work")
		default:
		}
		close(held)
		<-reborn
		synctest.Wait()
		if !b.controller.IsActive() {
			t.Error("not elected again")
		}
		if after := b.controller.BrokerEpoch(); after <= before || after != b.epoch() {
			t.Errorf("broker epoch %d, before %d, registration %d", after, before, b.epoch())
		}
		if data, _, _ := r.tree.get(zkpaths.ControllerEpoch); string(data) != "2" {
			t.Errorf("controller epoch %s, want 2", data)
		}
	})
}

// blocked keeps the controller's goroutine until the channel is closed.
type blocked chan struct{}

func (b blocked) process(*Controller) error { <-b; return nil }

// Stop leaves /controller to the session, and answers everybody.
func TestStop(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		c := r.brokers[1].controller
		r.brokers[3].mute = true
		r.createTopic("u", "0=3,2") // a request is under way
		synctest.Wait()
		c.Stop()
		if _, _, there := r.tree.get(zkpaths.Controller); !there {
			t.Error("/controller is deleted")
		}
		if c.IsActive() || c.ID() != noLeader {
			t.Errorf("active %v, id %d", c.IsActive(), c.ID())
		}
		if _, err := c.ControlledShutdown(context.Background(), 2, -1); kafkaerr.CodeOf(err) != kafkaerr.StaleControllerEpoch {
			t.Errorf("after Stop: %v", err)
		}
		c.Stop() // twice is fine
	})
}

// A controller that was never started can be stopped.
func TestStopWithoutStart(t *testing.T) {
	newController(Config{BrokerID: 1}, newFakeTree().connect("x"), nil, nil, nil, newRig(t).log).Stop()
}

// Whatever goes wrong on the way into office gives the office up, so that somebody is
// elected: here ourselves, once the cause is gone.
func TestFailedFailoverGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		b := r.register(1)
		lost := 0
		b.client.loseRead = func(op zk.Op) error {
			if op.Kind == zk.OpChildren && op.Path == zkpaths.Topics && lost < 2 {
				lost++
				return zk.NoAuth
			}
			return nil
		}
		r.stand(b)
		synctest.Wait()
		if !b.controller.IsActive() {
			t.Error("never elected")
		}
		if data, _, _ := r.tree.get(zkpaths.ControllerEpoch); string(data) != "3" {
			t.Errorf("controller epoch %s, want 3: two reigns failed", data)
		}
	})
}

// Znodes that nobody can read cost only themselves.
func TestBadZnodes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for path, data := range map[string]string{
			"/brokers/ids/7": "{", "/brokers/ids/x": "{}", "/brokers/topics/bad": `{"partitions":7}`, "/feature": "nonsense",
			"/isr_change_notification/isr_change_0000000000":       "x",
			"/log_dir_event_notification/log_dir_event_0000000000": "x",
			"/admin/preferred_replica_election":                    "x",
		} {
			r.tree.write("hand", zk.CreateOp(path, []byte(data)))
		}
		torn, log := topic.Partition{Topic: "torn"}, new(strings.Builder)
		r.log = zerolog.New(zerolog.SyncWriter(log)) // the senders log, too
		r.createTopic("torn", "0=1")
		r.setState(torn, zkpaths.PartitionState{Leader: 1, ISR: []int32{1}}, 0)
		r.tree.write("hand", zk.SetOp(zkpaths.PartitionStatePath("torn", 0), []byte("{"), zk.AnyVersion))
		r.start(1)
		synctest.Wait()
		if data, _, _ := r.tree.get(zkpaths.PartitionStatePath("torn", 0)); string(data) != "{" || !strings.Contains(log.String(), `"partition":"torn-0","message":"state cannot be read`) {
			t.Errorf("a state that cannot be read: %s, logged\n%s", data, log)
		}
		r.createTopic("good", "0=1")
		synctest.Wait()
		if got := r.state(topic.Partition{Topic: "good"}); got != "leader 1 epoch 0 isr [1] ce 1 v0" {
			t.Errorf("good-0 is %s", got)
		}
		for _, path := range []string{"/isr_change_notification/isr_change_0000000000", "/log_dir_event_notification/log_dir_event_0000000000", "/admin/preferred_replica_election"} {
			if _, _, there := r.tree.get(path); there {
				t.Errorf("%s is still there", path)
			}
		}
		if data, _, _ := r.tree.get("/feature"); string(data) != disabledFeatures {
			t.Errorf("/feature is %s", data)
		}
		// The same while in office.
		r.tree.write("hand", zk.CreateOp("/isr_change_notification/isr_change_0000000001", []byte("{")))
		r.tree.write("hand", zk.CreateOp("/brokers/topics/worse", nil))
		r.tree.write("hand", zk.SetOp("/brokers/topics/bad", []byte(`{"version":3,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}`), zk.AnyVersion))
		synctest.Wait()
		if got := r.state(topic.Partition{Topic: "bad"}); got != "leader 1 epoch 0 isr [1] ce 1 v0" {
			t.Errorf("a topic that was mended is %s", got)
		}
	})
}

// 2,000 partitions lose their leader: reads and writes go in batches, and each broker gets
// a handful of requests.
func TestManyPartitions(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.start(1)
		r.register(2)
		r.register(3)
		synctest.Wait()
		for i := range 40 {
			var spec []string
			for n := range 50 {
				spec = append(spec, fmt.Sprintf("%d=2,3,1", n))
			}
			r.createTopic(fmt.Sprintf("t%d", i), spec...)
		}
		synctest.Wait()
		b := r.brokers[1]
		b.takeRequests()
		b.client.rounds = 0
		began := time.Now()
		r.kill(2)
		synctest.Wait()
		if rounds := b.client.rounds; rounds > 8 {
			t.Errorf("%d batches to ZooKeeper", rounds)
		}
		if got := b.takeRequests(); len(got) > 6 {
			t.Errorf("%d requests to one broker", len(got))
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("took %v of virtual time: something waits", d)
		}
		if got := r.state(topic.Partition{Topic: "t39", Partition: 49}); got != "leader 3 epoch 1 isr [3 1] ce 1 v1" {
			t.Errorf("t39-49 is %s", got)
		}

		// A reconnect makes every watched path fire; topics are read in one batch.
		b.client.rounds = 0
		b.client.reread()
		synctest.Wait()
		if rounds := b.client.rounds; rounds > 20 {
			t.Errorf("%d batches after a reconnect", rounds)
		}
		if !b.controller.IsActive() {
			t.Error("a reconnect cost the office")
		}
	})
}

// An answer that comes after the broker registered anew says nothing about now.
func TestAnswersOfAnEarlierLife(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := threeWithTopic(r)
		c := r.brokers[1].controller
		late := &kmsg.LeaderAndISRResponse{Version: 4, Partitions: []kmsg.LeaderAndISRResponseTopicPartition{{Topic: "t", ErrorCode: 56}}}
		c.queue.put(answer{broker: 2, to: outgoing{controllerEpoch: 1, brokerEpoch: r.brokers[2].epoch() - 1}, response: late})
		c.queue.put(answer{broker: 2, to: outgoing{controllerEpoch: 0, brokerEpoch: r.brokers[2].epoch()}, response: late})
		synctest.Wait()
		if got := r.state(p); got != "leader 2 epoch 0 isr [2 3] ce 1 v0" {
			t.Errorf("state is %s, want it untouched", got)
		}
		c.queue.put(answer{broker: 2, to: outgoing{controllerEpoch: 1, brokerEpoch: r.brokers[2].epoch()}, response: late})
		synctest.Wait()
		if got := r.state(p); got != "leader 3 epoch 1 isr [3] ce 1 v1" {
			t.Errorf("state is %s, want 3 to lead", got)
		}
	})
}

// The default for unclean election follows the broker's config, and an override of the topic
// goes before it.
func TestUncleanDefault(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		p := threeWithTopic(r)
		r.createTopic("careful", "0=2,3")
		r.tree.write("tool", zk.CreateOp(zkpaths.TopicConfig("careful"), zkpaths.EncodeEntityConfig(map[string]string{uncleanElectionKey: "false"})))
		synctest.Wait()
		r.kill(3)
		synctest.Wait()
		r.kill(2)
		r.register(3)
		synctest.Wait()
		if got := r.state(p); !strings.HasPrefix(got, "leader -1 ") {
			t.Fatalf("state is %s", got)
		}
		c := r.brokers[1].controller
		c.EnableUncleanElection("")
		synctest.Wait()
		if got := r.state(p); !strings.HasPrefix(got, "leader 3 epoch 3 isr [3] ") {
			t.Errorf("state is %s, want 3 to lead", got)
		}
		if got := r.state(topic.Partition{Topic: "careful"}); !strings.HasPrefix(got, "leader -1 ") {
			t.Errorf("careful-0 is %s, want no leader", got)
		}
		c.SetUncleanElectionDefault(false)
		if c.uncleanDefault.Load() {
			t.Error("the default stays on")
		}
	})
}

func TestUncleanAllowed(t *testing.T) {
	config := func(v string) zk.Result {
		return zk.Result{Data: zkpaths.EncodeEntityConfig(map[string]string{uncleanElectionKey: v})}
	}
	for _, tt := range []struct {
		name      string
		r         zk.Result
		byDefault bool
		want, err bool
	}{
		{"no node: the default", zk.Result{Err: zk.NoNode}, true, true, false},
		{"no override: the default", zk.Result{Data: zkpaths.EncodeEntityConfig(nil)}, true, true, false},
		{"override true", config("true"), false, true, false},
		{"override false", config("false"), true, false, false},
		{"spelled otherwise", config(" TRUE "), false, true, false},
		{"nonsense allows nothing", config("yes"), true, false, true},
		{"not JSON allows nothing", zk.Result{Data: []byte("{")}, true, false, true},
		{"not readable allows nothing", zk.Result{Err: zk.NoAuth}, true, false, true},
	} {
		if got, err := uncleanAllowed(tt.r, tt.byDefault); got != tt.want || (err != nil) != tt.err {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

// While any partition is being reassigned nothing is rebalanced.
func TestNoRebalanceDuringReassignment(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.cfg.AutoRebalance = true
		r.register(2)
		r.createTopic("t", "0=2,1")
		p := topic.Partition{Topic: "t"}
		r.setState(p, zkpaths.PartitionState{ControllerEpoch: 0, Leader: 1, ISR: []int32{1, 2}}, 0)
		moving := zkpaths.TopicAssignment{Partitions: map[int32][]int32{0: {1, 2}}, Adding: map[int32][]int32{0: {2}}}
		r.tree.write("tool", zk.CreateOp(zkpaths.Topic("moving"), moving.Encode()))
		r.start(1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.state(p); !strings.HasPrefix(got, "leader 1 epoch 0 ") {
			t.Errorf("state is %s, want it untouched", got)
		}
	})
}

// A controller frozen right after it won, whose session ends meanwhile, resigns without a
// single write of the office.
func TestFrozenAfterElection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		b := r.register(1)
		thaw := make(chan struct{})
		b.journal.Arm(journal.MomentControllerElected, func(string) { <-thaw })
		r.stand(b)
		synctest.Wait()
		b.client.endSession()
		other := r.start(2)
		synctest.Wait()
		r.tree.takeWrites()
		close(thaw)
		synctest.Wait()
		b.client.newSession()
		synctest.Wait()
		if b.controller.IsActive() || b.controller.ID() != 2 || !other.controller.IsActive() {
			t.Errorf("1 says active %v and controller %d", b.controller.IsActive(), b.controller.ID())
		}
		for _, w := range r.tree.takeWrites() {
			if strings.HasPrefix(w, "broker-1 ") && !strings.Contains(w, "/brokers/ids/1") {
				t.Errorf("the deposed controller wrote: %s", w)
			}
		}
	})
}

// The moment before a request holds that request, and no other broker's.
func TestMomentSend(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		b := r.brokers[1]
		var apis []string
		b.journal.Arm(journal.MomentControllerSend, func(api string) {
			r.mu.Lock()
			apis = append(apis, api)
			r.mu.Unlock()
		})
		r.createTopic("u", "0=2")
		synctest.Wait()
		if got := strings.Join(apis, " "); strings.Count(got, "LeaderAndIsr") != 1 || strings.Count(got, "UpdateMetadata") != 3 {
			t.Errorf("moments at %s", got)
		}
		sent, answered := 0, 0
		for _, ev := range b.events {
			switch ev.Kind {
			case journal.RequestSent:
				sent++
			case journal.RequestAnswered:
				answered++
			}
		}
		if sent == 0 || sent != answered {
			t.Errorf("%d requests sent, %d answered, by the journal", sent, answered)
		}
	})
}

// /controller names this broker, which does not reign: the node of an earlier session that
// is still there. It is given up, and then won.
func TestControllerNodeOfAnEarlierLife(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		b := r.register(1)
		r.tree.write("hand", zk.CreateOp(zkpaths.ControllerEpoch, zkpaths.EncodeControllerEpoch(4)))
		r.tree.write("hand", zk.CreateOp(zkpaths.Controller, zkpaths.ControllerInfo{BrokerID: 1}.Encode()))
		r.createTopic("t", "0=1")
		r.stand(b)
		synctest.Wait()
		if got := r.state(topic.Partition{Topic: "t"}); got != "leader 1 epoch 0 isr [1] ce 5 v0" {
			t.Errorf("t-0 is %s: the broker did not really take over", got)
		}
	})
}

func TestEndsEvent(t *testing.T) {
	for _, err := range []error{zk.ErrControllerMoved, zk.SessionExpired, zk.ErrClosed, context.Canceled, fmt.Errorf("x: %w", zk.ErrControllerMoved)} {
		if !endsEvent(err) {
			t.Errorf("%v does not end an event", err)
		}
	}
	for _, err := range []error{nil, zk.NoNode, zk.BadVersion, errors.New("x")} {
		if endsEvent(err) {
			t.Errorf("%v ends an event", err)
		}
	}
}
