package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/journal"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// rig is a cluster without data: a fake ZooKeeper, and brokers of which only the
// controller is real. Each broker records the requests it gets and answers them.
type rig struct {
	t       *testing.T
	tree    *fakeTree
	cfg     Config // of every broker; BrokerID is filled in
	mu      sync.Mutex
	brokers map[int32]*fakeBroker
	all     []*fakeBroker // also earlier lives
	log     zerolog.Logger
}

type fakeBroker struct {
	rig        *rig
	id         int32
	client     *fakeClient
	controller *Controller
	alive      bool
	mute       bool                     // takes requests and does not answer
	refuse     bool                     // does not listen
	failed     map[topic.Partition]bool // answers KAFKA_STORAGE_ERROR for these
	topError   int16                    // of its LeaderAndIsr answers
	requests   []string                 // as text, in the order they came
	raw        []kmsg.Request
	events     []journal.Event
	journal    *journal.Journal
	conns      int
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, tree: newFakeTree(), brokers: map[int32]*fakeBroker{}, log: zerolog.Nop()}
	if os.Getenv("KZ_TEST_LOG") != "" {
		r.log = zerolog.New(zerolog.NewTestWriter(t))
	}
	r.cfg = Config{
		InterBrokerListener: "PLAINTEXT", SocketTimeout: 30 * time.Second, RequestTimeout: 30 * time.Second,
		ImbalanceCheckInterval: 5 * time.Second, ImbalancePercentage: 10, DeleteTopicEnable: true,
	}
	t.Cleanup(r.stop)
	return r
}

// stop ends everything; the test is over.
func (r *rig) stop() {
	for _, b := range r.all {
		if b.controller != nil {
			b.controller.Stop()
		}
		b.client.close()
	}
}

// start registers a broker and starts its controller.
func (r *rig) start(id int32) *fakeBroker {
	return r.stand(r.register(id))
}

// stand starts the controller of a registered broker.
func (r *rig) stand(b *fakeBroker) *fakeBroker {
	id := b.id
	cfg := r.cfg
	cfg.BrokerID = id
	b.controller = newController(cfg, b.client, r.dial, func(context.Context) (int64, error) { return b.registration() }, b.journal, r.log)
	b.controller.SetBrokerEpoch(b.epoch())
	b.controller.Start()
	return b
}

// register makes a broker that never stands for election.
func (r *rig) register(id int32) *fakeBroker {
	b := &fakeBroker{rig: r, id: id, client: r.tree.connect(fmt.Sprintf("broker-%d", id)), alive: true, failed: map[topic.Partition]bool{}, journal: journal.New(id)}
	b.journal.Subscribe(func(ev journal.Event) { b.events = append(b.events, ev) })
	r.mu.Lock()
	r.brokers[id] = b
	r.all = append(r.all, b)
	r.mu.Unlock()
	if _, err := b.registration(); err != nil {
		r.t.Fatalf("registering %d: %v", id, err)
	}
	return b
}

// registrationOf is what a broker of these tests says of itself.
func registrationOf(id int32) zkpaths.BrokerInfo {
	return zkpaths.BrokerInfo{
		Version: 4, Host: "127.0.0.1", Port: 9090 + id, JMXPort: -1, Timestamp: 1,
		Endpoints:   []zkpaths.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 9090 + id}},
		SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT"},
	}
}

// registration creates /brokers/ids/N as the broker does.
func (b *fakeBroker) registration() (epoch int64, err error) {
	create := zk.CreateOp(zkpaths.Broker(b.id), nil)
	create.Ephemeral = true
	_, err = b.client.Multi(context.Background(), create, zk.SetOp(zkpaths.Broker(b.id), registrationOf(b.id).Encode(), 0))
	return b.epoch(), err
}

func (b *fakeBroker) epoch() int64 {
	_, stat, _ := b.rig.tree.get(zkpaths.Broker(b.id))
	return stat.Czxid
}

// kill: the process is gone and its session is over.
func (r *rig) kill(id int32) {
	b := r.brokers[id]
	r.mu.Lock()
	b.alive = false
	r.mu.Unlock()
	b.client.hold() // it hears nothing any more
	b.client.endSession()
}

// active is the broker that is controller and knows it.
func (r *rig) active() *fakeBroker {
	for _, b := range r.brokers {
		if b.controller != nil && b.alive && b.controller.IsActive() {
			return b
		}
	}
	r.t.Fatal("nobody is controller")
	return nil
}

var errRefused = errors.New("connection refused")

