package metadata

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"kz/internal/topic"
)

// Cache is Kafka's MetadataCache.
type Cache struct {
	brokerID int32
	current  atomic.Pointer[Snapshot]

	// mu makes Apply one at a time and guards changed. A leaf: nothing is called under it.
	mu      sync.Mutex
	changed chan struct{} // closed and replaced by every Apply
}

// NewCache is the empty cache a broker starts with: no brokers, no topics, no
// controller, until the controller's first UpdateMetadata.
func NewCache(brokerID int32) *Cache {
	c := &Cache{brokerID: brokerID, changed: make(chan struct{})}
	c.current.Store(&Snapshot{
		ControllerID: -1,
		Brokers:      map[int32]Broker{},
		Topics:       map[string]map[int32]PartitionState{},
	})
	return c
}

// Current is the latest snapshot; never nil.
func (c *Cache) Current() *Snapshot { return c.current.Load() }

// Changed returns a channel that is closed at the next Apply, for waiting on a
// condition without polling: take the channel first, look at Current, then wait.
func (c *Cache) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// Apply merges an update into a new snapshot and returns the partitions it deleted,
// in order. It does not check the controller epoch (replica.Manager does). The update's
// maps and slices belong to the cache from then on.
func (c *Cache) Apply(u Update) (deleted []topic.Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, deleted := c.current.Load().merge(u)
	c.current.Store(next)
	close(c.changed)
	c.changed = make(chan struct{})
	return deleted
}

// merge is the next snapshot. Topics that the update does not name are shared with s.
func (s *Snapshot) merge(u Update) (next *Snapshot, deleted []topic.Partition) {
	next = &Snapshot{ControllerID: max(u.ControllerID, -1), Topics: s.Topics}
	next.Brokers = make(map[int32]Broker, len(u.Brokers))
	for _, b := range u.Brokers {
		if _, twice := next.Brokers[b.ID]; !twice {
			next.order = append(next.order, b.ID)
		}
		next.Brokers[b.ID] = b
	}
	if len(u.Partitions) == 0 {
		return next, nil
	}
	next.Topics = maps.Clone(s.Topics)
	own := map[string]map[int32]PartitionState{} // the tables copied so far
	for p, st := range u.Partitions {
		table, ok := own[p.Topic]
		if !ok {
			if table = maps.Clone(s.Topics[p.Topic]); table == nil {
				table = map[int32]PartitionState{}
			}
			own[p.Topic], next.Topics[p.Topic] = table, table
		}
		if st.Leader == LeaderDuringDelete {
			delete(table, p.Partition)
			deleted = append(deleted, p)
			continue
		}
		table[p.Partition] = st
	}
	for name, table := range own {
		if len(table) == 0 {
			delete(next.Topics, name) // its last partition went
		}
	}
	slices.SortFunc(deleted, topic.Partition.Compare)
	return next, deleted
}
