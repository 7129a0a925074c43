package group

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/purgatory"
	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Deps is handed in once.
type Deps struct {
	Replicas Replicas
	Journal  *journal.Journal
	Log      zerolog.Logger
}

// Coordinator coordinates the groups whose partition of __consumer_offsets this broker
// leads. Mirrors GroupCoordinator and GroupMetadataManager. Its methods may be called from
// any goroutine.
type Coordinator struct {
	cfg   Config
	d     Deps
	log   zerolog.Logger
	timer *purgatory.Timer // every timeout of every group and member

	active     atomic.Bool  // between Start and Stop
	partitions atomic.Int32 // of __consumer_offsets; fixed at Start

	mu     sync.Mutex // guards all below; after a group's lock; a leaf
	groups map[string]*group
	owned  map[int32]*ownership // the partitions this broker leads, by number
	tasks  []task               // loads and unloads to do, in order

	wake   chan struct{} // room for one: there are tasks
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// New makes a coordinator that coordinates nothing yet. It starts the timing wheel; Stop
// ends it.
func New(cfg Config, d Deps) *Coordinator {
	c := &Coordinator{cfg: cfg, d: d, log: d.Log.With().Str("room", "group").Logger(), timer: purgatory.NewTimer(),
		groups: map[string]*group{}, owned: map[int32]*ownership{}, wake: make(chan struct{}, 1)}
	c.partitions.Store(cfg.Partitions)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Start begins to answer. partitions is how many __consumer_offsets has; 0: it does not
// exist yet, and will have as many as the config says.
func (c *Coordinator) Start(partitions int32) {
	if partitions > 0 {
		c.partitions.Store(partitions)
	}
	c.active.Store(true)
	c.wg.Go(c.runTasks)
	c.wg.Go(c.runExpiry)
}

// Stop ends it: who waits is sent to look for another coordinator. Nothing is written.
func (c *Coordinator) Stop() {
	c.active.Store(false)
	c.cancel()
	c.wg.Wait()
	for _, g := range c.all() {
		g.unload()
	}
	c.timer.Stop()
}

// runExpiry is the goroutine that looks for expired offsets.
func (c *Coordinator) runExpiry() {
	tick := time.NewTicker(c.cfg.RetentionCheck)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			c.expire()
		}
	}
}

// PartitionFor is the partition of __consumer_offsets that a group is kept in; its leader
// is the group's coordinator.
func (c *Coordinator) PartitionFor(id string) int32 {
	return PartitionFor(id, c.partitions.Load())
}

// PartitionFor is which partition of __consumer_offsets has the records of a group, of so
// many. Transactional ids are spread over __transaction_state the same way.
// Mirrors GroupMetadataManager.partitionFor.
func PartitionFor(id string, partitions int32) int32 {
	return topic.JavaAbs(topic.JavaHash(id)) % partitions
}

// Whether a request may be about the group "". Older ones may: that is where clients
// without a group id keep their offsets.
type naming bool

const (
	mustBeNamed naming = false
	mayBeEmpty  naming = true
)

// check says whether requests about a group are for this broker, in Kafka's order.
// Mirrors GroupCoordinator.validateGroupStatus.
func (c *Coordinator) check(id string, n naming) kafkaerr.Code {
	switch {
	case id == "" && n == mustBeNamed || !storable(id):
		return kafkaerr.InvalidGroupID
	case !c.active.Load():
		return kafkaerr.CoordinatorNotAvailable
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned[c.PartitionFor(id)].code()
}

// lookup finds a group, or nil.
func (c *Coordinator) lookup(id string) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.groups[id]
}

// lookupOrCreate makes the group if need be; nil when it is not for this broker (any
// more): whoever unloads a partition must have seen all its groups.
func (c *Coordinator) lookupOrCreate(id string) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned[c.PartitionFor(id)].code() != kafkaerr.None {
		return nil
	}
	if c.groups[id] == nil {
		c.groups[id] = c.newGroup(id)
	}
	return c.groups[id]
}

// forget removes a group from the table, if it is the one there.
func (c *Coordinator) forget(g *group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.groups[g.id] == g {
		delete(c.groups, g.id)
	}
}

// all lists the groups.
func (c *Coordinator) all() []*group {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*group, 0, len(c.groups))
	for _, g := range c.groups {
		out = append(out, g)
	}
	return out
}