func (r *rig) dial(_ context.Context, addr string) (conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.brokers {
		if addr == fmt.Sprintf("127.0.0.1:%d", 9090+b.id) && b.alive && !b.refuse {
			b.conns++
			return &fakeConn{broker: b, done: make(chan struct{})}, nil
		}
	}
	return nil, errRefused
}

type fakeConn struct {
	broker *fakeBroker
	once   sync.Once
	done   chan struct{}
}

func (c *fakeConn) Done() <-chan struct{} { return c.done }

func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

func (c *fakeConn) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	b := c.broker
	b.rig.mu.Lock()
	if !b.alive || b.refuse {
		b.rig.mu.Unlock()
		return nil, errRefused
	}
	b.requests = append(b.requests, describeRequest(req))
	b.raw = append(b.raw, req)
	mute := b.mute
	b.rig.mu.Unlock()
	if mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return b.answer(req), nil
}

func (b *fakeBroker) answer(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	lai, ok := req.(*kmsg.LeaderAndISRRequest)
	if !ok {
		return resp
	}
	answer := resp.(*kmsg.LeaderAndISRResponse)
	b.rig.mu.Lock()
	defer b.rig.mu.Unlock()
	if answer.ErrorCode = b.topError; b.topError != 0 {
		return resp
	}
	for _, ts := range lai.TopicStates {
		for _, ps := range ts.PartitionStates {
			p := kmsg.LeaderAndISRResponseTopicPartition{Topic: ts.Topic, Partition: ps.Partition}
			if b.failed[topic.Partition{Topic: ts.Topic, Partition: ps.Partition}] {
				p.ErrorCode = 56
			}
			answer.Partitions = append(answer.Partitions, p)
		}
	}
	return resp
}

// takeRequests returns what came since the last call.
func (b *fakeBroker) takeRequests() []string {
	b.rig.mu.Lock()
	defer b.rig.mu.Unlock()
	rs := b.requests
	b.requests = nil
	return rs
}

// createTopic writes the topic as CreateTopics does. The assignment is "0=1,2 1=2,1".
func (r *rig) createTopic(name string, spec ...string) {
	path := zkpaths.Topic(name)
	data, _, exists := r.tree.get(path)
	as := zkpaths.TopicAssignment{Partitions: map[int32][]int32{}}
	if exists {
		as, _ = zkpaths.DecodeTopicAssignment(data)
	}
	for _, s := range spec {
		n, replicas, _ := strings.Cut(s, "=")
		as.Partitions[atoi(r.t, n)] = ids(r.t, replicas)
	}
	if exists {
		r.tree.write("tool", zk.SetOp(path, as.Encode(), zk.AnyVersion))
	} else {
		r.tree.write("tool", zk.CreateOp(path, as.Encode()))
	}
}

// setISR is the leader's own write; controllerEpoch -1 leaves that field as it is.
func (r *rig) setISR(p topic.Partition, isr []int32, controllerEpoch int32) {
	path := zkpaths.PartitionStatePath(p.Topic, p.Partition)
	data, stat, ok := r.tree.get(path)
	if !ok {
		r.t.Fatalf("no %s", path)
	}
	s, err := zkpaths.DecodePartitionState(data)
	if err != nil {
		r.t.Fatal(err)
	}
	s.ISR = isr
	if controllerEpoch >= 0 {
		s.ControllerEpoch = controllerEpoch
	}
	r.tree.write(fmt.Sprintf("broker-%d", s.Leader), zk.SetOp(path, s.Encode(), stat.Version))
}

// setState writes a whole state until its version is the wanted one.
func (r *rig) setState(p topic.Partition, s zkpaths.PartitionState, version int32) {
	for _, path := range []string{zkpaths.Partitions(p.Topic), zkpaths.Partition(p.Topic, p.Partition)} {
		r.tree.write("tool", zk.CreateOp(path, nil))
	}
	path := zkpaths.PartitionStatePath(p.Topic, p.Partition)
	r.tree.write("tool", zk.CreateOp(path, s.Encode()))
	for range version {
		r.tree.write("tool", zk.SetOp(path, s.Encode(), zk.AnyVersion))
	}
}

func (r *rig) notifyISR(ps []topic.Partition) {
	op := zk.CreateOp(zkpaths.ISRChangePrefix, zkpaths.EncodeISRChange(znodePartitions(ps)))
	op.Sequential = true
	r.tree.write("leader", op)
}

func znodePartitions(ps []topic.Partition) []zkpaths.TopicPartition {
	tps := make([]zkpaths.TopicPartition, len(ps))
	for i, p := range ps {
		tps[i] = zkpaths.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	}
	return tps
}

