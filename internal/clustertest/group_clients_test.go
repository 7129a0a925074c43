//go:build unix

package clustertest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
)

// A foreign client as a member of a group. instance is its group.instance.id, "" for none. kill ends it as
// kill -9 does, without a word to the broker; leave as Ctrl-C does.
type joiner func(g *foreignGroup, instance string) (leave, kill func())

// foreignClients are the stock clients, each with the rules that it has.
var foreignClients = []struct {
	name string
	rule string // eager or cooperative
	join joiner
}{
	{"kgo", "eager", joinKgo},
	{"kgo", "cooperative", joinKgo},
	{"sarama", "eager", joinSarama},
	{"librdkafka", "eager", joinKcat},
	{"librdkafka", "cooperative", joinKcat},
	{"kafka-python", "eager", joinPython},
	{"kafka-python", "cooperative", joinPython},
	{"java", "eager", joinJava},
	{"java", "cooperative", joinJava},
	{"java-verifiable", "eager", joinJavaVerifiable},
}

// Three members of each client over twelve partitions: they join, one leaves, comes back, is killed and
// comes back; a static one is killed and nobody else notices. Each partition is read by one of them, nothing
// is skipped, and only what a killed member had not committed is read twice.
func TestGroupsOfStockClients(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: the coordinator's tests have all this in virtual time")
	}
	ground := clustertest.Loopback(t)
	c := clustertest.StartOn(t, ground, 3, map[string]string{"offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "500"})
	for _, f := range foreignClients {
		t.Run(f.name+" "+f.rule, func(t *testing.T) {
			t.Parallel()
			g := newForeignGroup(t, c, strings.ReplaceAll(f.name+"-"+f.rule, " ", "-"), f.rule)
			f.join(g, "")
			leaveB, _ := f.join(g, "")
			_, killC := f.join(g, "")
			g.sharedBy(3)
			g.sendAndRead()
			leaveB()
			g.sharedBy(2)
			f.join(g, "")
			g.sharedBy(3)
			g.sendAndRead()
			g.readAtMost(1, 0) // whoever leaves commits first
			killC()            // its session has to end
			g.sharedBy(2)
			_, kill := f.join(g, "static")
			g.sharedBy(3)
			g.sendAndRead()
			generation := g.generation()
			kill()
			lastKill := g.sent
			f.join(g, "static")
			g.sendAndRead() // also from the partitions of the static member, which has them again
			if now := g.generation(); now != generation {
				t.Errorf("a static member came back: generation %d became %d", generation, now)
			}
			g.sharedBy(3)
			g.leaveAll()
			g.allCommitted()
			g.readAtMost(3, 0) // two were killed
			g.readAtMost(1, lastKill)
		})
	}
}

const foreignParts = 12

// sessionMs is session.timeout.ms: short, so that a death is noticed soon; of a static member long enough
// to start a JVM again.
func sessionMs(instance string) int {
	if instance != "" {
		return 30000
	}
	return 6000
}

// A foreignGroup is one group, named as its topic, and what its members read.
type foreignGroup struct {
	*testing.T
	name, rule string
	seeds      []string
	cl         *kgo.Client
	admin      *kadm.Client
	leaves     []func()

	mu      sync.Mutex // guards what follows
	sent    int
	read    map[string]int // value -> how often
	divided int32
}

func newForeignGroup(t *testing.T, c *clustertest.InProcess, name, rule string) *foreignGroup {
	t.Helper()
	g := &foreignGroup{T: t, name: name, rule: rule, seeds: c.Seeds(), read: map[string]int{}}
	g.cl = c.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	g.admin = kadm.NewClient(g.cl)
	clustertest.CreateTopic(t, g.cl, name, foreignParts, 3)
	for _, b := range c.Sorted() {
		b.Journal.Subscribe(g.heard)
	}
	return g
}

func (g *foreignGroup) saw(value string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read[value]++
}

func (g *foreignGroup) describe() (kadm.DescribedGroup, error) {
	groups, err := g.admin.DescribeGroups(g.Context(), g.name)
	return groups[g.name], errors.Join(err, groups[g.name].Err)
}

// sharedBy waits until n members have four, six or twelve partitions each, and no two the same.
func (g *foreignGroup) sharedBy(n int) {
	g.Helper()
	clustertest.Eventually(g.T, 2*time.Minute, fmt.Sprintf("%d members to share %s", n, g.name), func() (bool, string) {
		d, err := g.describe()
		if err != nil || d.State != "Stable" || len(d.Members) != n {
			return false, fmt.Sprint(d.State, " of ", len(d.Members), " ", err)
		}
		owned := map[int32]int{}
		for _, m := range d.Members {
			assigned, ok := m.Assigned.AsConsumer()
			if !ok {
				return false, "an assignment that cannot be read"
			}
			mine := 0
			for _, t := range assigned.Topics {
				for _, p := range t.Partitions {
					owned[p]++
					mine++
				}
			}
			if mine != foreignParts/n {
				return false, fmt.Sprintf("%s has %d partitions", m.ClientID, mine)
			}
		}
		for p, owners := range owned {
			if owners != 1 { // in one generation, so at once
				g.Errorf("%s-%d has %d owners", g.name, p, owners)
			}
		}
		return len(owned) == foreignParts, fmt.Sprint(owned)
	})
}

// generation is how often the members have divided the partitions.
func (g *foreignGroup) generation() int32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.divided
}

