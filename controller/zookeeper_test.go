package controller

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// realBroker is a controller on a real ZooKeeper, with brokers on an in-memory network that
// answer every request.
type realBroker struct {
	id         int32
	client     *zk.Client
	controller *Controller
	listener   net.Listener
	events     chan journal.Event
	once       sync.Once
}

func startReal(t *testing.T, s *zktest.Server, chroot string, network link.Network, id int32) *realBroker {
	t.Helper()
	ctx := context.Background()
	cfg := zk.Config{Servers: []string{s.Addr}, Chroot: chroot, SessionTimeout: 6 * time.Second, ConnectionTimeout: 30 * time.Second, MaxInFlight: 10}
	j := journal.New(id)
	b := &realBroker{id: id, events: make(chan journal.Event, 100_000)}
	j.Subscribe(func(ev journal.Event) { b.events <- ev })
	client, err := zk.Connect(ctx, cfg, link.TCP{}, j, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	b.client = client
	for _, path := range zkpaths.PersistentPaths() {
		if err := client.CreateRecursive(ctx, path, nil); err != nil && err != zk.NodeExists {
			t.Fatalf("%s: %v", path, err)
		}
	}
	b.listener, err = network.Listen(fmt.Sprintf("127.0.0.1:%d", 9090+id))
	if err != nil {
		t.Fatal(err)
	}
	go answerAll(b.listener)
	register := func(ctx context.Context) (int64, error) {
		stat, err := client.CreateEphemeral(ctx, zkpaths.Broker(id), registrationOf(id).Encode())
		return stat.Czxid, err
	}
	epoch, err := register(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.controller = New(Config{
		BrokerID: id, InterBrokerListener: "PLAINTEXT", SocketTimeout: 5 * time.Second, DeleteTopicEnable: true,
	}, client, network, register, j, zerolog.Nop())
	b.controller.SetBrokerEpoch(epoch)
	b.controller.Start()
	t.Cleanup(b.stop)
	return b
}

// stop is the order in which a broker stops: the controller, then the session.
func (b *realBroker) stop() {
	b.once.Do(func() {
		b.controller.Stop()
		b.client.Close()
		b.listener.Close()
	})
}

// answerAll answers every request of every connection without error.
func answerAll(l net.Listener) {
	for i := 0; ; i++ {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b := &wireBroker{frames: make(chan wireFrame)}
		go func() { b.serve(i, c); close(b.frames) }()
		go func() {
			for f := range b.frames {
				f.answer()
			}
		}()
	}
}

// await waits for an event.
func (b *realBroker) await(t *testing.T, what string, is func(journal.Event) bool) journal.Event {
	t.Helper()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case ev := <-b.events:
			if is(ev) {
				return ev
			}
		case <-deadline.C:
			t.Fatalf("broker %d: waited 60 s for %s", b.id, what)
		}
	}
}

// The whole controller on a real ZooKeeper: election, a topic of 2,000 partitions, the death
// of a leader that is also the controller.
func TestOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("needs seconds")
	}
	s := zktest.Shared(t)
	chroot := s.Chroot()
	network := link.NewMemory()
	one := startReal(t, s, chroot, network, 1)
	one.await(t, "its election", func(ev journal.Event) bool { return ev.Kind == journal.ControllerOn })
	two := startReal(t, s, chroot, network, 2)
	sentTo2 := func(ev journal.Event) bool { return ev.Kind == journal.RequestAnswered && ev.Replica == 2 }
	one.await(t, "broker 2 to be told", sentTo2)

	const n = 2000
	as := zkpaths.TopicAssignment{Partitions: map[int32][]int32{}}
	for i := range int32(n) {
		as.Partitions[i] = []int32{1, 2}
	}
	began := time.Now()
	if err := two.client.CreateRecursive(context.Background(), zkpaths.Topic("big"), as.Encode()); err != nil {
		t.Fatal(err)
	}
	one.await(t, "LeaderAndIsr to 2", func(ev journal.Event) bool { return sentTo2(ev) && ev.To == "LeaderAndIsr" })
	t.Logf("%d partitions created in %v", n, time.Since(began))

	began = time.Now()
	one.stop()
	two.await(t, "its election", func(ev journal.Event) bool { return ev.Kind == journal.ControllerOn && ev.ControllerEpoch == 2 })
	elected := 0
	two.await(t, "every partition to have leader 2", func(ev journal.Event) bool {
		if ev.Kind == journal.Election && ev.Leader == 2 {
			elected++
		}
		return elected == n
	})
	t.Logf("controller and %d leaders replaced in %v", n, time.Since(began))

	data, stat, err := two.client.Get(context.Background(), zkpaths.PartitionStatePath("big", n-1))
	if err != nil {
		t.Fatal(err)
	}
	// Twice: leader -1, then elected.
	if want := `{"controller_epoch":2,"leader":2,"version":1,"leader_epoch":2,"isr":[2]}`; string(data) != want || stat.Version != 2 {
		t.Errorf("state v%d %s, want v2 %s", stat.Version, data, want)
	}
	remaining, err := two.controller.ControlledShutdown(context.Background(), 2, two.controller.BrokerEpoch())
	if err != nil || len(remaining) != n || remaining[0] != (topic.Partition{Topic: "big"}) {
		t.Errorf("the last broker still leads %d partitions, error %v", len(remaining), err)
	}
}

// A controller that is deposed behind its back writes nothing more and resigns.
func TestDeposedOnZooKeeper(t *testing.T) {
	if testing.Short() {
		t.Skip("needs seconds")
	}
	s := zktest.Shared(t)
	chroot := s.Chroot()
	network := link.NewMemory()
	one := startReal(t, s, chroot, network, 1)
	one.await(t, "its election", func(ev journal.Event) bool { return ev.Kind == journal.ControllerOn })
	ctx := context.Background()
	// The epoch moves without a word; the watch on /controller says nothing.
	if _, err := one.client.Set(ctx, zkpaths.ControllerEpoch, zkpaths.EncodeControllerEpoch(9), zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	as := zkpaths.TopicAssignment{Partitions: map[int32][]int32{0: {1}}}
	if err := one.client.CreateRecursive(ctx, zkpaths.Topic("t"), as.Encode()); err != nil {
		t.Fatal(err)
	}
	one.await(t, "the refused write", func(ev journal.Event) bool {
		return ev.Kind == journal.ZnodeWrite && ev.Path == zkpaths.Partitions("t") && ev.Result != "ok"
	})
	if _, found, err := one.client.Exists(ctx, zkpaths.Partitions("t")); err != nil || found {
		t.Errorf("%s exists: %v, %v", zkpaths.Partitions("t"), found, err)
	}
	// /controller goes, so that somebody is elected: it resigns and is elected again, with
	// an epoch above the one it found.
	if err := one.client.Delete(ctx, zkpaths.Controller, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	one.await(t, "its resignation", func(ev journal.Event) bool { return ev.Kind == journal.ControllerOff })
	one.await(t, "its election", func(ev journal.Event) bool { return ev.Kind == journal.ControllerOn && ev.ControllerEpoch == 10 })
	one.await(t, "the leader of t-0", func(ev journal.Event) bool { return ev.Kind == journal.Election && ev.Topic == "t" })
}
