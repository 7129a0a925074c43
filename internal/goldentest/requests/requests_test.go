package requests

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// kz is the controller and brokers 1 and 2; broker 9 is foreign. Phases 1, 2, 5, 7, 8 and 9 of the
// captured conversation, in a row.
func TestControllerToForeignBroker(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: the controller's stories play these phases in memory")
	}
	server := zktest.Start(t)
	c := clustertest.NewProcesses(t, server.Addr)
	props := map[string]string{"zookeeper.session.timeout.ms": "4000", "zookeeper.connection.timeout.ms": "60000", "auto.leader.rebalance.enable": "false"}
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
	clustertest.AwaitISRStored(t, znodes, "pre", 2, 2, 30*time.Second)

	nine := &phases{t: t, b: listen(t), golden: readGolden(t), sheet: fidelity.Open(t, "requests/processes")}
	nine.phase("1", func() { nine.epoch = register(t, znodes, 9, nine.b.l.Addr()) })
	nine.phase("2", func() { create("m", []int32{1, 9}, []int32{9, 1}, []int32{1, 2}, []int32{2, 9}) })
	nine.phase("5", func() { addPartition(t, c, "m", 5, []int32{9, 2}) })
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
	})
	nine.onOneConnection()
}

// phases compares what broker 9 gets, phase after phase.
type phases struct {
	t      *testing.T
	b      *foreignBroker
	golden map[string][]string
	epoch  int64 // of broker 9's registration
	sheet  *fidelity.Sheet
}

func (n *phases) phase(name string, act func()) {
	n.t.Helper()
	want := n.golden[name]
	if len(want) == 0 {
		n.t.Fatalf("no captured phase %s", name)
	}
	before := len(n.b.since(0))
	act()
	var got []received
	var stable time.Time
	deadline := time.Now().Add(40 * time.Second)
	clustertest.Eventually(n.t, 60*time.Second, "phase "+name, func() (bool, string) {
		if now := n.b.since(before); len(now) != len(got) || stable.IsZero() {
			got, stable = now, time.Now()
		}
		done := len(got) >= len(want) && time.Since(stable) > time.Second
		return done || time.Now().After(deadline), "still waiting"
	})
	var texts []string
	for _, r := range got {
		texts = append(texts, r.text)
		if r.epoch != n.epoch {
			n.t.Errorf("phase %s: broker epoch %d, the registration's czxid is %d: %s", name, r.epoch, n.epoch, r.text)
		}
	}
	if d := cmp.Diff(want, texts); d != "" {
		n.t.Errorf("phase %s (- Kafka, + kz):\n%s", name, d)
	}
	n.sheet.Add("phase "+name, "as processes", fidelity.Same, "")
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

func register(t *testing.T, znodes *zk.Client, id int32, addr net.Addr) (epoch int64) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr.String())
	must(t, err)
	data := fmt.Sprintf(`{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:%s"],"jmx_port":-1,"port":%s,"host":"127.0.0.1","version":4,"timestamp":"%s"}`,
		port, port, strconv.FormatInt(time.Now().UnixMilli(), 10))
	stat, err := znodes.CreateEphemeral(context.Background(), zkpaths.Broker(id), []byte(data))
	must(t, err)
	return stat.Czxid
}

func addPartition(t *testing.T, c *clustertest.Processes, topic string, total int32, replicas []int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, total
	ra := kmsg.NewCreatePartitionsRequestTopicAssignment()
	ra.Replicas = replicas
	rt.Assignment = append(rt.Assignment, ra)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 20000
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.Client())
	must(t, err)
	if r := resp.Topics[0]; r.ErrorCode != 0 {
		t.Fatalf("CreatePartitions: error %d", r.ErrorCode)
	}
}

// setISR is a leader's write of its ISR.
func setISR(t *testing.T, znodes *zk.Client, topic string, p int32, isr ...int32) {
	t.Helper()
	ctx := context.Background()
	path := zkpaths.PartitionStatePath(topic, p)
	data, stat, err := znodes.Get(ctx, path)
	must(t, err)
	s, err := zkpaths.DecodePartitionState(data)
	must(t, err)
	s.ISR = isr
	_, err = znodes.Set(ctx, path, s.Encode(), stat.Version)
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
