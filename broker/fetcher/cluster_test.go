package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/metadata"
	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// cluster is some brokers in one process: real logs, real replica managers, real
// fetchers. The network between them is a method call, and the controller is the test.
type cluster struct {
	t       testing.TB
	zk      *stateNodes
	config  commitlog.Config
	fetch   Config
	brokers map[int32]*broker

	mu       sync.Mutex
	cut      map[[2]int32]bool // no connection from the first to the second
	requests []string          // what was asked, in order: "2>1 fetch full 3"
}

// broker is one of them, started.
type broker struct {
	id       int32
	dir      string
	up       bool
	logs     *commitlog.Manager
	replicas *replica.Manager
	fetchers *Manager
	sessions *replica.FetchSessionCache
	metadata *metadata.Cache
	journal  *journal.Journal
}

func newCluster(t testing.TB, n int) *cluster {
	c := &cluster{
		t: t, zk: &stateNodes{nodes: map[string]stateNode{}}, config: commitlog.DefaultConfig(),
		brokers: map[int32]*broker{}, cut: map[[2]int32]bool{},
		fetch: Config{NumFetchers: 1, WaitMax: 500 * time.Millisecond, MinBytes: 1, MaxBytes: 1 << 20, ResponseMaxBytes: 10 << 20, Backoff: time.Second, SocketTimeout: 30 * time.Second},
	}
	for id := int32(1); id <= int32(n); id++ {
		c.brokers[id] = &broker{id: id, dir: t.TempDir(), journal: journal.New(id)}
		c.start(id)
	}
	return c
}

func (c *cluster) start(id int32) {
	c.t.Helper()
	b := c.brokers[id]
	b.metadata = metadata.NewCache(id)
	var all []metadata.Broker
	for other := range c.brokers {
		all = append(all, metadata.Broker{ID: other, Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: other}}})
	}
	for other := int32(1); other <= 3; other++ {
		all = append(all, metadata.Broker{ID: other, Endpoints: []metadata.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: other}}})
	}
	b.metadata.Apply(metadata.Update{ControllerID: 1, ControllerEpoch: 1, Brokers: all})
	logs, err := commitlog.NewManager(commitlog.ManagerConfig{Dirs: []string{b.dir}, Defaults: c.config}, b.journal, zerolog.Nop())
	if err == nil {
		err = logs.Load(func(string) (commitlog.Config, bool) { return commitlog.Config{}, false })
	}
	if err != nil {
		c.t.Fatal(err)
	}
	b.logs = logs
	b.sessions = replica.NewFetchSessionCache(1000, 2*time.Minute)
	b.replicas = replica.NewManager(replica.Config{
		BrokerID: id, LagTimeMax: 30 * time.Second, FetchMaxBytes: 55 << 20, InterBrokerListener: "PLAINTEXT",
		ProducePurgeInterval: 1000, FetchPurgeInterval: 1000,
		ISRPropagationCheck: 2500 * time.Millisecond, ISRPropagationQuiet: 5 * time.Second, ISRPropagationMax: time.Minute,
	}, replica.Deps{
		Logs: logs, Metadata: b.metadata, Zk: c.zk, Journal: b.journal, Log: zerolog.Nop(),
		LogConfig: func(string) commitlog.Config { return c.config },
		Halt:      func(string) {},
	})
	cfg := c.fetch
	cfg.BrokerID = id
	b.fetchers = newManager(cfg, b.replicas, b.journal, zerolog.Nop(), func(s source, t *thread) leader {
		return &localLeader{c: c, from: id, to: s.broker, cfg: cfg}
	})
	b.replicas.SetFetchers(b.fetchers)
	b.replicas.Start()
	c.mu.Lock()
	b.up = true
	c.mu.Unlock()
}

// kill ends a broker as kill -9 does: nothing is checkpointed.
func (c *cluster) kill(id int32) {
	b := c.brokers[id]
	c.mu.Lock()
	was := b.up
	b.up = false
	c.mu.Unlock()
	if was {
		b.replicas.Kill()
		b.logs.Kill()
	}
}

// stop ends a broker in order.
func (c *cluster) stop(id int32) {
	b := c.brokers[id]
	c.mu.Lock()
	b.up = false
	c.mu.Unlock()
	b.replicas.Stop()
	b.logs.Stop()
}

func (c *cluster) close() {
	for id := range c.brokers {
		c.kill(id)
	}
}

