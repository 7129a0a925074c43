package group

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// logs is __consumer_offsets in memory: what replica.Manager keeps on disk. It outlives
// coordinators.
type logs struct {
	mu    sync.Mutex
	bytes map[topic.Partition][]byte
	end   map[topic.Partition]int64
	code  kafkaerr.Code // appends fail with it
	held  []func()      // appends wait here for their replicas …
	hold  bool          // … when this is set
	delay time.Duration // reads take so long
}

func newLogs() *logs {
	return &logs{bytes: map[topic.Partition][]byte{}, end: map[topic.Partition]int64{}}
}

func (l *logs) AppendFromCoordinator(_ time.Duration, acks int16, records map[topic.Partition][]byte, respond func(map[topic.Partition]replica.ProduceResult)) {
	l.mu.Lock()
	out := map[topic.Partition]replica.ProduceResult{}
	for p, b := range records {
		r := replica.ProduceResult{Code: l.code, BaseOffset: -1}
		if l.code == kafkaerr.None {
			batch := record.Batch(append([]byte(nil), b...))
			batch.SetBaseOffset(l.end[p])
			r.BaseOffset = l.end[p]
			l.end[p] = batch.LastOffset() + 1
			l.bytes[p] = append(l.bytes[p], batch...)
		}
		out[p] = r
	}
	if l.hold && acks != 0 {
		l.held = append(l.held, func() { respond(out) })
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	respond(out)
}

// replicate answers the appends that wait.
func (l *logs) replicate() {
	l.mu.Lock()
	held := l.held
	l.held, l.hold = nil, false
	l.mu.Unlock()
	for _, f := range held {
		f()
	}
}

func (l *logs) ReadLed(p topic.Partition, offset int64, maxBytes int) (replica.LedRead, error) {
	time.Sleep(l.delay)
	l.mu.Lock()
	defer l.mu.Unlock()
	offset = max(offset, 0)
	var out []byte
	for b, err := range record.Batches(l.bytes[p]) {
		if err != nil {
			return replica.LedRead{}, err
		}
		if b.LastOffset() >= offset && (len(out) == 0 || len(out)+len(b) <= maxBytes) {
			out = append(out, b...)
		}
	}
	return replica.LedRead{Data: out, Offset: offset}, nil
}

// written tells every record of a partition, in order, as people read it.
func (l *logs) written(t *testing.T, p int32) (out []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for b, err := range record.Batches(l.bytes[topic.Partition{Topic: topic.ConsumerOffsets, Partition: p}]) {
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records() {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, tell(t, r))
		}
	}
	return out
}

func tell(t *testing.T, r record.Record) string {
	t.Helper()
	k, err := readKey(r.Key)
	if err != nil {
		t.Fatal(err)
	}
	what := "group " + k.group
	if k.isOffset {
		what = fmt.Sprintf("%s %v", k.group, k.offset)
	}
	switch {
	case r.Value == nil:
		return what + ": gone"
	case k.isOffset:
		o, err := readOffsetValue(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s: %d", what, o.Offset)
	}
	g, err := readGroupValue(r.Value)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s: generation %d, %d members", what, g.Generation, len(g.Members))
}

// bench is a coordinator over logs, in a bubble: its time is virtual.
type bench struct {
	*Coordinator
	t    *testing.T
	logs *logs
}

var testConfig = Config{
	MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, InitialRebalanceDelay: 3 * time.Second, MaxSize: 1 << 30,
	MaxMetadataSize: 4096, Retention: 7 * 24 * time.Hour, RetentionCheck: 10 * time.Minute,
	Partitions: 1, CommitTimeout: 5 * time.Second, CommitAcks: -1, LoadBufferSize: 5 << 20,
}

// inBubble runs a story on a coordinator of partition 0, the only one.
func inBubble(t *testing.T, story func(b *bench), change ...func(*Config)) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newLogs(), change...)
		b.lead(0)
		story(b)
		b.Stop()
	})
}

func start(t *testing.T, l *logs, change ...func(*Config)) *bench {
	cfg := testConfig
	for _, f := range change {
		f(&cfg)
	}
	b := &bench{Coordinator: New(cfg, Deps{Replicas: l, Log: zerolog.Nop()}), t: t, logs: l}
	b.Start(0)
	return b
}

func offsetsTopic(ps ...int32) (out []topic.Partition) {
	for _, p := range ps {
		out = append(out, topic.Partition{Topic: topic.ConsumerOffsets, Partition: p})
	}
	return out
}

// lead and follow: leadership comes and goes, and what follows from it is done.
func (b *bench) lead(ps ...int32) {
	b.OnLeadershipChange(offsetsTopic(ps...), nil)
	synctest.Wait()
}

func (b *bench) follow(ps ...int32) {
	b.OnLeadershipChange(nil, offsetsTopic(ps...))
	synctest.Wait()
}

