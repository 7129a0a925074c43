package controller

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"

	"kz/internal/topic"
	"kz/zkpaths"
)

// cluster is all that the controller knows: read at failover, kept up to date by events,
// forgotten at resignation. It belongs to the controller's goroutine and so has no lock.
// Mirrors ControllerContext.
//
// Everything that iterates returns sorted slices, so that the same events give the same
// writes and requests in the same order.
type cluster struct {
	epoch        int32 // of this reign; 0 when not controller
	epochVersion int32 // version of /controller_epoch at the election: the fence of every write

	brokers      map[int32]liveBroker               // registered, also those in controlled shutdown
	shuttingDown map[int32]bool                     // asked for a controlled shutdown and still registered
	offlineDirs  map[int32]map[topic.Partition]bool // broker -> partitions it answered KAFKA_STORAGE_ERROR for
	topics       map[string]map[int32]assignment    // what /brokers/topics says
	leadership   map[topic.Partition]leaderISR      // what the state znodes said when last read or written
	partitions   map[topic.Partition]PartitionState // absent: NonExistentPartition
	replicas     map[replica]ReplicaState           // absent: NonExistentReplica
	reassigning  map[topic.Partition]bool           // begun by another controller, left as it is
}

func newCluster() *cluster {
	return &cluster{
		brokers:      map[int32]liveBroker{},
		shuttingDown: map[int32]bool{},
		offlineDirs:  map[int32]map[topic.Partition]bool{},
		topics:       map[string]map[int32]assignment{},
		leadership:   map[topic.Partition]leaderISR{},
		partitions:   map[topic.Partition]PartitionState{},
		replicas:     map[replica]ReplicaState{},
		reassigning:  map[topic.Partition]bool{},
	}
}

// liveBroker is a registered broker.
type liveBroker struct {
	id    int32
	epoch int64 // czxid of the registration
	info  zkpaths.BrokerInfo
}

// endpoint finds the broker's address on a listener.
func (b liveBroker) endpoint(listener string) (e zkpaths.Endpoint, ok bool) {
	for _, e := range b.info.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return zkpaths.Endpoint{}, false
}

