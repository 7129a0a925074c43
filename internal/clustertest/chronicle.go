package clustertest

import (
	"slices"
	"sync"
	"time"

	"kz/internal/journal"
)

// A Chronicle is what all journals of a cluster say, in one order, with the time of each event: in a
// bubble one clock serves all brokers. It knows who plays which role.
type Chronicle struct {
	mu         sync.Mutex // guards all below; nothing is called under it
	entries    []Entry
	leaders    map[int32]Entry // partition → the BecameLeader of the highest epoch
	controller Entry           // the ControllerOn of the highest epoch
}

// An Entry is one event and its time.
type Entry struct {
	journal.Event
	At time.Time
}

// follow begins the chronicle of a cluster.
func follow(c *InProcess, topic string) *Chronicle {
	h := &Chronicle{leaders: map[int32]Entry{}}
	for _, m := range c.Brokers {
		m.Journal.Subscribe(func(ev journal.Event) { h.note(ev, topic) })
	}
	return h
}

func (h *Chronicle) note(ev journal.Event, topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := Entry{ev, time.Now()}
	h.entries = append(h.entries, e)
	switch {
	case ev.Kind == journal.BecameLeader && ev.Topic == topic:
		if was, ok := h.leaders[ev.Partition]; !ok || was.LeaderEpoch < ev.LeaderEpoch {
			h.leaders[ev.Partition] = e
		}
	case ev.Kind == journal.ControllerOn && ev.ControllerEpoch > h.controller.ControllerEpoch:
		h.controller = e
	}
}

// Entries is what was said so far.
func (h *Chronicle) Entries() []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// Leader is the last broker that became leader of a partition, and its epoch; 0 before the first.
func (h *Chronicle) Leader(partition int32) (id, epoch int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.leaders[partition]
	return e.Node, e.LeaderEpoch
}

// Controller is the last broker that was elected controller; 0 before the first.
func (h *Chronicle) Controller() int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.controller.Node
}

// saw tells whether an event that fits has been there since an index, and the index after it.
func (h *Chronicle) saw(since int, fits func(Entry) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.entries[since:], fits)
}

// end is where a broker's log of partition 0 ended when it last grew.
func (h *Chronicle) end(id int32) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.entries) - 1; i >= 0; i-- {
		e := h.entries[i]
		if e.Node == id && e.Topic == chaosTopic && e.Partition == 0 && (e.Kind == journal.LeaderAppend || e.Kind == journal.FollowerAppend) {
			return e.EndOffset
		}
	}
	return 0
}

// now is the index of the next entry.
func (h *Chronicle) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}
