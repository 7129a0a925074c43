package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// kcatPath finds kcat, or skips; KZ_REQUIRE_KCAT=1 forbids the skip.
func kcatPath(t *testing.T) string {
	t.Helper()
	kcat, err := exec.LookPath("kcat")
	if err != nil {
		if os.Getenv("KZ_REQUIRE_KCAT") == "1" {
			t.Fatal(err)
		}
		t.Skip("kcat is not installed")
	}
	return kcat
}

// readers counts who read what.
type readers struct {
	mu sync.Mutex // guards by
	by map[string][]string
}

func (r *readers) saw(value, reader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[value] = append(r.by[value], reader)
}

func (r *readers) count() (values int, each map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	each = map[string]int{}
	for _, names := range r.by {
		for _, n := range names {
			each[n]++
		}
	}
	return len(r.by), each
}

// saramaMember reads until ctx ends, as a static member.
func (r *readers) saramaMember(ctx context.Context, t *testing.T, seeds []string, done func()) {
	cfg := sarama.NewConfig()
	cfg.Version = sarama.V2_8_0_0
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	cfg.Consumer.Group.InstanceId = "the-static-one"
	g, err := sarama.NewConsumerGroup(seeds, "g", cfg)
	if err != nil {
		t.Error(err)
		done()
		return
	}
	go func() {
		defer done()
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{"orders"}, saramaHandler{r}); err != nil && ctx.Err() == nil {
				t.Errorf("sarama: %v", err)
				return
			}
		}
		if err := g.Close(); err != nil {
			t.Errorf("sarama: %v", err)
		}
	}()
}

type saramaHandler struct{ r *readers }

func (saramaHandler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (h saramaHandler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		h.r.saw(string(m.Value), "sarama")
		s.MarkMessage(m, "")
	}
	return nil
}

// One group of three kinds of clients, which agree on range: each gets its four of twelve
// partitions, and what they commit adds up.
func TestGroupOfThreeKinds(t *testing.T) {
	kcat := kcatPath(t)
	r := newRig(t)
	nodes := r.threeBrokers()
	c := r.client(nodes)
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(t.Context(), 12, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	seen := &readers{by: map[string][]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })

	franz := r.client(nodes, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.Balancers(kgo.RangeBalancer()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(200*time.Millisecond))
	running.Go(func() {
		for {
			fetches := franz.PollFetches(ctx)
			if fetches.IsClientClosed() || ctx.Err() != nil { // r.client closes it, and twice at once is a race
				return
			}
			fetches.EachRecord(func(rec *kgo.Record) { seen.saw(string(rec.Value), "kgo") })
		}
	})
	running.Add(1)
	seen.saramaMember(ctx, t, []string{addrOf(nodes[0])}, running.Done)
	cmd := exec.CommandContext(ctx, kcat, "-b", addrOf(nodes[0]), "-G", "g", "-q", "-u", "-X", "auto.offset.reset=earliest",
		"-X", "partition.assignment.strategy=range", "-X", "auto.commit.interval.ms=200", "orders")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			seen.saw(lines.Text(), "kcat")
		}
		_ = cmd.Wait() // interrupted
	})

	eventually(t, "three members", func() bool {
		groups, err := admin.DescribeGroups(t.Context(), "g")
		return err == nil && groups["g"].State == "Stable" && len(groups["g"].Members) == 3
	})
	const n = 240
	for i := range n {
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is read", func() bool { values, _ := seen.count(); return values == n })
	eventually(t, "all is committed", func() bool { return committed(t.Context(), admin) == n })
	if _, each := seen.count(); each["kgo"] != n/3 || each["kcat"] != n/3 || each["sarama"] != n/3 {
		t.Errorf("read by each: %v", each)
	}
}

// kcat, which is librdkafka: a group reads all, commits, and a second one of its name goes
// on where the first ended.
func TestKcatGroup(t *testing.T) {
	kcat := kcatPath(t)
	r := newRig(t)
	nodes := r.threeBrokers("kz.offsets.dual.commit=true")
	c := r.client(nodes)
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(t.Context(), 4, 3, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	read := func(from, n int) {
		t.Helper()
		want := map[string]bool{}
		for i := range n {
			value := fmt.Sprint(from + i)
			want[value] = true
			if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, kcat, "-b", addrOf(nodes[0]), "-G", "g", "-q", "-c", fmt.Sprint(n), "-X", "auto.offset.reset=earliest", "orders")
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			errors.As(err, &exit)
			t.Fatalf("kcat: %v %s", err, exit.Stderr)
		}
		for _, line := range strings.Fields(string(out)) {
			delete(want, line)
		}
		if len(want) > 0 {
			t.Errorf("kcat did not read %v", want)
		}
		if got := committed(t.Context(), admin); got != int64(from+n) {
			t.Errorf("committed %d of %d", got, from+n)
		}
	}
	read(0, 100)
	read(100, 50)
	sum := 0
	for p := range int32(4) {
		n := 0
		fmt.Sscan(r.get(fmt.Sprintf("/consumers/g/offsets/orders/%d", p)), &n)
		sum += n
	}
	if sum != 150 {
		t.Errorf("in ZooKeeper the offsets add up to %d", sum)
	}
	groups, err := admin.DescribeGroups(t.Context(), "g")
	if err != nil || groups["g"].State != "Empty" {
		t.Errorf("%+v %v", groups, err)
	}
}
