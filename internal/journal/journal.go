// Package journal is the one hook for what happens inside kz.
//
// What comes in: an Event from the room where something changed. What goes out:
// the same Event, numbered, to whoever subscribed: the log line, the file behind
// `kz broker --journal`, a test, a lab. Nobody runs it: Emit works on the caller's
// goroutine. The one rule: when nobody listens, an Emit costs one atomic load, so
// callers ask On before they build an Event.
//
// A nil *Journal is valid everywhere and does nothing. It imports nothing of ours.
package journal

import (
	"sync"
	"sync/atomic"
)

// A Kind says what happened. The dot separates the room from the act.
type Kind string

// Every kind there is. A new one is added here, not spelled out where it happens.
const (
	SessionOpened    Kind = "zk.session-opened"
	SessionExpired   Kind = "zk.session-expired"
	SessionClosed    Kind = "zk.session-closed"  // by its client
	SessionLost      Kind = "zk.connection-lost" // outcome of what was in flight: unknown
	SessionRegained  Kind = "zk.reconnected"     // the same session goes on
	ZnodeWrite       Kind = "zk.write"           // Path, VersionBefore, VersionAfter, Zxid, Result
	WatchFired       Kind = "zk.watch-fired"
	BrokerStarted    Kind = "broker.started"
	BrokerStopping   Kind = "broker.stopping"
	Registration     Kind = "broker.registered" // BrokerEpoch
	ControllerOn     Kind = "controller.elected"
	ControllerOff    Kind = "controller.resigned"
	PartitionChange  Kind = "controller.partition-state" // From, To
	ReplicaChange    Kind = "controller.replica-state"   // From, To, Replica
	Election         Kind = "controller.election"        // Leader, ISR, LeaderEpoch
	RequestSent      Kind = "controller.request-sent"
	RequestAnswered  Kind = "controller.request-answered"
	BecameLeader     Kind = "partition.leader"
	BecameFollower   Kind = "partition.follower"
	LeaderAppend     Kind = "leader.append" // Offset = first, EndOffset = new log end
	FollowerAppend   Kind = "follower.append"
	HighWatermark    Kind = "partition.high-watermark" // Offset
	ISRShrink        Kind = "partition.isr-shrink"
	ISRExpand        Kind = "partition.isr-expand"
	Truncation       Kind = "log.truncated" // Offset = new end
	Roll             Kind = "log.rolled"    // Offset = new base
	Flush            Kind = "log.flushed"   // Offset = flushed up to
	Recovery         Kind = "log.recovered" // Text says what was mended
	LogDirFailed     Kind = "log.dir-failed"
	GroupState       Kind = "group.state"             // Group, Generation, From, To
	GroupsLoaded     Kind = "group.loaded"            // the groups of a partition of __consumer_offsets
	OffsetsCommitted Kind = "group.offsets-committed" // Group; Offset, EndOffset: their records
	Fault            Kind = "fault"                   // FaultID; From, To: the ends of a link, or To: a node; Result: its state
	NodeStarted      Kind = "node.started"            // To: the node; only the supervisor knows
	NodeEnded        Kind = "node.ended"              // To: the node; Text: how
)

// An Event is one thing that happened. Only the fields that its Kind names are set;
// -1 in a number means "none" where 0 is a real value.
type Event struct {
	Seq    int64  `json:"seq"` // 1, 2, 3 … inside this process; Emit sets it
	Kind   Kind   `json:"kind"`
	Node   int32  `json:"node"`             // the broker it happened in
	Source string `json:"source,omitempty"` // the room: "controller", "replica" …

	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition"` // meaningless without Topic

	Path          string `json:"path,omitempty"`
	VersionBefore int32  `json:"versionBefore,omitempty"` // the version the write demanded; in the embedded ZooKeeper, the one it found
	VersionAfter  int32  `json:"versionAfter,omitempty"`
	Zxid          int64  `json:"zxid,omitempty"`
	Session       string `json:"session,omitempty"` // as ZooKeeper prints it: 0x…
	Result        string `json:"result,omitempty"`  // "ok", "BADVERSION" …

	ControllerEpoch int32   `json:"controllerEpoch,omitempty"`
	LeaderEpoch     int32   `json:"leaderEpoch"` // meaningless without Topic
	BrokerEpoch     int64   `json:"brokerEpoch,omitempty"`
	Leader          int32   `json:"leader"` // meaningless without Topic
	ISR             []int32 `json:"isr,omitempty"`
	Replica         int32   `json:"replica,omitempty"`
	From            string  `json:"from,omitempty"`
	To              string  `json:"to,omitempty"`
	Offset          int64   `json:"offset,omitempty"`
	EndOffset       int64   `json:"endOffset,omitempty"`

	FaultID    string `json:"faultId,omitempty"` // as kz faults lists it
	Group      string `json:"group,omitempty"`
	Generation int32  `json:"generation,omitempty"` // of the group

	Cause int64  `json:"cause,omitempty"` // Seq of the event that led to this one
	Text  string `json:"text,omitempty"`  // for people
}

// A Journal takes events in and hands them to its subscribers, in one order.
type Journal struct {
	node      int32
	listening atomic.Bool // some subscriber exists
	mu        sync.Mutex  // guards seq, subs and the order of delivery; last in every lock order
	seq       int64
	subs      map[*func(Event)]struct{}
	moments   moments
}

// New is the journal of one broker. node may be set later with SetNode, because a
// generated broker id is known only after ZooKeeper was asked.
func New(node int32) *Journal {
	return &Journal{node: node, subs: map[*func(Event)]struct{}{}}
}

// SetNode names the broker that later events happen in.
func (j *Journal) SetNode(node int32) {
	if j == nil {
		return
	}
	j.mu.Lock()
	j.node = node
	j.mu.Unlock()
}

// On says whether anybody listens. Ask it before building an Event.
func (j *Journal) On() bool { return j != nil && j.listening.Load() }

// Emit numbers the event and hands it to every subscriber before it returns. It
// returns the number, for a later event's Cause, or 0 when nobody listens.
// Subscribers run under the journal's lock: they must not block or emit.
func (j *Journal) Emit(ev Event) int64 {
	if !j.On() {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	ev.Seq, ev.Node = j.seq, j.node
	for f := range j.subs {
		(*f)(ev)
	}
	return j.seq
}

// Subscribe calls f for every event from now on, until the returned function is
// called. f must be quick and must not call the journal.
func (j *Journal) Subscribe(f func(Event)) (cancel func()) {
	if j == nil {
		return func() {}
	}
	key := &f
	j.mu.Lock()
	j.subs[key] = struct{}{}
	j.listening.Store(true)
	j.mu.Unlock()
	return func() {
		j.mu.Lock()
		delete(j.subs, key)
		j.listening.Store(len(j.subs) > 0)
		j.mu.Unlock()
	}
}