func atoi(t *testing.T, s string) int32 {
	var n int32
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("%q is no number", s)
	}
	return n
}

func ids(t *testing.T, s string) (out []int32) {
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) {
		out = append(out, atoi(t, f))
	}
	return out
}

func partitionNamed(t *testing.T, s string) topic.Partition {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		t.Fatalf("%q is no partition", s)
	}
	return topic.Partition{Topic: s[:i], Partition: atoi(t, s[i+1:])}
}

// describeRequest is a request in the notation of golden/controller-requests.md. The
// receiver's epoch is left out.
func describeRequest(req kmsg.Request) string {
	var s strings.Builder
	list := func(name string, ids []int32) {
		if len(ids) > 0 {
			fmt.Fprintf(&s, " %s [%s]", name, join(ids))
		}
	}
	fmt.Fprintf(&s, "%s v%d ", apiName(req.Key()), req.GetVersion())
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		fmt.Fprintf(&s, "controller %d epoch %d;", r.ControllerID, r.ControllerEpoch)
		for _, ts := range r.TopicStates {
			for _, p := range ts.PartitionStates {
				fmt.Fprintf(&s, " %s-%d{ce %d leader %d epoch %d isr [%s] zkV %d replicas [%s]", ts.Topic, p.Partition,
					p.ControllerEpoch, p.Leader, p.LeaderEpoch, join(p.ISR), p.ZKVersion, join(p.Replicas))
				list("adding", p.AddingReplicas)
				list("removing", p.RemovingReplicas)
				if p.IsNew {
					s.WriteString(" isNew true")
				}
				s.WriteByte('}')
			}
		}
		var live []int32
		for _, l := range r.LiveLeaders {
			live = append(live, l.BrokerID)
		}
		fmt.Fprintf(&s, " liveLeaders [%s]", join(live))
	case *kmsg.UpdateMetadataRequest:
		fmt.Fprintf(&s, "controller %d epoch %d;", r.ControllerID, r.ControllerEpoch)
		if len(r.TopicStates) == 0 {
			s.WriteString(" no partitions;")
		}
		for _, ts := range r.TopicStates {
			for _, p := range ts.PartitionStates {
				fmt.Fprintf(&s, " %s-%d{ce %d leader %d epoch %d isr [%s] zkV %d replicas [%s]", ts.Topic, p.Partition,
					p.ControllerEpoch, p.Leader, p.LeaderEpoch, join(p.ISR), p.ZKVersion, join(p.Replicas))
				list("offline", p.OfflineReplicas)
				s.WriteByte('}')
			}
		}
		var live []int32
		for _, l := range r.LiveBrokers {
			live = append(live, l.ID)
		}
		fmt.Fprintf(&s, " live [%s]", join(live))
	case *kmsg.StopReplicaRequest:
		fmt.Fprintf(&s, "controller %d epoch %d;", r.ControllerID, r.ControllerEpoch)
		for _, ts := range r.Topics {
			for _, p := range ts.PartitionStates {
				fmt.Fprintf(&s, " %s-%d{leaderEpoch %d delete %v}", ts.Topic, p.Partition, p.LeaderEpoch, p.Delete)
			}
		}
	}
	return s.String()
}

func join(ids []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
}

// transitions are what the journal tells of states, one line per partition, and one per
// broker and way for its replicas.
func transitions(events []journal.Event) (lines []string) {
	ways := map[topic.Partition]string{}
	var order []topic.Partition
	replicas := map[string][]string{}
	var replicaOrder []string
	for _, ev := range events {
		p := topic.Partition{Topic: ev.Topic, Partition: ev.Partition}
		switch ev.Kind {
		case journal.PartitionChange:
			if ways[p] == "" {
				order = append(order, p)
				ways[p] = ev.From
			}
			ways[p] += " -> " + ev.To
		case journal.ReplicaChange:
			key := fmt.Sprintf("replicas on %d %s -> %s:", ev.Replica, ev.From, ev.To)
			if replicas[key] == nil {
				replicaOrder = append(replicaOrder, key)
			}
			replicas[key] = append(replicas[key], p.String())
		case journal.ControllerOn, journal.ControllerOff:
			lines = append(lines, ev.Text)
		}
	}
	slices.SortFunc(order, topic.Partition.Compare)
	for _, p := range order {
		lines = append(lines, "partition "+p.String()+" "+ways[p])
	}
	for _, key := range replicaOrder {
		lines = append(lines, key+" "+strings.Join(replicas[key], " "))
	}
	return lines
}