// heard notes generations as the coordinator goes through them.
func (g *foreignGroup) heard(ev journal.Event) {
	if ev.Group != g.name || ev.Kind != journal.GroupState {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.divided = max(g.divided, ev.Generation)
}

// sendAndRead sends to each partition, and waits until everything ever sent was read.
func (g *foreignGroup) sendAndRead() {
	g.Helper()
	var records []*kgo.Record
	g.mu.Lock()
	for range 10 {
		for p := range int32(foreignParts) {
			records = append(records, &kgo.Record{Topic: g.name, Partition: p, Value: fmt.Appendf(nil, "v%d", g.sent)})
			g.sent++
		}
	}
	g.mu.Unlock()
	if err := g.cl.ProduceSync(g.Context(), records...).FirstErr(); err != nil {
		g.Fatal(err)
	}
	clustertest.Eventually(g.T, 2*time.Minute, "everything to be read", func() (bool, string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.read) == g.sent, fmt.Sprintf("%d of %d", len(g.read), g.sent)
	})
}

// readAtMost holds the records from the one with number from on against how often each may have been read.
func (g *foreignGroup) readAtMost(times, from int) {
	g.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := from; i < g.sent; i++ {
		if n := g.read[fmt.Sprint("v", i)]; n > times {
			g.Errorf("%s: record %d was read %d times, not at most %d", g.name, i, n, times)
		}
	}
}

func (g *foreignGroup) leaveAll() {
	for _, leave := range g.leaves {
		leave()
	}
}

// allCommitted waits until the offsets say that everything was read.
func (g *foreignGroup) allCommitted() {
	g.Helper()
	clustertest.Eventually(g.T, time.Minute, "everything to be committed", func() (bool, string) {
		offsets, err := g.admin.FetchOffsets(g.Context(), g.name)
		sum := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
		return err == nil && sum == int64(g.sent), fmt.Sprintf("%d of %d, %v", sum, g.sent, err)
	})
}

// onLeave notes how a member leaves; both ways of ending it are harmless when it has ended.
func (g *foreignGroup) onLeave(leave, kill func()) (func(), func()) {
	var once sync.Once
	end := func(how func()) func() { return func() { once.Do(how) } }
	g.leaves = append(g.leaves, end(leave))
	g.Cleanup(end(kill))
	return end(leave), end(kill)
}

// itself is how most clients print a record: its value is the line.
func itself(line string) (value string, isRecord bool) { return line, true }

// program starts a client that prints what it reads, a line a record; valueOf knows which and how.
func (g *foreignGroup) program(valueOf func(line string) (string, bool), name string, args ...string) (leave, kill func()) {
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a script may have the client for a child
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.Fatal(err)
	}
	done := make(chan struct{})
	var asked atomic.Bool // to end
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if value, ok := valueOf(lines.Text()); ok {
				g.saw(value)
			}
		}
		if err := cmd.Wait(); !asked.Load() {
			g.Errorf("%s ended by itself: %v\n%s", name, err, errs.String())
		}
	}()
	end := func(s syscall.Signal) func() {
		return func() {
			asked.Store(true)
			_ = syscall.Kill(-cmd.Process.Pid, s)
			<-done
		}
	}
	return g.onLeave(end(syscall.SIGINT), end(syscall.SIGKILL))
}

// joinKcat needs kcat: librdkafka.
func joinKcat(g *foreignGroup, instance string) (leave, kill func()) {
	args := []string{"-b", strings.Join(g.seeds, ","), "-G", g.name, "-q", "-u", "-X", "auto.offset.reset=earliest", "-X", fmt.Sprint("session.timeout.ms=", sessionMs(instance)),
		"-X", "heartbeat.interval.ms=500", "-X", "auto.commit.interval.ms=200", "-X", "partition.assignment.strategy=" + map[string]string{"eager": "range", "cooperative": "cooperative-sticky"}[g.rule]}
	if instance != "" {
		args = append(args, "-X", "group.instance.id="+instance)
	}
	return g.program(itself, needs(g.T, "kcat", "KZ_REQUIRE_KCAT"), append(args, g.name)...)
}

// joinPython needs a Python with the module kafka: $KZ_PYTHON, or python3.
func joinPython(g *foreignGroup, instance string) (leave, kill func()) {
	python := os.Getenv("KZ_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import kafka.coordinator.assignors.cooperative_sticky").Run(); err != nil {
		if os.Getenv("KZ_REQUIRE_PYTHON") == "1" {
			g.Fatalf("KZ_REQUIRE_PYTHON=1, but %s has no kafka-python of version 3", python)
		}
		g.Skipf("needs kafka-python 3 (pip install kafka-python; KZ_PYTHON says which python): %v", err)
	}
	return g.program(itself, python, filepath.Join("testdata", "member.py"), strings.Join(g.seeds, ","), g.name, g.name, instance, g.rule, fmt.Sprint(sessionMs(instance)))
}

