package admin

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"kz/internal/kafkaerr"
)

// Broker is what an assignment needs to know of one. Mirrors BrokerMetadata.
type Broker struct {
	ID   int32
	Rack string // "" = none
}

// Assignment is the replicas of each partition, the preferred leader first.
type Assignment map[int32][]int32

// Assign spreads the replicas of a new topic over brokers, from a random start, in the
// order the brokers come. Mirrors AdminUtils.assignReplicasToBrokers.
func Assign(brokers []Broker, partitions, replicationFactor int) (Assignment, error) {
	if err := checkCounts(brokers, partitions, replicationFactor); err != nil {
		return nil, err
	}
	return assign(brokers, partitions, replicationFactor, rand.IntN(len(brokers)), rand.IntN(len(brokers)), 0)
}

// AssignMore gives replicas to partitions added to a topic: more of them, the first
// being number existing. The start is where the first replica of partition 0 stands
// among the brokers, which must be in ascending order. Mirrors
// AdminZkClient.createNewPartitionsAssignment.
func AssignMore(brokers []Broker, more int, partition0 []int32, existing int) (Assignment, error) {
	if err := checkCounts(brokers, more, len(partition0)); err != nil {
		return nil, err
	}
	start := max(0, slices.IndexFunc(brokers, func(b Broker) bool { return b.ID >= partition0[0] }))
	return assign(brokers, more, len(partition0), start, start, existing)
}

func checkCounts(brokers []Broker, partitions, replicationFactor int) error {
	switch {
	case partitions <= 0:
		return kafkaerr.New(kafkaerr.InvalidPartitions, "Number of partitions must be larger than 0.")
	case replicationFactor <= 0:
		return kafkaerr.New(kafkaerr.InvalidReplicationFactor, "Replication factor must be larger than 0.")
	case replicationFactor > len(brokers):
		return kafkaerr.New(kafkaerr.InvalidReplicationFactor,
			fmt.Sprintf("Replication factor: %d larger than available brokers: %d.", replicationFactor, len(brokers)))
	case partitions > maxPartitions(replicationFactor):
		return kafkaerr.New(kafkaerr.InvalidPartitions,
			fmt.Sprintf("Number of partitions must be at most %d with replication factor %d: all must fit into one znode.", maxPartitions(replicationFactor), replicationFactor))
	}
	return nil
}

// maxZnode is ZooKeeper's jute.maxbuffer: a larger request ends the session.
const maxZnode = 1 << 20

// maxPartitions is how many partitions surely fit into a topic's znode: each takes its
// number in quotes and, for every replica, a broker id and a comma.
func maxPartitions(replicationFactor int) int { return maxZnode / (12 + 11*replicationFactor) }

// errSomeRacks is no rule of Kafka's protocol: clients see UNKNOWN_SERVER_ERROR.
var errSomeRacks = errors.New("some brokers have a rack and others have none, so replicas cannot be spread over racks")

// assign is the algorithm with all chance taken out. shift grows by one each time the
// leaders have gone round, so that the followers of a broker's partitions are spread.
func assign(brokers []Broker, partitions, replicationFactor, start, shift, firstPartition int) (Assignment, error) {
	racked := 0
	for _, b := range brokers {
		if b.Rack != "" {
			racked++
		}
	}
	list, racks := brokers, 1
	switch racked {
	case 0:
	case len(brokers):
		list, racks = alternateRacks(brokers)
	default:
		return nil, errSomeRacks
	}
	out := make(Assignment, partitions)
	n := len(list)
	for p := firstPartition; p < firstPartition+partitions; p++ {
		if p > 0 && p%n == 0 {
			shift++
		}
		first := (p + start) % n
		if racked == 0 {
			out[int32(p)] = followLeader(list, replicationFactor, first, shift)
		} else {
			out[int32(p)] = followAcrossRacks(list, racks, replicationFactor, first, shift)
		}
	}
	return out, nil
}

// replicaIndex is where the replica number j stands when the leader stands at first.
func replicaIndex(first, shift, j, n int) int { return (first + 1 + (shift+j)%(n-1)) % n }

// followLeader takes the leader and, at growing distance from it, its followers.
func followLeader(list []Broker, replicationFactor, first, shift int) []int32 {
	out := []int32{list[first].ID}
	for j := range replicationFactor - 1 {
		out = append(out, list[replicaIndex(first, shift, j, len(list))].ID)
	}
	return out
}

// followAcrossRacks does the same, but passes over a rack that has a replica while
// another has none, and over a broker that has one while another has none.
func followAcrossRacks(list []Broker, racks, replicationFactor, first, shift int) []int32 {
	n := len(list)
	out := []int32{list[first].ID}
	usedRacks := map[string]bool{list[first].Rack: true}
	k := 0
	for len(out) < replicationFactor {
		candidate := list[replicaIndex(first, shift*racks, k, n)]
		k++
		newRack := !usedRacks[candidate.Rack] || len(usedRacks) == racks
		newBroker := !slices.Contains(out, candidate.ID) || len(out) == n
		if newRack && newBroker {
			out = append(out, candidate.ID)
			usedRacks[candidate.Rack] = true
		}
	}
	return out
}

// alternateRacks orders brokers so that neighbours stand in different racks: one of
// each rack in turn, racks by name, brokers by id.
func alternateRacks(brokers []Broker) (list []Broker, racks int) {
	byRack := map[string][]Broker{}
	var names []string
	for _, b := range brokers {
		if byRack[b.Rack] == nil {
			names = append(names, b.Rack)
		}
		byRack[b.Rack] = append(byRack[b.Rack], b)
	}
	slices.Sort(names)
	for _, name := range names {
		slices.SortFunc(byRack[name], func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	}
	for len(list) < len(brokers) {
		for _, name := range names {
			if rest := byRack[name]; len(rest) > 0 {
				list, byRack[name] = append(list, rest[0]), rest[1:]
			}
		}
	}
	return list, len(names)
}