func address(e zkpaths.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// isLive: registered, and not in controlled shutdown.
func (c *cluster) isLive(id int32) bool {
	_, registered := c.brokers[id]
	return registered && !c.shuttingDown[id]
}

// isOnline says whether the replica can serve: its broker is live and the partition is not
// in a log directory that failed.
func (c *cluster) isOnline(id int32, p topic.Partition) bool {
	return c.isLive(id) && !c.offlineDirs[id][p]
}

// isOnlineOrStopping is isOnline, with brokers in controlled shutdown counted as live.
func (c *cluster) isOnlineOrStopping(id int32, p topic.Partition) bool {
	_, registered := c.brokers[id]
	return registered && !c.offlineDirs[id][p]
}

// brokerIDs are all registered brokers, ascending.
func (c *cluster) brokerIDs() []int32 { return slices.Sorted(maps.Keys(c.brokers)) }

// liveBrokers are all registered brokers, ascending by id.
func (c *cluster) liveBrokers() []liveBroker {
	return slices.SortedFunc(maps.Values(c.brokers), func(a, b liveBroker) int { return cmp.Compare(a.id, b.id) })
}

func (c *cluster) removeBrokers(ids []int32) {
	for _, id := range ids {
		delete(c.brokers, id)
	}
}

// assignment of a partition; the empty one when it is unknown.
func (c *cluster) assignment(p topic.Partition) assignment { return c.topics[p.Topic][p.Partition] }

// setAssignment remembers a partition and whether it is being reassigned.
func (c *cluster) setAssignment(p topic.Partition, a assignment) {
	if c.topics[p.Topic] == nil {
		c.topics[p.Topic] = map[int32]assignment{}
	}
	c.topics[p.Topic][p.Partition] = a
	if a.isBeingReassigned() {
		c.reassigning[p] = true
	} else {
		delete(c.reassigning, p)
	}
}

// forgetTopic drops a topic whose znode is gone.
func (c *cluster) forgetTopic(name string) {
	for n, a := range c.topics[name] {
		p := topic.Partition{Topic: name, Partition: n}
		delete(c.leadership, p)
		delete(c.partitions, p)
		delete(c.reassigning, p)
		for _, id := range a.replicas {
			delete(c.replicas, replica{p, id})
			delete(c.offlineDirs[id], p)
		}
	}
	delete(c.topics, name)
}

// known says whether the partition is in some topic's znode.
func (c *cluster) known(p topic.Partition) bool {
	_, ok := c.topics[p.Topic][p.Partition]
	return ok
}

// partitionsWhere are the partitions for which f holds, sorted.
func (c *cluster) partitionsWhere(f func(p topic.Partition, a assignment) bool) []topic.Partition {
	var ps []topic.Partition
	for name, as := range c.topics {
		for n, a := range as {
			if p := (topic.Partition{Topic: name, Partition: n}); f(p, a) {
				ps = append(ps, p)
			}
		}
	}
	slices.SortFunc(ps, topic.Partition.Compare)
	return ps
}

func (c *cluster) allPartitions() []topic.Partition {
	return c.partitionsWhere(func(topic.Partition, assignment) bool { return true })
}

// withLeadership are the partitions whose state znode is known, also those whose leader
// is -1: a broker that starts is told about them too.
func (c *cluster) withLeadership() []topic.Partition {
	return slices.SortedFunc(maps.Keys(c.leadership), topic.Partition.Compare)
}

// withOfflineLeader are the partitions that had a leader which cannot serve now.
func (c *cluster) withOfflineLeader() []topic.Partition {
	return c.partitionsWhere(func(p topic.Partition, _ assignment) bool {
		l, ok := c.leadership[p]
		return ok && !c.isOnline(l.leader, p)
	})
}

// ledBy are the partitions with more than one replica that the broker leads.
func (c *cluster) ledBy(id int32) []topic.Partition {
	return c.partitionsWhere(func(p topic.Partition, a assignment) bool {
		l, ok := c.leadership[p]
		return ok && l.leader == id && len(a.replicas) > 1
	})
}

// newOrOffline are the partitions that wait for a leader: all of them, or one topic's.
func (c *cluster) newOrOffline(only string) []topic.Partition {
	return c.partitionsWhere(func(p topic.Partition, _ assignment) bool {
		s := c.partitions[p]
		return (only == "" || p.Topic == only) && (s == NewPartition || s == OfflinePartition)
	})
}

// replicasOn are the replicas that the brokers keep, sorted.
func (c *cluster) replicasOn(ids []int32) []replica {
	return c.replicasWhere(func(_ topic.Partition, id int32) bool { return slices.Contains(ids, id) })
}

// replicasWhere are the replicas for which f holds, sorted.
func (c *cluster) replicasWhere(f func(p topic.Partition, id int32) bool) []replica {
	var rs []replica
	for name, as := range c.topics {
		for n, a := range as {
			p := topic.Partition{Topic: name, Partition: n}
			for _, id := range a.replicas {
				if f(p, id) {
					rs = append(rs, replica{p, id})
				}
			}
		}
	}
	slices.SortFunc(rs, compareReplicas)
	return rs
}

// replicasOf are all replicas of the partitions.
func (c *cluster) replicasOf(ps []topic.Partition) []replica {
	var rs []replica
	for _, p := range ps {
		for _, id := range c.assignment(p).replicas {
			rs = append(rs, replica{p, id})
		}
	}
	return rs
}

// ballot is the partition's, for an election.
func (c *cluster) ballot(p topic.Partition, isr []int32, unclean bool) ballot {
	a := c.assignment(p)
	b := ballot{
		assigned: a.replicas, target: a.target(), isr: isr, unclean: unclean,
		shuttingDown: slices.Sorted(maps.Keys(c.shuttingDown)),
	}
	for _, id := range a.replicas {
		if c.isOnline(id, p) {
			b.online = append(b.online, id)
		}
		if c.isOnlineOrStopping(id, p) {
			b.live = append(b.live, id)
		}
	}
	return b
}
