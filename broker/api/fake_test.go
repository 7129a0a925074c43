package api

import (
	"context"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/admin"
	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/broker/metadata"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"
	"kz/internal/zk"
	"kz/zkpaths"
)

// ending is an exchange that keeps how it ended.
type ending struct {
	t        testing.TB
	parts    []network.Part
	answered bool
	silent   bool
	closed   string
	times    int // endings; more than one is a bug
	detached bool
	done     chan struct{}
}

func (e *ending) Respond(parts ...network.Part) { e.parts, e.answered = parts, true; e.end() }
func (e *ending) NoResponse()                   { e.silent = true; e.end() }
func (e *ending) Close(reason string)           { e.closed = reason; e.end() }
func (e *ending) Detach()                       { e.detached = true }
func (e *ending) end() {
	if e.times++; e.times == 1 {
		close(e.done)
	}
}

// bytes is the answer as it would be on the wire, after the header; every part is released once.
func (e *ending) bytes() []byte {
	var out []byte
	for _, p := range e.parts {
		if p.File == nil {
			out = append(out, p.Bytes...)
		} else {
			b := make([]byte, p.Length)
			if _, err := p.File.ReadAt(b, p.Offset); err != nil && err != io.EOF {
				e.t.Fatal(err)
			}
			out = append(out, b...)
		}
		if p.Release != nil {
			p.Release()
		}
	}
	return out
}

// replicas is replica.Manager with its answers laid down.
type replicas struct {
	mu       sync.Mutex
	appended map[topic.Partition][]byte
	acks     int16
	internal bool
	produce  func(topic.Partition) replica.ProduceResult
	params   replica.FetchParams
	fetch    func(replica.FetchPartition) replica.FetchResult
	leader   map[topic.Partition]replica.LeaderState
	stop     map[topic.Partition]replica.StopState
	update   metadata.Update
	code     kafkaerr.Code
	deleted  []topic.Partition
	offset   func(replica.OffsetQuery) (commitlog.TimestampOffset, error)
	epochs   func(p topic.Partition, current, epoch int32) (int32, int64, kafkaerr.Code)
}

func (r *replicas) BecomeLeaderOrFollower(id, epoch int32, states map[topic.Partition]replica.LeaderState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code) {
	r.leader = states
	return map[topic.Partition]kafkaerr.Code{}, r.code
}
func (r *replicas) StopReplicas(id, epoch int32, states map[topic.Partition]replica.StopState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code) {
	r.stop = states
	out := map[topic.Partition]kafkaerr.Code{}
	if r.code == kafkaerr.None {
		for p := range states {
			out[p] = kafkaerr.FencedLeaderEpoch
		}
	}
	return out, r.code
}
func (r *replicas) UpdateMetadata(u metadata.Update) ([]topic.Partition, kafkaerr.Code) {
	r.update = u
	return r.deleted, r.code
}
func (r *replicas) AppendRecords(timeout time.Duration, acks int16, internal bool, records map[topic.Partition][]byte, respond func(map[topic.Partition]replica.ProduceResult)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.appended, r.acks, r.internal = records, acks, internal
	out := map[topic.Partition]replica.ProduceResult{}
	for p := range records {
		out[p] = replica.ProduceResult{BaseOffset: 7, LogAppendTime: -1, LogStartOffset: 2}
		if r.produce != nil {
			out[p] = r.produce(p)
		}
	}
	respond(out)
}
func (r *replicas) FetchIn(x *replica.FetchContext, p replica.FetchParams, respond func([]replica.FetchResult)) {
	parts := x.Partitions()
	r.params = p
	var out []replica.FetchResult
	for _, part := range parts {
		res := replica.FailedFetch(part.Partition, kafkaerr.None)
		if r.fetch != nil {
			res = r.fetch(part)
		}
		out = append(out, res)
	}
	respond(out)
}
func (r *replicas) ListOffset(q replica.OffsetQuery) (commitlog.TimestampOffset, error) {
	if r.offset != nil {
		return r.offset(q)
	}
	return commitlog.TimestampOffset{Timestamp: -1, Offset: 5, LeaderEpoch: 3}, nil
}
func (r *replicas) EpochEnd(p topic.Partition, current, epoch int32) (int32, int64, kafkaerr.Code) {
	if r.epochs != nil {
		return r.epochs(p, current, epoch)
	}
	return epoch, 9, kafkaerr.None
}

// ruler is the controller.
type ruler struct {
	active bool
	epoch  int64
	err    error
	remain []topic.Partition
}

func (r *ruler) IsActive() bool     { return r.active }
func (r *ruler) BrokerEpoch() int64 { return r.epoch }
func (r *ruler) ControlledShutdown(context.Context, int32, int64) ([]topic.Partition, error) {
	return r.remain, r.err
}

// store is the little of ZooKeeper that admin needs here.
type store struct {
	admin.Store
	mu      sync.Mutex
	nodes   map[string][]byte
	written func(p string, data []byte) // told of every write, when not nil
}

func (s *store) tell(p string, data []byte) {
	if s.written != nil {
		s.written(p, data)
	}
}

