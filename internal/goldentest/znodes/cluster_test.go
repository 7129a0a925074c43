package znodes

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zk"
	"kz/internal/zkrelay"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// Groups wait most of the time (for sessions to end, for ISR notices), so they run side by side even
// where the tests have one CPU.
func TestMain(m *testing.M) {
	clustertest.SideBySide("3")
	clustertest.Main(m)
}

// within is how long anything may take: it is there to end a test that waits for ever, not to measure.
const within = 2 * time.Minute

// base is what most captures were made with.
var base = map[string]string{
	"zookeeper.session.timeout.ms":    "6000",
	"zookeeper.connection.timeout.ms": "60000",
	"auto.leader.rebalance.enable":    "false",
}

// A cluster is one group's ZooKeeper, relay and brokers.
type cluster struct {
	t      *testing.T
	server *zktest.Server
	relay  *zkrelay.Relay
	procs  *clustertest.Processes
	dups   *clustertest.Processes // second processes with an id that is in use
	props  map[string]string
	chroot string
	nodes  map[string]*clustertest.Node
	znodes *zk.Client
	ports  []string // pairs for a Replacer: kz's port, the captured one
	mark   int64    // zxid at the step's beginning
	sheet  *fidelity.Sheet
}

func newCluster(t *testing.T, props ...string) *cluster {
	t.Helper()
	if testing.Short() && t.Name() != "TestStartAndTopics" {
		t.Skip("with -short (the run with the race detector) only the first group")
	}
	sheet := fidelity.Open(t, "znodes/"+strings.TrimPrefix(t.Name(), "Test"))
	c := &cluster{t: t, sheet: sheet, server: zktest.Start(t), props: maps.Clone(base), nodes: map[string]*clustertest.Node{}}
	for i := 0; i+1 < len(props); i += 2 {
		c.props[props[i]] = props[i+1]
	}
	c.relay = zkrelay.New(c.server.Addr)
	t.Cleanup(c.relay.Close)
	c.procs = clustertest.NewProcesses(t, c.server.Addr)
	c.dups = clustertest.NewProcesses(t, c.server.Addr)
	c.znodes = clustertest.Znodes(t, c.server.Addr)
	return c
}

// broker is the node of that name, broker-N or broker-N-dup; the first call makes it.
func (c *cluster) broker(name string, props ...string) *clustertest.Node {
	c.t.Helper()
	if n, ok := c.nodes[name]; ok {
		return n
	}
	var id int32
	if _, err := fmt.Sscanf(name, "broker-%d", &id); err != nil {
		c.t.Fatal(err)
	}
	all := maps.Clone(c.props)
	all["zookeeper.connect"] = c.door(name) + c.chroot
	for i := 0; i+1 < len(props); i += 2 {
		all[props[i]] = props[i+1]
	}
	procs, captured := c.procs, 19100+id
	if strings.HasSuffix(name, "-dup") {
		procs, captured = c.dups, 19150+id
	}
	n := procs.Add(id, all)
	_, port, _ := net.SplitHostPort(n.Addr)
	c.samePort(port, int(captured))
	c.nodes[name] = n
	return n
}

// samePort says which captured port stands for one of kz's.
func (c *cluster) samePort(port string, captured int) {
	for _, form := range []string{"127.0.0.1:%s\"", "\"port\":%s,"} {
		c.ports = append(c.ports, fmt.Sprintf(form, port), fmt.Sprintf(form, strconv.Itoa(captured)))
	}
}

func (c *cluster) door(who string) string {
	c.t.Helper()
	addr, err := c.relay.Door(who)
	if err != nil {
		c.t.Fatal(err)
	}
	return addr
}

var startedLine = regexp.MustCompile(`(?m)^.{12} INF started `)

// start starts brokers one after the other and waits until each serves; false: the process ended.
func (c *cluster) start(names ...string) (ok bool) {
	c.t.Helper()
	for _, name := range names {
		n := c.broker(name)
		before := 0
		if b, err := os.ReadFile(n.Log); err == nil {
			before = len(b)
		}
		n.Start()
		clustertest.Eventually(c.t, within, name+" to start, or to end", func() (bool, string) {
			running := n.Running()
			b, err := os.ReadFile(n.Log)
			if err != nil {
				return false, err.Error()
			}
			ok = startedLine.Match(b[before:])
			return ok || !running, "neither"
		})
		if !ok {
			return false
		}
	}
	return true
}

// logged waits until a broker's log has these words.
func (c *cluster) logged(name, words string) {
	c.t.Helper()
	clustertest.Eventually(c.t, within, name+" to log "+words, func() (bool, string) {
		b, err := os.ReadFile(c.nodes[name].Log)
		return err == nil && strings.Contains(string(b), words), fmt.Sprint(err)
	})
}