// joinJava needs Apache Kafka's console consumer.
func joinJava(g *foreignGroup, instance string) (leave, kill func()) {
	args := []string{"kafka-console-consumer", "--bootstrap-server", strings.Join(g.seeds, ","), "--topic", g.name, "--group", g.name, "--from-beginning"}
	props := []string{fmt.Sprint("session.timeout.ms=", sessionMs(instance)), "heartbeat.interval.ms=500", "auto.commit.interval.ms=200",
		"partition.assignment.strategy=org.apache.kafka.clients.consumer." + map[string]string{"eager": "RangeAssignor", "cooperative": "CooperativeStickyAssignor"}[g.rule]}
	if instance != "" {
		props = append(props, "group.instance.id="+instance)
	}
	for _, p := range props {
		args = append(args, "--consumer-property", p)
	}
	return g.program(itself, clustertest.ReferenceKafka(g.T), args...)
}

// joinJavaVerifiable needs Apache Kafka's verifiable consumer, which commits what it read after each poll.
func joinJavaVerifiable(g *foreignGroup, instance string) (leave, kill func()) {
	config := filepath.Join(g.TempDir(), "consumer.properties")
	if err := os.WriteFile(config, []byte("heartbeat.interval.ms=500\n"), 0o644); err != nil {
		g.Fatal(err)
	}
	args := []string{"kafka-verifiable-consumer", "--bootstrap-server", strings.Join(g.seeds, ","), "--topic", g.name, "--group-id", g.name, "--verbose",
		"--session-timeout", fmt.Sprint(sessionMs(instance)), "--consumer.config", config}
	if instance != "" {
		args = append(args, "--group-instance-id", instance)
	}
	event := func(line string) (string, bool) {
		var e struct{ Name, Value string }
		err := json.Unmarshal([]byte(line), &e)
		return e.Value, err == nil && e.Name == "record_data"
	}
	return g.program(event, clustertest.ReferenceKafka(g.T), args...)
}

// wires are the connections of a client in this process, which can be cut for good: to the broker it is
// then as dead as after kill -9.
type wires struct {
	mu   sync.Mutex // guards what follows
	cut  bool
	open []net.Conn
}

func (w *wires) Dial(network, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.New("cut")
	}
	conn, err := net.Dial(network, addr)
	if err == nil {
		w.open = append(w.open, conn)
	}
	return conn, err
}

func (w *wires) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	for _, conn := range w.open {
		conn.Close()
	}
}

func joinKgo(g *foreignGroup, instance string) (leave, kill func()) {
	w := &wires{}
	balancer := kgo.RangeBalancer()
	if g.rule == "cooperative" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	opts := []kgo.Opt{kgo.SeedBrokers(g.seeds...), kgo.ConsumerGroup(g.name), kgo.ConsumeTopics(g.name), kgo.Balancers(balancer), kgo.SessionTimeout(time.Duration(sessionMs(instance)) * time.Millisecond),
		kgo.HeartbeatInterval(500 * time.Millisecond), kgo.AutoCommitInterval(200 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Dialer(func(_ context.Context, network, addr string) (net.Conn, error) { return w.Dial(network, addr) })}
	if instance != "" {
		opts = append(opts, kgo.InstanceID(instance))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		g.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { g.saw(string(r.Value)) })
		}
	}()
	leave = func() {
		cancel()
		<-done
		if err := cl.CommitUncommittedOffsets(context.Background()); err != nil { // by itself it commits what the poll before gave
			g.Errorf("kgo: %v", err)
		}
		cl.Close()
	}
	kill = func() {
		w.kill()
		cancel()
		<-done
		cl.Close()
	}
	return g.onLeave(leave, kill)
}

func joinSarama(g *foreignGroup, instance string) (leave, kill func()) {
	w := &wires{}
	cfg := sarama.NewConfig()
	cfg.Version = sarama.V2_8_0_0
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	cfg.Consumer.Group.Session.Timeout, cfg.Consumer.Group.Heartbeat.Interval = time.Duration(sessionMs(instance))*time.Millisecond, 500*time.Millisecond
	cfg.Consumer.Group.InstanceId = instance
	cfg.Net.Proxy.Enable, cfg.Net.Proxy.Dialer = true, w
	member, err := sarama.NewConsumerGroup(g.seeds, g.name, cfg)
	if err != nil {
		g.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = member.Consume(ctx, []string{g.name}, saramaPrinter{g}) // joins again after what went wrong
		}
	}()
	end := func(first func()) func() {
		return func() {
			first()
			cancel()
			<-done
			_ = member.Close()
		}
	}
	return g.onLeave(end(func() {}), end(w.kill))
}

type saramaPrinter struct{ g *foreignGroup }

func (saramaPrinter) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaPrinter) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (p saramaPrinter) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		p.g.saw(string(m.Value))
		s.MarkMessage(m, "")
	}
	return nil
}
