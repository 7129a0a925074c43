package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/zktest"
)

// Processes is a cluster of broker processes on loopback: `kz broker`, or Apache Kafka beside it.
type Processes struct {
	Zookeeper string // zookeeper.connect
	Dir       string // everything the brokers write
	t         testing.TB
	binary    string
	Nodes     map[int32]*Node
}

// A Node is one broker process, over all its restarts.
type Node struct {
	ID        int32
	Kind      Kind   // of the next start
	Addr      string // 127.0.0.1:port, the same over restarts
	LogDir    string
	Journal   string // kz: JSON lines, appended over restarts
	Log       string // stdout and stderr, appended over restarts
	overrides map[string]string
	cluster   *Processes
	cmd       *exec.Cmd
	ended     chan struct{} // closed when cmd was waited for
}

// StartProcesses starts n brokers with ids 1..n and waits until all are registered and serving.
// They end with the test.
func StartProcesses(t testing.TB, zookeeper string, n int, overrides map[string]string) *Processes {
	t.Helper()
	c := NewProcesses(t, zookeeper)
	for id := int32(1); id <= int32(n); id++ {
		c.Add(id, overrides)
	}
	for _, node := range c.Sorted() {
		node.Start()
	}
	c.AwaitBrokers(120*time.Second, c.IDs()...)
	return c
}

// NewProcesses is a cluster without nodes yet; those that are added end with the test.
func NewProcesses(t testing.TB, zookeeper string) *Processes {
	t.Helper()
	c := &Processes{Zookeeper: zookeeper, Dir: t.TempDir(), t: t, binary: Binary(t), Nodes: map[int32]*Node{}}
	t.Cleanup(c.killAll)
	return c
}

// Add makes a node, which runs kz, without starting it.
func (c *Processes) Add(id int32, overrides map[string]string) *Node {
	c.t.Helper()
	name := "broker-" + strconv.Itoa(int(id))
	n := &Node{
		ID: id, Kind: KZ, Addr: freeAddr(c.t), cluster: c,
		LogDir:    filepath.Join(c.Dir, name),
		Journal:   filepath.Join(c.Dir, name+".journal"),
		Log:       filepath.Join(c.Dir, name+".log"),
		overrides: map[string]string{},
	}
	for k, v := range overrides {
		n.overrides[k] = v
	}
	c.Nodes[id] = n
	return n
}

