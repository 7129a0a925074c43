//go:build unix

package mixedtest_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client"
	"kz/client/admin"
	"kz/client/consumer"
	"kz/internal/clustertest"
)

// The coordinator of one kind dies, the other kind loads its group and goes on: there and back, with
// members of kz's client, of franz-go's and of Java's, and one that is just joining. Nothing is skipped,
// no committed offset goes back, and the tools of both kinds say the same of the group.
func TestGroupMovesBetweenKinds(t *testing.T) {
	x := newCell(t, clustertest.KZ, clustertest.Kafka)
	must(t, clustertest.CreateAssigned(x.cl, "__consumer_offsets", [][]int32{{1, 2}}, "cleanup.policy", "compact"))
	x.create("grouped", groupParts, 2)
	x.topics = append(x.topics, "__consumer_offsets")
	x.settled()
	g := &sharedGroup{cell: x, admin: admin.New(client.DefaultConfig(x.c.Seeds()...)), read: map[string]int{}, acked: map[int32]int64{}}
	t.Cleanup(g.admin.Close)
	g.joinKz("kz-1")
	g.joinFranz("franz-1")
	g.joinJava()
	g.stable(3)
	g.producedAndRead()
	for round := range clustertest.Rounds(t, 2) {
		coordinator := x.c.Nodes[g.coordinator()]
		before := g.committed()
		joins := make(chan struct{})
		go func() { defer close(joins); g.joinKz(fmt.Sprint("kz-", round+2)) }()
		x.Logf("round %d: kill -9 of broker %d (%s), the coordinator, while a member joins", round, coordinator.ID, coordinator.Kind)
		coordinator.Kill()
		<-joins
		eventually(t, 60*time.Second, "the other kind to be the coordinator", func() (bool, string) {
			return g.coordinator() != coordinator.ID, ""
		})
		g.stable(4 + round)
		g.producedAndRead()
		g.notBack(before)
		coordinator.StartServing()
		x.settled()
		g.saysTheSame()
	}
	g.leave()
	for _, topic := range x.topics {
		x.c.ReplicasEqual(x.cl, topic, 60*time.Second)
	}
	uncomplaining(t, x.c)
	kzErrors(t, x.c)
	again := 0
	for _, n := range g.read {
		again += n - 1
	}
	// scripts/mixed.sh gathers these lines.
	t.Logf("figures: %d coordinators killed, %d records read, 0 skipped, %d read again, no committed offset went back", clustertest.Rounds(t, 2), len(g.read), again)
}

const groupParts = 6

// A sharedGroup is one consumer group and what its members did.
type sharedGroup struct {
	*cell
	admin *admin.Admin
	stops []func()

	mu    sync.Mutex // guards what follows
	sent  int
	read  map[string]int  // value -> how often
	acked map[int32]int64 // the largest offset whose commit was acknowledged
}

func (g *sharedGroup) note(values ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range values {
		g.read[v]++
	}
}

func (g *sharedGroup) noteCommit(partition int32, at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acked[partition] = max(g.acked[partition], at)
}

// joinKz adds a member of kz's client, which commits what it has read after each poll.
func (g *sharedGroup) joinKz(name string) {
	cc := client.DefaultConfig(g.c.Seeds()...)
	cc.ClientID = name
	cfg := consumer.DefaultConfig(cc)
	cfg.Group, cfg.AutoCommit, cfg.HeartbeatInterval = "g", false, 500*time.Millisecond
	c := consumer.New(cfg)
	must(g.T, c.Subscribe([]string{"grouped"}, consumer.Listener{}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer c.Close()
		for ctx.Err() == nil {
			fetched, err := c.Poll(ctx)
			if err != nil && ctx.Err() == nil {
				g.Errorf("%s: %v", name, err)
				return
			}
			offsets := consumer.Offsets{}
			for _, f := range fetched {
				for r, err := range f.Records() {
					if err != nil {
						g.Errorf("%s: %v", name, err)
					}
					g.note(string(r.Value))
				}
				offsets[f.Partition] = consumer.Offset{At: f.To, LeaderEpoch: -1}
			}
			if len(offsets) > 0 && c.CommitOffsets(ctx, offsets) == nil { // one that a rebalance refuses is not acknowledged
				for p, o := range offsets {
					g.noteCommit(p.Partition, o.At)
				}
			}
		}
	}()
	g.onLeave(func() { cancel(); <-done })
}

func (g *sharedGroup) onLeave(stop func()) {
	g.mu.Lock()
	g.stops = append(g.stops, stop)
	g.mu.Unlock()
	g.Cleanup(stop)
}

func (g *sharedGroup) joinFranz(name string) {
	cl := g.c.Client(kgo.ClientID(name), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("grouped"), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(500*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			ends := map[int32]kgo.EpochOffset{}
			fetches.EachRecord(func(r *kgo.Record) {
				g.note(string(r.Value))
				ends[r.Partition] = kgo.EpochOffset{Epoch: -1, Offset: r.Offset + 1}
			})
			if len(ends) == 0 {
				continue
			}
			cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{"grouped": ends}, nil)
			for p, o := range cl.CommittedOffsets()["grouped"] { // what was acknowledged, and is still ours
				if o.Offset == ends[p].Offset {
					g.noteCommit(p, o.Offset)
				}
			}
		}
	}()
	g.onLeave(func() { cancel(); <-done; cl.Close() })
}

