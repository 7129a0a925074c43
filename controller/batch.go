package controller

import (
	"maps"
	"slices"

	"kz/internal/topic"
)

// batch collects what one step of the controller has to tell the brokers: at most one
// LeaderAndIsr, one UpdateMetadata and one StopReplica per broker, whatever the number of
// partitions. Each entry is taken as the cluster is when it is added; the live brokers and
// their epochs, as they are when the batch is flushed.
//
// A batch belongs to one step and is made for it, so that one cannot begin on the leavings
// of another. Mirrors AbstractControllerBrokerRequestBatch.
type batch struct {
	cluster    *cluster
	leaders    map[int32]map[topic.Partition]leaderEntry // by receiver
	stops      map[int32]map[topic.Partition]stopEntry   // by receiver
	metadata   map[topic.Partition]metadataEntry         // the same for all receivers
	metadataTo map[int32]bool
}

type leaderEntry struct {
	state      leaderISR
	assignment assignment
	isNew      bool // the replica may be created in any log directory; false: it must exist, perhaps in one that failed
}

type stopEntry struct {
	leaderEpoch int32 // noEpoch: the controller knows none
	remove      bool  // delete the log
}

const noEpoch int32 = -1

type metadataEntry struct {
	state    leaderISR
	replicas []int32
	offline  []int32 // of replicas
}

func newBatch(c *cluster) *batch {
	return &batch{
		cluster:    c,
		leaders:    map[int32]map[topic.Partition]leaderEntry{},
		stops:      map[int32]map[topic.Partition]stopEntry{},
		metadata:   map[topic.Partition]metadataEntry{},
		metadataTo: map[int32]bool{},
	}
}

// leaderAndISR tells brokers who leads the partition, and everybody by UpdateMetadata. A
// later entry replaces an earlier one, but what was new stays new.
func (b *batch) leaderAndISR(to []int32, p topic.Partition, state leaderISR, isNew bool) {
	e := leaderEntry{state: state, assignment: b.cluster.assignment(p)}
	for _, id := range to {
		if id < 0 {
			continue
		}
		if b.leaders[id] == nil {
			b.leaders[id] = map[topic.Partition]leaderEntry{}
		}
		e.isNew = isNew || b.leaders[id][p].isNew
		b.leaders[id][p] = e
	}
	b.updateMetadata(b.cluster.brokerIDs(), p)
}

// stopReplica tells a broker to stop serving a replica and, with remove, to delete it. A
// later entry replaces an earlier one, but what was to be deleted stays so.
func (b *batch) stopReplica(id int32, p topic.Partition, remove bool) {
	if id < 0 {
		return
	}
	e := stopEntry{leaderEpoch: noEpoch}
	if l, ok := b.cluster.leadership[p]; ok {
		e.leaderEpoch = l.leaderEpoch
	}
	if b.stops[id] == nil {
		b.stops[id] = map[topic.Partition]stopEntry{}
	}
	e.remove = remove || b.stops[id][p].remove
	b.stops[id][p] = e
}

// updateMetadata tells brokers about the live brokers and the given partitions. A
// partition without leadership has nothing to tell yet.
func (b *batch) updateMetadata(to []int32, ps ...topic.Partition) {
	for _, id := range to {
		b.metadataTo[id] = true
	}
	for _, p := range ps {
		l, ok := b.cluster.leadership[p]
		if !ok {
			continue
		}
		e := metadataEntry{state: l, replicas: b.cluster.assignment(p).replicas}
		for _, id := range e.replicas {
			if !b.cluster.isOnline(id, p) {
				e.offline = append(e.offline, id)
			}
		}
		b.metadata[p] = e
	}
}

// message is one request for one broker, before it is bytes.
type message struct {
	broker      int32
	brokerEpoch int64

	// one of the three
	leaders  map[topic.Partition]leaderEntry
	metadata map[topic.Partition]metadataEntry // may be empty: only the live brokers
	stops    map[topic.Partition]stopEntry
	kind     messageKind
}

type messageKind int8

const (
	leaderAndISRMessage messageKind = iota
	updateMetadataMessage
	stopReplicaMessage
)

// flush is the batch as requests, in the order they are queued: LeaderAndIsr to all,
// UpdateMetadata to all, StopReplica to all. A broker must hear that it leads before
// clients are sent to it. Brokers that are not registered are left out.
func (b *batch) flush() []message {
	var ms []message
	add := func(id int32, m message) {
		if broker, ok := b.cluster.brokers[id]; ok {
			m.broker, m.brokerEpoch = id, broker.epoch
			ms = append(ms, m)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.leaders)) {
		add(id, message{kind: leaderAndISRMessage, leaders: b.leaders[id]})
	}
	for _, id := range slices.Sorted(maps.Keys(b.metadataTo)) {
		add(id, message{kind: updateMetadataMessage, metadata: b.metadata})
	}
	for _, id := range slices.Sorted(maps.Keys(b.stops)) {
		add(id, message{kind: stopReplicaMessage, stops: b.stops[id]})
	}
	return ms
}

// send hands a batch to the senders.
func (c *Controller) send(b *batch) {
	t := newTranslator(c.cfg, c.cluster)
	for _, m := range b.flush() {
		c.channels.send(m.broker, outgoing{
			request:         t.request(m),
			controllerEpoch: c.cluster.epoch,
			brokerEpoch:     m.brokerEpoch,
		})
	}
}

// sendMetadata sends an UpdateMetadata on its own.
func (c *Controller) sendMetadata(to []int32, ps ...topic.Partition) {
	b := newBatch(c.cluster)
	b.updateMetadata(to, ps...)
	c.send(b)
}