// pass lets time pass, and what it brings happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// call is a request that may wait.
type call[R any] struct {
	t      *testing.T
	done   bool
	result R
}

// seen orders what answers write and what the story reads: virtual time does not, for the
// race detector.
var seen sync.Mutex

func (c *call[R]) respond(r R) {
	seen.Lock()
	defer seen.Unlock()
	if c.done {
		c.t.Error("answered twice")
	}
	c.done, c.result = true, r
}

// answer is what the request has been answered by now.
func (c *call[R]) answer() R {
	c.t.Helper()
	synctest.Wait()
	seen.Lock()
	defer seen.Unlock()
	if !c.done {
		c.t.Fatal("not answered yet")
	}
	return c.result
}

func (c *call[R]) mustWait() {
	c.t.Helper()
	synctest.Wait()
	seen.Lock()
	defer seen.Unlock()
	if c.done {
		c.t.Fatalf("answered already: %+v", c.result)
	}
}

// person is a member to be, with a group g and a subscription to the topic t.
type person struct {
	name, id   string
	instance   *string
	generation int32
	protocols  string // names, blanks between
	careful    bool   // joins as from version 4 on
}

func (b *bench) join(p *person) *call[JoinResult] {
	c := &call[JoinResult]{t: b.t}
	if p.protocols == "" {
		p.protocols = "range"
	}
	r := JoinRequest{Group: "g", MemberID: p.id, InstanceID: p.instance, ClientID: p.name, ClientHost: "/h",
		RequireKnownID: p.careful && p.instance == nil, RebalanceTimeoutMs: 60000, SessionTimeoutMs: 10000, ProtocolType: consumerType}
	for _, name := range strings.Fields(p.protocols) {
		r.Protocols = append(r.Protocols, Protocol{name, subscriptionOf("t")})
	}
	b.Join(r, func(j JoinResult) {
		seen.Lock()
		p.id, p.generation = j.MemberID, j.Generation
		seen.Unlock()
		c.respond(j)
	})
	return c
}

func (b *bench) sync(p *person, assignment map[string][]byte) *call[SyncResult] {
	c := &call[SyncResult]{t: b.t}
	b.Sync(SyncRequest{Caller: p.caller(), Assignment: assignment}, c.respond)
	return c
}

func (p *person) caller() Caller {
	seen.Lock()
	defer seen.Unlock()
	return Caller{Group: "g", MemberID: p.id, InstanceID: p.instance, Generation: p.generation}
}

func (b *bench) beat(p *person) kafkaerr.Code { return b.Heartbeat(p.caller()) }

// commit stores an offset of t-0.
func (b *bench) commit(who Caller, offset int64) *call[map[topic.Partition]kafkaerr.Code] {
	c := &call[map[topic.Partition]kafkaerr.Code]{t: b.t}
	b.CommitOffsets(Commit{Caller: who, Offsets: map[topic.Partition]OffsetAndMetadata{
		t0: {Offset: offset, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: -1}}}, c.respond)
	return c
}

var t0 = topic.Partition{Topic: "t"}

// fetched is the offset of t-0, -1 for none.
func (b *bench) fetched(group string) int64 {
	b.t.Helper()
	found, code := b.FetchOffsets(group, false, []topic.Partition{t0})
	if code != kafkaerr.None {
		b.t.Fatalf("fetch of %s: %s", group, code.Name())
	}
	return found[t0].Offset
}

// settled forms a stable group g of these people; the first leads.
func (b *bench) settled(people ...*person) {
	b.t.Helper()
	var joins []*call[JoinResult]
	for _, p := range people {
		joins = append(joins, b.join(p))
	}
	pass(b.cfg.InitialRebalanceDelay * 3)
	all := map[string][]byte{}
	for i, p := range people {
		if r := joins[i].answer(); r.Code != kafkaerr.None {
			b.t.Fatalf("%s joins: %s", p.name, r.Code.Name())
		}
		all[p.id] = []byte("part of " + p.name)
	}
	for i := range people {
		p := people[len(people)-1-i] // the leader comes last
		b.sync(p, all)
	}
	synctest.Wait()
	b.is(Stable, len(people))
}

func (b *bench) is(s State, members int) {
	b.t.Helper()
	synctest.Wait()
	if d := b.Describe("g"); d.State != s.String() || len(d.Members) != members {
		b.t.Fatalf("the group is %s with %d members, want %v with %d", d.State, len(d.Members), s, members)
	}
}

// keepAlive beats for people every three seconds, for d.
func (b *bench) keepAlive(d time.Duration, people ...*person) {
	for ; d > 0; d -= 3 * time.Second {
		for _, p := range people {
			b.beat(p)
		}
		pass(min(d, 3*time.Second))
	}
}

func subscriptionOf(names ...string) []byte {
	b := putI32(putI16(nil, 0), int32(len(names)))
	for _, n := range names {
		b = putStr(b, n)
	}
	return putI32(b, -1)
}