// pause freezes a broker and waits until all its threads stand still: the signal goes to one of them,
// and where the CPU is busy the others may run on for a while, and fetch.
func (c *cluster) pause(n *clustertest.Node) {
	c.t.Helper()
	n.Pause()
	clustertest.Eventually(c.t, within, "a process to stand still", func() (bool, string) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", n.Pid()))
		for _, path := range threads { // none where the system has no /proc
			b, err := os.ReadFile(path)
			if err != nil {
				continue // it has ended
			}
			if _, state, ok := strings.Cut(string(b), ") "); !ok || state[0] != 'T' {
				return false, string(b)
			}
		}
		return err == nil, fmt.Sprint(err)
	})
}

// mustStart is start where nothing may fail.
func (c *cluster) mustStart(names ...string) {
	c.t.Helper()
	if !c.start(names...) {
		c.t.Fatalf("one of %v ended while starting", names)
	}
}

// topic creates a topic as an unobserved preparation and waits until each leader takes a record.
func (c *cluster) topic(name string, assignment ...[]int32) {
	c.t.Helper()
	c.create(name, assignment)
	clustertest.AwaitISRStored(c.t, c.znodes, name, int32(len(assignment)), len(assignment[0]), within)
	for p, replicas := range assignment {
		c.produce(fmt.Sprintf("broker-%d", replicas[0]), name, int32(p), 1)
	}
}

func (c *cluster) create(name string, assignment [][]int32, configs ...string) {
	c.t.Helper()
	if err := clustertest.CreateAssigned(c.procs.Client(), name, assignment, configs...); err != nil {
		c.t.Fatal(err)
	}
}

// produce sends n records with acks=1 to a broker, until it takes them as the leader.
func (c *cluster) produce(leader, topic string, partition int32, n int) {
	c.t.Helper()
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("record-%d", i))
	}
	clustertest.Eventually(c.t, within, fmt.Sprintf("%s to lead %s-%d", leader, topic, partition), func() (bool, string) {
		acked, codes, err := clustertest.Produce(c.nodes[leader].Addr, topic, partition, 1, 30*time.Second, values)
		if err != nil {
			return false, err.Error()
		}
		return len(acked) == len(values), fmt.Sprint(codes)
	})
}

// state waits until the state znode is as ok wants it.
func (c *cluster) state(topic string, partition int32, what string, ok func(zkpaths.PartitionState) bool) {
	c.t.Helper()
	clustertest.Eventually(c.t, within, fmt.Sprintf("%s-%d: %s", topic, partition, what), func() (bool, string) {
		states, err := clustertest.States(c.znodes, topic, partition+1)
		if err != nil {
			return false, err.Error()
		}
		s := states[partition]
		return ok(s), string(s.Encode())
	})
}

func (c *cluster) leader(topic string, partition, leader int32) {
	c.t.Helper()
	c.state(topic, partition, fmt.Sprintf("leader %d", leader), func(s zkpaths.PartitionState) bool { return s.Leader == leader })
}

func (c *cluster) isr(topic string, partition int32, size int) {
	c.t.Helper()
	c.state(topic, partition, fmt.Sprintf("%d in the ISR", size), func(s zkpaths.PartitionState) bool { return len(s.ISR) == size })
}

// exists waits until a znode is there, or is not.
func (c *cluster) exists(path string, want bool) {
	c.t.Helper()
	clustertest.Eventually(c.t, within, fmt.Sprintf("%s there: %v", path, want), func() (bool, string) {
		_, there, err := c.znodes.Exists(context.Background(), path)
		return err == nil && there == want, fmt.Sprintf("%v %v", there, err)
	})
}

// nextController makes the captured winner of a race for /controller win here, too: the other brokers
// do not hear of the vacancy before it is filled. act is what makes the vacancy.
func (c *cluster) nextController(winner int32, others []string, act func()) {
	c.t.Helper()
	for _, name := range others {
		c.relay.Hold(name)
	}
	act()
	clustertest.Eventually(c.t, within, fmt.Sprintf("controller %d", winner), func() (bool, string) {
		data, _, err := c.znodes.Get(context.Background(), zkpaths.Controller)
		return err == nil && strings.Contains(string(data), fmt.Sprintf(`"brokerid":%d,`, winner)), fmt.Sprintf("%s %v", data, err)
	})
	for _, name := range others {
		c.relay.Release(name)
	}
}

// tool runs kz's own command line tool against the door of Kafka's tool of that name.
func (c *cluster) tool(name string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(clustertest.Binary(c.t), append([]string{strings.TrimPrefix(name, "kafka-"), "--zookeeper", c.door("tool:"+name) + c.chroot}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Logf("%v: %v\n%s", args, err, out)
	}
}

// byHand is a client behind the door tool:<name>, closed when act returns.
func (c *cluster) byHand(name string, act func(context.Context, *zk.Client) error) {
	c.t.Helper()
	hand, err := openZk(c.door("tool:" + name))
	if err != nil {
		c.t.Fatal(err)
	}
	defer hand.Close()
	if err := act(context.Background(), hand); err != nil {
		c.t.Fatal(err)
	}
}
