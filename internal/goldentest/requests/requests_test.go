package requests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// The tests wait most of the time, so they run side by side even where they have one CPU.
func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

// kz is the controller and brokers 1 and 2; broker 9 is foreign. Phases 1 to 11 of the captured
// conversation, in a row, without 4.
func TestControllerToForeignBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: the controller's stories play these phases in memory")
	}
	t.Parallel()
	server := zktest.Start(t)
	c := clustertest.NewProcesses(t, server.Addr)
	props := map[string]string{"zookeeper.session.timeout.ms": "4000", "zookeeper.connection.timeout.ms": "60000", "auto.leader.rebalance.enable": "false", "replica.lag.time.max.ms": "8000"}
	for id := range int32(2) {
		c.Add(id+1, props).StartServing()
	}
	znodes := clustertest.Znodes(t, server.Addr)
	cl := c.Client()
	create := func(topic string, assignment ...[]int32) {
		t.Helper()
		must(t, clustertest.CreateAssigned(cl, topic, assignment))
	}
	create("pre", []int32{1, 2}, []int32{2, 1})
	clustertest.AwaitISRStored(t, znodes, "pre", 2, 2, 90*time.Second)

	nine := &phases{t: t, b: listen(t), golden: readGolden(t), sheet: fidelity.Open(t, "requests/lives")}
	nine.phase("1", func() { nine.epoch = register(t, znodes, 9, nine.b.addr) })
	nine.phase("2", func() {
		create("m", []int32{1, 9}, []int32{9, 1}, []int32{1, 2}, []int32{2, 9})
		follow(t, cl, 1, "m", 0, 0)
		follow(t, cl, 2, "m", 3, 0)
	})
	nine.phase("3", func() { produce(t, c.Nodes[1], "m", 2, 1000) })
	nine.phase("5", func() { addPartition(t, c, "m", 5, []int32{9, 2}) })
	nine.phase("6", func() {
		out, err := exec.Command(clustertest.Binary(t), "topics", "--zookeeper", server.Addr, "--alter", "--topic", "m", "--config", "retention.ms=86400000").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	nine.phase("7", func() { c.Nodes[2].Kill() })
	nine.phase("8", func() {
		c.Nodes[2].StartServing()
		for _, p := range []int32{4, 3} { // as its leader broker 9 takes broker 2 back
			setISR(t, znodes, "m", p, 9, 2)
		}
		_, err := znodes.CreateSequential(context.Background(), zkpaths.ISRChangePrefix,
			zkpaths.EncodeISRChange([]zkpaths.TopicPartition{{Topic: "m", Partition: 4}, {Topic: "m", Partition: 3}}))
		must(t, err)
	})
	nine.phase("9", func() {
		must(t, znodes.Do(context.Background(), zk.CreateOp(zkpaths.PreferredReplicaElection, []byte(`{"version":1,"partitions":[`+
			`{"topic":"pre","partition":0},{"topic":"pre","partition":1},{"topic":"m","partition":0},{"topic":"m","partition":1},`+
			`{"topic":"m","partition":2},{"topic":"m","partition":3},{"topic":"m","partition":4}]}`)))[0].Err)
		follow(t, cl, 2, "m", 3, 0)
	})
	// Broker 9 does not fetch any more; with records there, that is being out of sync.
	nine.mergedPhase("10", func() { produce(t, c.Nodes[1], "m", 0, 50); produce(t, c.Nodes[2], "m", 3, 50) })
	nine.mergedPhase("11", func() {
		follow(t, cl, 2, "m", 3, 50)
		follow(t, cl, 1, "m", 0, 50)
	})
	nine.onOneConnection()
}

// phases compares what broker 9 gets, phase after phase.
type phases struct {
	t      *testing.T
	b      *foreignBroker
	golden map[string][]string
	epoch  int64 // of broker 9's registration
	before int   // how many requests there were when the phase began
	sheet  *fidelity.Sheet
}

// phase does the acts and compares the requests that come of them, in order.
func (n *phases) phase(name string, act func()) {
	n.t.Helper()
	n.compare(name, act, func(texts []string) []string { return texts })
}

// mergedPhase is one in which two leaders announce something at about the same time: which of the
// requests says what is chance, and whether one says both.
func (n *phases) mergedPhase(name string, act func()) {
	n.t.Helper()
	n.compare(name, act, merged)
}

// compare waits for the captured requests, and then whether nothing follows.
func (n *phases) compare(name string, act func(), normalised func([]string) []string) {
	n.t.Helper()
	golden, there := n.golden[name]
	if !there {
		n.t.Fatalf("no captured phase %s", name)
	}
	want := normalised(golden)
	n.before = len(n.b.since(0))
	act()
	var got []received
	var texts []string
	var stable time.Time
	deadline := time.Now().Add(90 * time.Second)
	clustertest.Eventually(n.t, 2*time.Minute, "phase "+name, func() (bool, string) {
		if now := n.b.since(n.before); len(now) != len(got) || stable.IsZero() {
			got, stable, texts = now, time.Now(), nil
			for _, r := range got {
				texts = append(texts, r.text)
			}
			texts = normalised(texts)
		}
		done := slices.Equal(want, texts) && time.Since(stable) > time.Second
		return done || time.Now().After(deadline), "still waiting"
	})
	for _, r := range got {
		if r.epoch != n.epoch {
			n.t.Errorf("phase %s: broker epoch %d, the registration's czxid is %d: %s", name, r.epoch, n.epoch, r.text)
		}
	}
	if d := cmp.Diff(want, texts); d != "" {
		n.t.Errorf("phase %s (- Kafka, + kz):\n%s", name, d)
	}
	n.sheet.Add("phase "+name, "as processes", fidelity.Same, "")
}

// await waits, inside a phase, until it has seen so many requests.
func (n *phases) await(count int) {
	n.t.Helper()
	clustertest.Eventually(n.t, 90*time.Second, fmt.Sprintf("request %d of the phase", count), func() (bool, string) {
		got := n.b.since(n.before)
		return len(got) >= count, fmt.Sprintf("%d came", len(got))
	})
}

// quiet waits until no request has come for a second.
func (n *phases) quiet() {
	n.t.Helper()
	last, since := -1, time.Now()
	clustertest.Eventually(n.t, 90*time.Second, "an end of requests", func() (bool, string) {
		if now := len(n.b.since(0)); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > time.Second, "still coming"
	})
}

// merged is one line for all requests that differ in nothing but their entries.
func merged(texts []string) (out []string) {
	entries := map[string][]string{}
	for _, text := range texts {
		frame := entry.ReplaceAllString(text, "")
		entries[frame] = append(entries[frame], entry.FindAllString(text, -1)...)
	}
	for frame, es := range entries {
		slices.Sort(es)
		out = append(out, strings.Join(strings.Fields(frame), " ")+": "+strings.Join(slices.Compact(es), " "))
	}
	slices.Sort(out)
	return out
}

// onOneConnection: everything from one controller came on one connection, one request at a time, with
// correlation ids from 0 on and the controller's id as client id.
func (n *phases) onOneConnection() {
	n.t.Helper()
	all := n.b.since(0)
	for i, r := range all {
		if r.conn != all[0].conn || r.header.CorrelationID != int32(i) || r.header.ClientID != "1" {
			n.t.Errorf("request %d: another connection: %v, correlation id %d, client id %q", i, r.conn != all[0].conn, r.header.CorrelationID, r.header.ClientID)
		}
	}
}

var (
	entry  = regexp.MustCompile(`[a-z0-9]+-\d+\{[^}]*\}`)
	idList = regexp.MustCompile(`(live|liveLeaders) \[([\d,]*)\]$`)
)

// readGolden reads the captured requests by phase, entries and brokers inside each sorted.
func readGolden(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("../../../controller/testdata/golden-requests.txt")
	must(t, err)
	out := map[string][]string{}
	phase := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "## "); ok {
			phase, _, _ = strings.Cut(rest, " ")
			out[phase] = nil
			continue
		}
		head, rest, ok := strings.Cut(line, "; ")
		if !ok || phase == "" {
			continue
		}
		entries := entry.FindAllString(rest, -1)
		if len(entries) == 0 {
			entries = []string{"no partitions;"}
		}
		slices.Sort(entries)
		tail := ""
		if m := idList.FindStringSubmatch(rest); m != nil {
			ids := strings.Split(m[2], ",")
			slices.Sort(ids)
			tail = m[1] + " [" + strings.Join(ids, ",") + "]"
		}
		out[phase] = append(out[phase], head+"; "+strings.Join(entries, " ")+" "+tail)
	}
	return out
}
