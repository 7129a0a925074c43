package up

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Config says what to run, and where.
type Config struct {
	Exe       string        // the kz program; "" is this one
	Dir       string        // data, logs and journals of all processes
	Ports     map[int32]int // the port of each broker by its id
	ZooPort   int           // of the embedded ZooKeeper; unused with ZooKeeper
	ZooKeeper string        // host:port of one that runs already; "": start the embedded one
	Profile   Profile
}

// ErrPortTaken is in the error of a start that found a port in use.
var ErrPortTaken = errors.New("a port is taken")

// FreePorts finds n ports of the loopback address that nobody has now. Somebody may take
// one before it is used; the process that gets it then says so.
func FreePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after the last one, so that all differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// A Cluster is the processes of one directory.
type Cluster struct {
	cfg Config

	mu      sync.Mutex // guards the fields below; never held while a process is awaited
	zoo     *child     // nil: not ours, or not started
	brokers map[int32]*child
}

// New is a cluster that does not run.
func New(cfg Config) (*Cluster, error) {
	if cfg.Exe == "" {
		var err error
		if cfg.Exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return &Cluster{cfg: cfg, brokers: map[int32]*child{}}, os.MkdirAll(cfg.Dir, 0o755)
}

// ZooKeeper is the address brokers and tools use.
func (c *Cluster) ZooKeeper() string {
	if c.cfg.ZooKeeper != "" {
		return c.cfg.ZooKeeper
	}
	return loopback(c.cfg.ZooPort)
}

// Addr is where a broker listens.
func (c *Cluster) Addr(id int32) string { return loopback(c.cfg.Ports[id]) }

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Bootstrap lists all brokers, as bootstrap.servers does.
func (c *Cluster) Bootstrap() []string {
	var all []string
	for _, id := range c.IDs() {
		all = append(all, c.Addr(id))
	}
	return all
}

// Start starts ZooKeeper, then all brokers at once, and waits until they serve. When it
// fails, or ctx ends, nothing of it runs.
func (c *Cluster) Start(ctx context.Context) error {
	err := c.startAll(ctx)
	if err != nil {
		c.Kill()
	}
	return err
}

func (c *Cluster) startAll(ctx context.Context) error {
	if err := c.portsFree(); err != nil {
		return err
	}
	if c.cfg.ZooKeeper == "" {
		zoo, err := startChild("zookeeper", c.cfg.Exe, c.LogFile("zookeeper"), c.JournalFile("zookeeper"),
			"zookeeper", "--port", strconv.Itoa(c.cfg.ZooPort), "--data-dir", filepath.Join(c.cfg.Dir, "zookeeper"),
			"--tick", c.cfg.Profile.tick, "--min-session-timeout", "500ms", "--max-session-timeout", "1m")
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.zoo = zoo
		c.mu.Unlock()
		if err := zoo.ready(ctx, func(*child) bool { return answers(c.ZooKeeper()) }); err != nil {
			return err
		}
	}
	if err := c.awaitUnregistered(ctx, c.IDs()...); err != nil {
		return err
	}
	var errs []error
	for _, id := range c.IDs() {
		errs = append(errs, c.launch(id))
	}
	for _, id := range c.IDs() {
		if b := c.broker(id); b != nil {
			errs = append(errs, b.ready(ctx, started))
		}
	}
	return errors.Join(errs...)
}

// portsFree names every port that somebody has, before anything is started: a stranger
// that answers there must not be taken for one of ours.
func (c *Cluster) portsFree() error {
	ports := map[string]int{}
	for _, id := range c.IDs() {
		ports[BrokerName(id)] = c.cfg.Ports[id]
	}
	if c.cfg.ZooKeeper == "" {
		ports["zookeeper"] = c.cfg.ZooPort
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(ports)) {
		l, err := net.Listen("tcp", loopback(ports[name]))
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s needs port %d: %w", ErrPortTaken, name, ports[name], err))
			continue
		}
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// answers says whether a server accepts connections.
func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// launch starts a broker's process and does not wait for it.
func (c *Cluster) launch(id int32) error {
	name := BrokerName(id)
	args := []string{"broker"}
	for _, s := range append([]Setting{
		{Key: "broker.id", Value: fmt.Sprint(id)},
		{Key: "listeners", Value: "PLAINTEXT://" + c.Addr(id)},
		{Key: "log.dirs", Value: filepath.Join(c.cfg.Dir, name)},
		{Key: "zookeeper.connect", Value: c.ZooKeeper()},
	}, append(layout(len(c.cfg.Ports)), c.cfg.Profile.Changed...)...) {
		args = append(args, "--override", s.Key+"="+s.Value)
	}
	b, err := startChild("broker "+fmt.Sprint(id), c.cfg.Exe, c.LogFile(name), c.JournalFile(name), args...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.brokers[id] = b
	c.mu.Unlock()
	return nil
}

// KillBroker ends a broker as kill -9 does and says which process it was.
func (c *Cluster) KillBroker(id int32) (pid int, err error) {
	b := c.broker(id)
	if b == nil || !b.running() {
		return 0, fmt.Errorf("broker %d does not run", id)
	}
	b.kill()
	return b.pid(), nil
}

// StartBroker starts a broker that has ended and waits until it serves.
func (c *Cluster) StartBroker(ctx context.Context, id int32) error {
	if b := c.broker(id); b != nil && b.running() {
		return fmt.Errorf("broker %d runs already", id)
	}
	if err := c.awaitUnregistered(ctx, id); err != nil {
		return err
	}
	if err := c.launch(id); err != nil {
		return err
	}
	return c.broker(id).ready(ctx, started)
}

// Stop asks all brokers to stop, then ZooKeeper, which they need until the end. What
// has not ended when ctx ends is killed.
func (c *Cluster) Stop(ctx context.Context) {
	var all sync.WaitGroup
	for _, id := range c.IDs() {
		if b := c.broker(id); b != nil {
			all.Go(func() { b.stop(ctx) })
		}
	}
	all.Wait()
	if zoo := c.zookeeper(); zoo != nil {
		zoo.stop(ctx)
	}
}

// Kill ends everything at once.
func (c *Cluster) Kill() {
	for _, id := range c.IDs() {
		if b := c.broker(id); b != nil {
			b.kill()
		}
	}
	if zoo := c.zookeeper(); zoo != nil {
		zoo.kill()
	}
}

func (c *Cluster) broker(id int32) *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.brokers[id]
}

func (c *Cluster) zookeeper() *child {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.zoo
}

// LogFile is where a process ("zookeeper", "broker-1") says what it does.
func (c *Cluster) LogFile(name string) string { return filepath.Join(c.cfg.Dir, name+".log") }

// JournalFile is the journal of a process, over all its lives.
func (c *Cluster) JournalFile(name string) string { return filepath.Join(c.cfg.Dir, name+".jsonl") }
