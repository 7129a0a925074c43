package replica

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/metadata"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// fakeZk is the part of ZooKeeper that the manager uses.
type fakeZk struct {
	mu      sync.Mutex
	nodes   map[string]*fakeNode
	created []fakeNode // sequential nodes, in order

	// away, when open, makes every call wait until it is closed or the ctx ends.
	away chan struct{}
	// echo makes the next Set succeed and answer BADVERSION, as a setData that is
	// repeated after a lost connection does.
	echo bool
	// fail, when set, is the answer to every Set.
	fail error
}

type fakeNode struct {
	path    string
	data    []byte
	version int32
}

func newFakeZk() *fakeZk { return &fakeZk{nodes: map[string]*fakeNode{}} }

func (z *fakeZk) wait(ctx context.Context) error {
	z.mu.Lock()
	away := z.away
	z.mu.Unlock()
	if away == nil {
		return nil
	}
	select {
	case <-away:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (z *fakeZk) Do(ctx context.Context, ops ...zk.Op) []zk.Result {
	out := make([]zk.Result, len(ops))
	if err := z.wait(ctx); err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	for i, op := range ops {
		n := z.nodes[op.Path]
		switch {
		case n == nil:
			out[i].Err = zk.NoNode
		case op.Kind == zk.OpGet:
			out[i].Data, out[i].Stat.Version = n.data, n.version
		case z.fail != nil:
			out[i].Err = z.fail
		case op.Version != n.version:
			out[i].Err = zk.BadVersion
		default:
			n.data, n.version = op.Data, n.version+1
			out[i].Stat.Version = n.version
			if z.echo {
				z.echo = false
				out[i] = zk.Result{Err: zk.BadVersion, Retried: true}
			}
		}
	}
	return out
}

func (z *fakeZk) CreateSequential(ctx context.Context, prefix string, data []byte) (string, error) {
	if err := z.wait(ctx); err != nil {
		return "", err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.created = append(z.created, fakeNode{path: prefix, data: data})
	return fmt.Sprintf("%s%010d", prefix, len(z.created)), nil
}

// write is the controller's write: whatever the version was, it is one more.
func (z *fakeZk) write(p topic.Partition, s zkpaths.PartitionState) (version int32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	path := zkpaths.PartitionStatePath(p.Topic, p.Partition)
	n := z.nodes[path]
	if n == nil {
		n = &fakeNode{path: path, version: -1}
		z.nodes[path] = n
	}
	n.data, n.version = s.Encode(), n.version+1
	return n.version
}

func (z *fakeZk) state(t testing.TB, p topic.Partition) (zkpaths.PartitionState, int32) {
	t.Helper()
	z.mu.Lock()
	defer z.mu.Unlock()
	n := z.nodes[zkpaths.PartitionStatePath(p.Topic, p.Partition)]
	s, err := zkpaths.DecodePartitionState(n.data)
	if err != nil {
		t.Fatal(err)
	}
	return s, n.version
}

func (z *fakeZk) notifications(prefix string) (out [][]byte) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, n := range z.created {
		if n.path == prefix {
			out = append(out, n.data)
		}
	}
	return out
}

// fakeFetchers records what the manager asks of the follower's side.
type fakeFetchers struct {
	mu      sync.Mutex
	started map[topic.Partition]FetchStart
	stopped bool
}

func (f *fakeFetchers) Add(starts map[topic.Partition]FetchStart) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, s := range starts {
		f.started[p] = s
	}
}

func (f *fakeFetchers) Remove(ps []topic.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range ps {
		delete(f.started, p)
	}
}

func (f *fakeFetchers) Stop() { f.stopped = true }

const lagMax = 30 * time.Second

// broker1 is broker 1 of three, with real logs and everything else made up.
type broker1 struct {
	t        testing.TB
	m        *Manager
	zk       *fakeZk
	fetchers *fakeFetchers
	logs     *commitlog.Manager
	journal  *journal.Journal
	events   *eventLog
	config   commitlog.Config
	halted   chan string
	epoch    map[topic.Partition]int32
	session  *modelSession // of openSession
}

func newBroker1(t testing.TB, dirs ...string) *broker1 {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{t.TempDir()}
	}
	b := &broker1{
		t: t, zk: newFakeZk(), fetchers: &fakeFetchers{started: map[topic.Partition]FetchStart{}},
		journal: journal.New(1), events: &eventLog{}, config: commitlog.DefaultConfig(), halted: make(chan string, 1),
		epoch: map[topic.Partition]int32{},
	}
	b.journal.Subscribe(b.events.add)
	cache := metadata.NewCache(1)
	var brokers []metadata.Broker
	for id := int32(1); id <= 3; id++ {
		brokers = append(brokers, metadata.Broker{ID: id, Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: 9090 + id}}})
	}
	cache.Apply(metadata.Update{ControllerID: 1, ControllerEpoch: 1, Brokers: brokers})
	b.config.MinInsyncReplicas = 1
	logs, err := commitlog.NewManager(commitlog.ManagerConfig{Dirs: dirs, Defaults: b.config}, b.journal, zerolog.Nop())
	if err == nil {
		err = logs.Load(func(string) (commitlog.Config, bool) { return commitlog.Config{}, false })
	}
	if err != nil {
		t.Fatal(err)
	}
	b.logs = logs
	b.m = NewManager(Config{
		BrokerID: 1, LagTimeMax: lagMax, FetchMaxBytes: 55 << 20, InterBrokerListener: "PLAINTEXT",
		ProducePurgeInterval: 1000, FetchPurgeInterval: 1000,
		ISRPropagationCheck: 2500 * time.Millisecond, ISRPropagationQuiet: 5 * time.Second, ISRPropagationMax: time.Minute,
	}, Deps{
		Logs: logs, Metadata: cache, Zk: b.zk, Journal: b.journal, Log: zerolog.Nop(),
		LogConfig: func(string) commitlog.Config { return b.config },
		Halt:      func(why string) { b.halted <- why },
	})
	b.m.SetFetchers(b.fetchers)
	logs.OnDirFailure(b.m.LogDirFailure)
	b.m.Start()
	return b
}

