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

	slowWait time.Duration // of tests; 0: see slowWait
	bodyWait time.Duration // likewise
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
	cfg    Config
	bereft bool // an earlier supervisor was killed: what it held may still be ending

	book   book   // the faults
	done   ledger // the requests about them
	ruling turn   // who changes the rules of links

	mu      sync.Mutex // guards the fields below; never held while a process is awaited
	zoo     *child     // nil: not ours, or not started
	brokers map[int32]*child
	busy    map[string]string // what is being done to a node
	events  *merged           // nil: nothing was started yet
	closing bool              // nothing is started any more
	closed  bool              // events are
}

// A turn is a lock that can be given up waiting for, because it is held while brokers answer.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// New is a cluster that does not run.
func New(cfg Config) (*Cluster, error) {
	if cfg.Exe == "" {
		var err error
		if cfg.Exe, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return &Cluster{cfg: cfg, ruling: make(turn, 1), brokers: map[int32]*child{}, busy: map[string]string{}}, os.MkdirAll(cfg.Dir, 0o755)
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
	if err := c.awaitPorts(ctx); err != nil {
		return err
	}
	if err := c.openEvents(); err != nil {
		return err
	}
	if c.cfg.ZooKeeper == "" {
		if err := c.startZoo(ctx); err != nil {
			return err
		}
	}
	if err := c.awaitUnregistered(ctx, c.IDs()...); err != nil {
		return err
	}
	var errs []error
	for _, id := range c.IDs() {
		errs = append(errs, c.launch(ctx, id))
	}
	for _, id := range c.IDs() {
		if b := c.broker(id); b != nil {
			errs = append(errs, b.ready(ctx, started))
		}
	}
	return errors.Join(errs...)
}

// awaitPorts waits for the processes of an earlier run whose supervisor was killed: their
// pipe is closed, so they are about to end. Anybody else who has a port is named at once.
func (c *Cluster) awaitPorts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		err := c.portsFree()
		if err == nil || !c.bereft {
			return err
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return err
		}
	}
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

// Stop asks all brokers to stop, then ZooKeeper, which they need until the end. What
// has not ended when ctx ends is killed.
func (c *Cluster) Stop(ctx context.Context) {
	c.beginClose()
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
	c.closeEvents()
}

// Kill ends everything at once.
func (c *Cluster) Kill() {
	c.beginClose()
	for _, id := range c.IDs() {
		if b := c.broker(id); b != nil {
			b.kill()
		}
	}
	if zoo := c.zookeeper(); zoo != nil {
		zoo.kill()
	}
	c.closeEvents()
}

// beginClose lets nothing be started any more.
func (c *Cluster) beginClose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
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