func (s *store) Do(ctx context.Context, ops ...zk.Op) []zk.Result {
	out := make([]zk.Result, len(ops))
	for i, op := range ops {
		if op.Kind == zk.OpSet {
			_, out[i].Err = s.Set(ctx, op.Path, op.Data, op.Version)
		} else {
			out[i].Err = s.CreateRecursive(ctx, op.Path, op.Data)
		}
	}
	return out
}
func (s *store) Get(_ context.Context, p string) ([]byte, zk.Stat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.nodes[p]; ok {
		return b, zk.Stat{}, nil
	}
	return nil, zk.Stat{}, zk.NoNode
}
func (s *store) Exists(_ context.Context, p string) (zk.Stat, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.nodes[p]
	return zk.Stat{}, ok, nil
}
func (s *store) Children(_ context.Context, p string, _ bool) (out []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.nodes {
		if path.Dir(n) == p {
			out = append(out, path.Base(n))
		}
	}
	return out, nil
}
func (s *store) Set(_ context.Context, p string, b []byte, _ int32) (zk.Stat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.nodes[p]; !ok {
		return zk.Stat{}, zk.NoNode
	}
	s.nodes[p] = b
	s.tell(p, b)
	return zk.Stat{}, nil
}
func (s *store) CreateRecursive(_ context.Context, p string, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.nodes[p]; ok {
		return zk.NodeExists
	}
	s.nodes[p] = b
	s.tell(p, b)
	return nil
}

// bench is an API over fakes: topic t with partitions 0 (led by 1) and 1 (led by the
// dead broker 9), brokers 1 and 2, of which 2 has no listener PLAINTEXT but INNER.
type bench struct {
	*API
	replicas   *replicas
	groups     *groups
	controller *ruler
	store      *store
}

func newBench(t testing.TB) *bench {
	t.Helper()
	cfg, _, err := config.Parse(map[string]string{"zookeeper.connect": "h:2181", "broker.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	meta := metadata.NewCache(1)
	end := func(listener, host string) []metadata.Endpoint {
		return []metadata.Endpoint{{Listener: listener, Host: host, Port: 9092}}
	}
	meta.Apply(metadata.Update{ControllerID: 1,
		Brokers: []metadata.Broker{{ID: 1, Rack: "r1", Endpoints: end("PLAINTEXT", "one")}, {ID: 2, Rack: "r2", Endpoints: end("INNER", "two")}},
		Partitions: map[topic.Partition]metadata.PartitionState{
			{Topic: "t", Partition: 0}: {Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2}, ISR: []int32{1}, OfflineReplicas: []int32{}},
			{Topic: "t", Partition: 1}: {Leader: 9, LeaderEpoch: 5, Replicas: []int32{9, 1}, ISR: []int32{9}, OfflineReplicas: []int32{9}},
			{Topic: "t", Partition: 2}: {Leader: 2, LeaderEpoch: 6, Replicas: []int32{2}, ISR: []int32{2}, OfflineReplicas: []int32{}},
		}})
	s := &store{nodes: map[string][]byte{}}
	for _, id := range []int32{1, 2} {
		s.nodes[zkpaths.Broker(id)] = zkpaths.BrokerInfo{Version: 4, Host: "h", Port: 1, JMXPort: -1, Timestamp: 1,
			Endpoints: []zkpaths.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 1}}, SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT"}}.Encode()
	}
	b := &bench{replicas: &replicas{}, groups: &groups{}, controller: &ruler{active: true, epoch: 100}, store: s}
	configs := admin.NewConfigs(cfg, s, zerolog.Nop())
	m := admin.NewManager(cfg, s, meta, configs, zerolog.Nop())
	t.Cleanup(m.Stop)
	b.API = New(Deps{Config: cfg, Replicas: b.replicas, Groups: b.groups, Offsets: admin.NewOffsets(s), Sessions: replica.NewFetchSessionCache(10, time.Minute), Metadata: meta,
		Admin: m, Configs: configs, Controller: b.controller, ClusterID: "cluster", Log: zerolog.Nop()})
	return b
}

// send runs a request through its handler and waits for its end.
func (b *bench) send(t testing.TB, h wire.RequestHeader, body []byte) *ending {
	t.Helper()
	e := &ending{t: t, done: make(chan struct{})}
	b.serve(newCall(e, h, body, "PLAINTEXT", "/127.0.0.1"))
	<-e.done
	if e.times != 1 {
		t.Fatalf("ended %d times", e.times)
	}
	return e
}

// ask sends a request in a version and decodes the answer.
func (b *bench) ask(t testing.TB, req kmsg.Request, version int16) kmsg.Response {
	t.Helper()
	req.SetVersion(version)
	e := b.send(t, wire.RequestHeader{Key: req.Key(), Version: version, ClientID: "c"}, req.AppendTo(nil))
	if !e.answered {
		t.Fatalf("%s v%d: not answered, closed: %q, silent: %v", kmsg.NameForKey(req.Key()), version, e.closed, e.silent)
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	raw := e.bytes()
	if err := resp.ReadFrom(raw); err != nil {
		t.Fatalf("%s v%d: answer does not decode: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	if again := resp.AppendTo(nil); string(again) != string(raw) {
		t.Fatalf("%s v%d: kmsg would have answered\n%x\nand not\n%x", kmsg.NameForKey(req.Key()), version, again, raw)
	}
	return resp
}

// everyVersion runs f for each served version of an API.
func everyVersion(t *testing.T, key int16, f func(t *testing.T, version int16)) {
	t.Helper()
	row, _ := wire.Lookup(key)
	for v := row.Min; v <= row.Max; v++ {
		t.Run("v"+string(rune('0'+v/10))+string(rune('0'+v%10)), func(t *testing.T) { f(t, v) })
	}
}

func tempFile(t testing.TB, content string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := io.Copy(f, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	return f
}