// Sorted is the nodes by id.
func (c *Processes) Sorted() []*Node {
	var out []*Node
	for _, n := range c.Nodes {
		out = append(out, n)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// IDs is every node's id, ascending.
func (c *Processes) IDs() []int32 {
	var ids []int32
	for _, n := range c.Sorted() {
		ids = append(ids, n.ID)
	}
	return ids
}

// Seeds is every node's address.
func (c *Processes) Seeds() []string {
	var out []string
	for _, n := range c.Sorted() {
		out = append(out, n.Addr)
	}
	return out
}

// Start starts the process; it does not wait until it serves.
func (n *Node) Start() {
	t := n.cluster.t
	t.Helper()
	log, err := os.OpenFile(n.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	config := filepath.Join(n.cluster.Dir, fmt.Sprintf("broker-%d.properties", n.ID))
	if err := os.WriteFile(config, []byte(n.properties()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := n.command(config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = zktest.DiesWithParent()
	n.cmd, n.ended = cmd, make(chan struct{})
	started := make(chan error)
	go func(ended chan struct{}) {
		runtime.LockOSThread() // "parent" means the thread that forked: it must live as long as the child
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}(n.ended)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

// StartServing starts the process and waits until it serves. After a kill the old session may still
// hold /brokers/ids/<id>, which ends the new process, as it ends Kafka's: it is then started again.
func (n *Node) StartServing() {
	t := n.cluster.t
	t.Helper()
	if n.Kind == Kafka { // a start costs seconds: none in vain
		Eventually(t, 60*time.Second, fmt.Sprintf("the session of broker %d to end", n.ID), n.Unregistered)
	}
	n.Start()
	Eventually(t, 120*time.Second, fmt.Sprintf("broker %d to serve", n.ID), func() (bool, string) {
		if !n.Running() {
			if end := tail(n.Log, 600); !strings.Contains(end, "NODEEXISTS") {
				t.Fatalf("broker %d ended; its log ends:\n%s", n.ID, end)
			}
			n.Start()
		}
		m, err := metadata(n.Addr)
		if err != nil {
			return false, err.Error()
		}
		for _, b := range m.Brokers {
			if b.NodeID == n.ID {
				return true, ""
			}
		}
		return false, "it does not know itself yet"
	})
}

func (n *Node) properties() string {
	props := map[string]string{
		"broker.id":                     strconv.Itoa(int(n.ID)),
		"listeners":                     "PLAINTEXT://" + n.Addr,
		"log.dirs":                      n.LogDir,
		"zookeeper.connect":             n.cluster.Zookeeper,
		"inter.broker.protocol.version": "2.6",
	}
	for k, v := range n.overrides {
		props[k] = v
	}
	var lines []string
	for k, v := range props {
		lines = append(lines, k+"="+v)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n") + "\n"
}

// Override changes a property from the next start on.
func (n *Node) Override(key, value string) { n.overrides[key] = value }

// Running says whether the process has not ended.
func (n *Node) Running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

// Pid is the process id of the last start.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Kill is kill -9; it returns when the process is gone.
func (n *Node) Kill() { n.end("SIGKILL", (*os.Process).Kill) }

// Stop is SIGTERM: controlled shutdown; it returns when the process is gone.
func (n *Node) Stop() { n.end("SIGTERM", zktest.Terminate) }

// Pause is SIGSTOP, Resume SIGCONT. A system without them skips the test by their names.
func (n *Node) Pause()  { n.signal(zktest.Pause) }
func (n *Node) Resume() { n.signal(zktest.Resume) }

func (n *Node) signal(send func(*os.Process) error) {
	n.cluster.t.Helper()
	err := send(n.cmd.Process)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		n.cluster.t.Skip(err)
	case err != nil:
		n.cluster.t.Fatalf("broker %d: %v", n.ID, err)
	}
}

func (n *Node) end(name string, how func(*os.Process) error) {
	t := n.cluster.t
	t.Helper()
	if !n.Running() {
		return
	}
	n.signal(how)
	select {
	case <-n.ended:
	case <-time.After(90 * time.Second):
		t.Fatalf("broker %d did not end within 90 s of %s; its log ends:\n%s", n.ID, name, tail(n.Log, 4000))
	}
}

func (c *Processes) killAll() {
	for _, n := range c.Nodes {
		if n.Running() {
			_ = n.cmd.Process.Kill()
			<-n.ended
		}
	}
	if c.t.Failed() {
		if keep := os.Getenv("KZ_KEEP"); keep != "" {
			dst := filepath.Join(keep, strings.ReplaceAll(c.t.Name(), "/", "_"))
			_ = os.MkdirAll(dst, 0o755)
			_ = os.CopyFS(dst, os.DirFS(c.Dir))
			c.t.Logf("the cluster's files are kept in %s", dst)
		}
		for _, n := range c.Sorted() {
			c.t.Logf("broker %d's log ends:\n%s", n.ID, tail(n.Log, 2500))
		}
	}
}

func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return string(b)
}

// Client is an outside client (franz-go) of the cluster, closed with the test.
func (c *Processes) Client(opts ...kgo.Opt) *kgo.Client {
	return outsideClient(c.t, c.Seeds(), opts...)
}

func outsideClient(t testing.TB, seeds []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.DisableIdempotentWrite(),
		kgo.UnknownTopicRetries(-1), // a broker may hear of a new topic half a second after the others
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// metadata asks the broker at addr itself, on a connection of its own.
func metadata(addr string, topics ...string) (*kmsg.MetadataResponse, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RetryTimeout(2*time.Second), kgo.RequestRetries(0))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	r, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return nil, err
	}
	return r.(*kmsg.MetadataResponse), nil
}

// AwaitBrokers waits until each named broker answers metadata that lists all of them.
func (c *Processes) AwaitBrokers(within time.Duration, ids ...int32) {
	c.t.Helper()
	for _, id := range ids {
		n := c.Nodes[id]
		Eventually(c.t, within, fmt.Sprintf("broker %d to list brokers %v", id, ids), func() (bool, string) {
			if !n.Running() {
				c.t.Fatalf("broker %d ended; its log ends:\n%s", id, tail(n.Log, 4000))
			}
			m, err := metadata(n.Addr)
			if err != nil {
				return false, err.Error()
			}
			have := map[int32]bool{}
			for _, b := range m.Brokers {
				have[b.NodeID] = true
			}
			for _, want := range ids {
				if !have[want] {
					return false, fmt.Sprintf("lists %v", have)
				}
			}
			return true, ""
		})
	}
}