// elect is the controller: it writes the state node and tells the brokers "to", or all
// that are up.
func (c *cluster) elect(p topic.Partition, leader, epoch int32, isr []int32, to ...int32) {
	c.t.Helper()
	version := c.zk.write(p, zkpaths.PartitionState{ControllerEpoch: 1, Leader: leader, LeaderEpoch: epoch, ISR: isr})
	c.tell(p, leader, epoch, isr, version, to...)
}

func (c *cluster) tell(p topic.Partition, leader, epoch int32, isr []int32, version int32, to ...int32) {
	c.t.Helper()
	all := c.ids()
	if len(to) == 0 {
		to = all
	}
	for _, id := range to {
		b := c.brokers[id]
		if !b.up {
			continue
		}
		codes, code := b.replicas.BecomeLeaderOrFollower(1, 1, map[topic.Partition]replica.LeaderState{p: {
			ControllerEpoch: 1, Leader: leader, LeaderEpoch: epoch, ISR: isr, ZkVersion: version, Replicas: all, IsNew: epoch == 0,
		}})
		if code != kafkaerr.None || codes[p] != kafkaerr.None {
			c.t.Fatalf("broker %d, LeaderAndIsr: %v %v", id, code, codes[p])
		}
	}
}

func (c *cluster) ids() (out []int32) {
	for id := range c.brokers {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// produce appends one batch of n records to a broker; the answer comes on the channel.
func (c *cluster) produce(id int32, p topic.Partition, acks int16, values ...string) chan replica.ProduceResult {
	w := record.NewBuilder(record.None, 0)
	for _, v := range values {
		w.Append(1000, nil, []byte(v))
	}
	answer := make(chan replica.ProduceResult, 2)
	c.brokers[id].replicas.AppendRecords(time.Minute, acks, false, map[topic.Partition][]byte{p: w.Bytes()},
		func(r map[topic.Partition]replica.ProduceResult) { answer <- r[p] })
	return answer
}

func (c *cluster) status(id int32, p topic.Partition) replica.Status {
	for _, s := range c.brokers[id].replicas.Status() {
		if s.Partition == p {
			return s
		}
	}
	return replica.Status{LogEnd: -1}
}

// bytes are a replica's log as it lies on disk, and its values.
func (c *cluster) bytes(id int32, p topic.Partition) (raw []byte, values []string) {
	c.t.Helper()
	log, ok := c.brokers[id].logs.Get(p)
	if !ok {
		c.t.Fatalf("broker %d has no log of %v", id, p)
	}
	for at := log.StartOffset(); at < log.EndOffset(); {
		info, err := log.Read(at, 1<<20, log.End(), true)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := info.Data.ReadAll()
		info.Data.Release()
		if err != nil {
			c.t.Fatal(err)
		}
		raw = append(raw, b...)
		for batch, err := range record.Batches(b) {
			if err != nil {
				c.t.Fatal(err)
			}
			at = batch.LastOffset() + 1
			for r, err := range batch.Records() {
				if err != nil {
					c.t.Fatal(err)
				}
				values = append(values, string(r.Value))
			}
		}
	}
	return raw, values
}

// same checks that the replicas are equal byte for byte and hold these values.
func (c *cluster) same(p topic.Partition, values []string, ids ...int32) {
	c.t.Helper()
	first, got := c.bytes(ids[0], p)
	if !slices.Equal(got, values) {
		c.t.Errorf("broker %d has %v, want %v", ids[0], got, values)
	}
	for _, id := range ids[1:] {
		if other, got := c.bytes(id, p); !bytes.Equal(first, other) {
			c.t.Errorf("broker %d has %v, broker %d %v", id, got, ids[0], values)
		}
	}
}

// log is what was asked since the last call.
func (c *cluster) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

// localLeader answers as broker/api will, by method calls.
type localLeader struct {
	c        *cluster
	from, to int32
	cfg      Config
}

var errNoRoute = errors.New("connection refused")

func (l *localLeader) reach(format string, args ...any) (*broker, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	b := l.c.brokers[l.to]
	if !b.up || l.c.cut[[2]int32{l.from, l.to}] {
		return nil, errNoRoute
	}
	l.c.requests = append(l.c.requests, fmt.Sprintf("%d>%d ", l.from, l.to)+fmt.Sprintf(format, args...))
	return b, nil
}

func (l *localLeader) close() {}

func (l *localLeader) epochEnds(_ context.Context, qs []epochQuestion) (out []epochAnswer, _ error) {
	for _, q := range qs {
		b, err := l.reach("epoch %d", q.epoch)
		if err != nil {
			return nil, err
		}
		epoch, end, code := b.replicas.EpochEnd(q.id, q.leaderEpoch, q.epoch)
		out = append(out, epochAnswer{q.id, code, epoch, end})
	}
	return out, nil
}

func (l *localLeader) listOffset(_ context.Context, id topic.Partition, leaderEpoch int32, timestamp int64) (int64, kafkaerr.Code, error) {
	b, err := l.reach("list %d", timestamp)
	if err != nil {
		return -1, 0, err
	}
	t, err := b.replicas.ListOffset(replica.OffsetQuery{Partition: id, Timestamp: timestamp, CurrentLeaderEpoch: leaderEpoch, ReplicaID: l.from})
	return t.Offset, kafkaerr.CodeOf(err), nil
}

func (l *localLeader) fetch(ctx context.Context, req fetchRequest) (*fetchAnswer, error) {
	what := "incremental"
	if req.full() {
		what = "full"
	}
	b, err := l.reach("fetch %s %d", what, len(req.send))
	if err != nil {
		return nil, err
	}
	var parts []replica.FetchPartition
	for _, w := range req.send {
		parts = append(parts, replica.FetchPartition{
			Partition: w.id, Offset: w.offset, LogStartOffset: w.logStart, MaxBytes: l.cfg.MaxBytes,
			CurrentLeaderEpoch: w.leaderEpoch, LastFetchedEpoch: -1,
		})
	}
	x := b.sessions.NewContext(req.sessionID, req.epoch, parts, req.forget, true)
	if x.Code() != kafkaerr.None {
		return &fetchAnswer{code: x.Code()}, nil
	}
	done := make(chan *fetchAnswer, 1)
	b.replicas.FetchIn(x, replica.FetchParams{ReplicaID: l.from, MaxWait: l.cfg.WaitMax, MinBytes: l.cfg.MinBytes, MaxBytes: l.cfg.ResponseMaxBytes},
		func(rs []replica.FetchResult) {
			a := &fetchAnswer{}
			a.sessionID, a.code, rs = x.Finish(rs)
			for i := range rs {
				r := &rs[i]
				data, err := r.Data.ReadAll()
				r.Release()
				if err != nil {
					r.Code = kafkaerr.UnknownServerError
				}
				a.parts = append(a.parts, fetched{r.Partition, r.Code, r.HighWatermark, r.LogStartOffset, data})
			}
			done <- a
		})
	select {
	case a := <-done:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stateNodes is ZooKeeper as far as ISR writes need it.
type stateNodes struct {
	mu    sync.Mutex
	nodes map[string]stateNode
}

type stateNode struct {
	data    []byte
	version int32
}

func (z *stateNodes) Do(_ context.Context, ops ...zk.Op) []zk.Result {
	z.mu.Lock()
	defer z.mu.Unlock()
	out := make([]zk.Result, len(ops))
	for i, op := range ops {
		n := z.nodes[op.Path]
		switch {
		case op.Kind == zk.OpGet:
			out[i].Data, out[i].Stat.Version = n.data, n.version
		case op.Version != n.version:
			out[i].Err = zk.BadVersion
		default:
			z.nodes[op.Path] = stateNode{op.Data, n.version + 1}
			out[i].Stat.Version = n.version + 1
		}
	}
	return out
}

func (z *stateNodes) CreateSequential(context.Context, string, []byte) (string, error) {
	return "", nil
}

func (z *stateNodes) write(p topic.Partition, s zkpaths.PartitionState) int32 {
	z.mu.Lock()
	defer z.mu.Unlock()
	path := zkpaths.PartitionStatePath(p.Topic, p.Partition)
	n, ok := z.nodes[path]
	if ok {
		n.version++
	}
	n.data = s.Encode()
	z.nodes[path] = n
	return n.version
}

func (z *stateNodes) read(t testing.TB, p topic.Partition) (zkpaths.PartitionState, int32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	n := z.nodes[zkpaths.PartitionStatePath(p.Topic, p.Partition)]
	s, err := zkpaths.DecodePartitionState(n.data)
	if err != nil {
		t.Fatal(err)
	}
	return s, n.version
}