// stop ends everything; inside a bubble it must be called before the bubble ends.
func (b *broker1) stop() {
	b.m.Stop()
	b.logs.Kill()
}

// lead makes this broker the leader of p at the next epoch, as the controller does.
func (b *broker1) lead(p topic.Partition, isr ...int32) { b.become(p, 1, isr...) }

// follow makes broker "leader" the leader.
func (b *broker1) follow(p topic.Partition, leader int32) { b.become(p, leader, 1, 2, 3) }

func (b *broker1) become(p topic.Partition, leader int32, isr ...int32) {
	b.t.Helper()
	epoch, again := b.epoch[p]
	if again {
		epoch++
	}
	b.epoch[p] = epoch
	version := b.zk.write(p, zkpaths.PartitionState{ControllerEpoch: 1, Leader: leader, LeaderEpoch: epoch, ISR: isr})
	codes, code := b.m.BecomeLeaderOrFollower(1, 1, map[topic.Partition]LeaderState{p: {
		ControllerEpoch: 1, Leader: leader, LeaderEpoch: epoch, ISR: isr, ZkVersion: version, Replicas: []int32{1, 2, 3}, IsNew: !again,
	}})
	if code != kafkaerr.None || codes[p] != kafkaerr.None {
		b.t.Fatalf("LeaderAndIsr for %v: %v %v", p, code, codes[p])
	}
}

// batch is n records of about 10 bytes.
func batch(n int) []byte {
	w := record.NewBuilder(record.None, 0)
	for i := range n {
		w.Append(int64(1000+i), nil, fmt.Appendf(nil, "value-%04d", i))
	}
	return w.Bytes()
}

// produced is an answer that may still come.
type produced chan ProduceResult

func (b *broker1) produce(p topic.Partition, acks int16, timeout time.Duration, n int) produced {
	c := make(produced, 2) // room for a second answer, which would be a fault
	b.m.AppendRecords(timeout, acks, false, map[topic.Partition][]byte{p: batch(n)}, func(r map[topic.Partition]ProduceResult) { c <- r[p] })
	return c
}

// now is the answer that must be there already.
func (c produced) now(t testing.TB) ProduceResult {
	t.Helper()
	select {
	case r := <-c:
		return r
	default:
		t.Fatal("not answered yet")
		return ProduceResult{}
	}
}

func (c produced) notYet(t testing.TB) {
	t.Helper()
	select {
	case r := <-c:
		t.Fatalf("answered already: %+v", r)
	default:
	}
}

// fetchNow is a fetch that does not wait, as replica (or consumer, -1) from offset.
func (b *broker1) fetchNow(replica int32, p topic.Partition, offset int64) FetchResult {
	b.t.Helper()
	c := b.fetch(replica, p, offset, 0)
	select {
	case r := <-c:
		return r
	default:
		b.t.Fatal("a fetch that does not wait was not answered")
		return FetchResult{}
	}
}

func (b *broker1) fetch(replica int32, p topic.Partition, offset int64, wait time.Duration) chan FetchResult {
	c := make(chan FetchResult, 2)
	b.m.Fetch(FetchParams{ReplicaID: replica, MaxWait: wait, MinBytes: 1, MaxBytes: 10 << 20},
		[]FetchPartition{{Partition: p, Offset: offset, LogStartOffset: 0, MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}},
		func(rs []FetchResult) {
			r := rs[0]
			releaseAll(rs)
			r.Data.File = nil
			c <- r
		})
	return c
}

func (b *broker1) status(p topic.Partition) Status {
	b.t.Helper()
	for _, s := range b.m.Status() {
		if s.Partition == p {
			return s
		}
	}
	b.t.Fatalf("%v is not here", p)
	return Status{}
}

// eventLog keeps the journal.
type eventLog struct {
	mu     sync.Mutex
	events []journal.Event
}

func (l *eventLog) add(ev journal.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
}

func (l *eventLog) kinds(of ...journal.Kind) (out []journal.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.events {
		if slices.Contains(of, ev.Kind) {
			out = append(out, ev)
		}
	}
	return out
}