// joinJava adds a console consumer of Kafka 2.8.2, which commits each second. Java's client forgets the
// brokers that its last metadata does not list, and never asks the first ones again: it must look often.
func (g *sharedGroup) joinJava() {
	cmd := exec.Command(clustertest.ReferenceKafka(g.T), "kafka-console-consumer", "--bootstrap-server", strings.Join(g.c.Seeds(), ","), "--topic", "grouped", "--group", "g",
		"--from-beginning", "--consumer-property", "auto.commit.interval.ms=1000", "--consumer-property", "metadata.max.age.ms=1000", "--consumer-property", "heartbeat.interval.ms=500")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the script has java for a child
	out, err := cmd.StdoutPipe()
	must(g.T, err)
	must(g.T, cmd.Start())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			g.note(lines.Text())
		}
	}()
	g.onLeave(sync.OnceFunc(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		<-done
		_ = cmd.Wait()
	}))
}

// leave ends all members.
func (g *sharedGroup) leave() {
	for _, stop := range g.stops {
		stop()
	}
}

// coordinator is the broker that is asked now, or 0.
func (g *sharedGroup) coordinator() int32 {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b, err := g.admin.Coordinator(ctx, "g")
	if err != nil {
		return 0
	}
	return b.ID
}

// stable waits until the group rests with n members.
func (g *sharedGroup) stable(n int) {
	g.Helper()
	eventually(g.T, 3*time.Minute, fmt.Sprintf("a group of %d", n), func() (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		d, err := g.admin.DescribeGroup(ctx, "g")
		var who []string
		for _, m := range d.Members {
			who = append(who, m.ClientID)
		}
		return err == nil && d.State == "Stable" && len(who) == n, fmt.Sprint(d.State, who, err)
	})
}

// producedAndRead sends to each partition and waits until every record ever sent was read.
func (g *sharedGroup) producedAndRead() {
	g.Helper()
	cl := g.c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	var records []*kgo.Record
	g.mu.Lock()
	for range 50 {
		for p := range int32(groupParts) {
			records = append(records, &kgo.Record{Topic: "grouped", Partition: p, Value: fmt.Appendf(nil, "value-%d", g.sent)})
			g.sent++
		}
	}
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(g.Context(), 60*time.Second)
	defer cancel()
	must(g.T, cl.ProduceSync(ctx, records...).FirstErr())
	eventually(g.T, 3*time.Minute, "everything to be read", func() (bool, string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.read) == g.sent, fmt.Sprintf("%d of %d", len(g.read), g.sent)
	})
}

// committed asks the coordinator.
func (g *sharedGroup) committed() map[int32]int64 {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), 60*time.Second)
	defer cancel()
	offsets, err := g.admin.GroupOffsets(ctx, "g")
	must(g.T, err)
	out := map[int32]int64{}
	for p, o := range offsets {
		out[p.Partition] = o.Offset
	}
	return out
}

// notBack holds what is committed now against what was before, and against every acknowledged commit.
func (g *sharedGroup) notBack(before map[int32]int64) {
	g.Helper()
	g.mu.Lock()
	acked := maps.Clone(g.acked)
	g.mu.Unlock()
	now := g.committed()
	for p := range int32(groupParts) {
		if now[p] < before[p] || now[p] < acked[p] {
			g.Errorf("grouped-%d: %d is committed; it was %d, and %d was acknowledged", p, now[p], before[p], acked[p])
		}
	}
}

// spaces are how the tools make columns: as wide as they need.
var spaces = regexp.MustCompile(` +`)

// saysTheSame waits until the tools of both kinds print the same lines, whomever they ask.
func (g *sharedGroup) saysTheSame() {
	g.Helper()
	eventually(g.T, 3*time.Minute, "both tools to say the same", func() (bool, string) {
		var first, at string
		for _, n := range g.c.Sorted() {
			args := []string{"--bootstrap-server", n.Addr, "--describe", "--group", "g"}
			for tool, out := range map[string]string{
				"kz consumer-groups":    output(g.T, clustertest.Binary(g.T), append([]string{"consumer-groups"}, args...)...),
				"kafka-consumer-groups": output(g.T, clustertest.ReferenceKafka(g.T), append([]string{"kafka-consumer-groups"}, args...)...),
			} {
				lines := sortedLines(spaces.ReplaceAllString(out, " "))
				if at = fmt.Sprintf("%s at broker %d (%s)", tool, n.ID, n.Kind); first == "" {
					first = lines
				} else if lines != first {
					return false, fmt.Sprintf("%s says\n%s\nanother said\n%s", at, lines, first)
				}
				if strings.Count(lines, "\ng grouped ") != groupParts {
					return false, fmt.Sprintf("%s says\n%s", at, lines)
				}
			}
		}
		return true, ""
	})
}
