package admin

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"kz/internal/kafkaerr"
)

func plainBrokers(ids ...int32) (out []Broker) {
	for _, id := range ids {
		out = append(out, Broker{ID: id})
	}
	return out
}

// Ref: Kafka 2.8 AdminUtils.assignReplicasToBrokersRackUnaware; worked by hand
func TestAssignRackUnaware(t *testing.T) {
	brokers := plainBrokers(101, 102, 103, 104)
	got, err := assign(brokers, 6, 3, 2, 1, 0)
	want := Assignment{0: {103, 101, 102}, 1: {104, 102, 103}, 2: {101, 103, 104}, 3: {102, 104, 101}, 4: {103, 102, 104}, 5: {104, 103, 101}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	more, err := AssignMore(brokers, 2, got[0], 6)
	want = Assignment{6: {101, 104, 102}, 7: {102, 101, 103}}
	if err != nil || !reflect.DeepEqual(more, want) {
		t.Errorf("added partitions do not start from the first replica of partition 0: %v, %v", more, err)
	}
}

// Ref: Kafka 2.8 AdminUtils.assignReplicasToBrokersRackAware; worked by hand
func TestAssignRackAware(t *testing.T) {
	brokers := []Broker{{1, "a"}, {2, "a"}, {3, "b"}, {4, "b"}, {5, "c"}}
	got, err := assign(brokers, 6, 3, 1, 1, 0)
	want := Assignment{0: {3, 1, 5}, 1: {5, 3, 2}, 2: {2, 5, 4}, 3: {4, 2, 5}, 4: {1, 4, 5}, 5: {3, 1, 5}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// What Kafka 2.8.2 wrote when a topic of 3 partitions over brokers 1, 2, 3 got 2 more.
func TestAssignMoreAsCaptured(t *testing.T) {
	got, err := AssignMore(plainBrokers(1, 2, 3), 2, []int32{2, 3, 1}, 3)
	if want := (Assignment{3: {2, 3, 1}, 4: {3, 1, 2}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	got, err = AssignMore(plainBrokers(1, 2, 3), 2, []int32{3, 2, 1}, 3)
	if want := (Assignment{3: {3, 2, 1}, 4: {1, 3, 2}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Ref: Kafka 2.8 AdminUtils.assignReplicasToBrokers
func TestAssignRefuses(t *testing.T) {
	for _, row := range []struct {
		rule           string
		brokers        []Broker
		partitions, rf int
		code           kafkaerr.Code
		message        string
	}{
		{"partitions come before replicas", plainBrokers(1), 0, 9, kafkaerr.InvalidPartitions, "Number of partitions must be larger than 0."},
		{"no replicas", plainBrokers(1), 1, 0, kafkaerr.InvalidReplicationFactor, "Replication factor must be larger than 0."},
		{"too few brokers", plainBrokers(1, 2, 3), 1, 4, kafkaerr.InvalidReplicationFactor, "Replication factor: 4 larger than available brokers: 3."},
		{"no brokers", nil, 1, 1, kafkaerr.InvalidReplicationFactor, "Replication factor: 1 larger than available brokers: 0."},
		{"racks on some only", []Broker{{1, "a"}, {2, ""}}, 1, 1, kafkaerr.UnknownServerError, ""},
		{"more than a znode holds", plainBrokers(1), 1 << 30, 1, kafkaerr.InvalidPartitions, "Number of partitions must be at most 45590 with replication factor 1: all must fit into one znode."},
	} {
		t.Run(row.rule, func(t *testing.T) {
			_, err := Assign(row.brokers, row.partitions, row.rf)
			if err == nil || kafkaerr.CodeOf(err) != row.code || kafkaerr.MessageOf(err) != row.message {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Whatever the brokers: replicas are distinct, leaders even to within one, and with as
// many racks as replicas no partition has two replicas in one rack.
func TestAssignSpreads(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		n, racks := 1+r.IntN(9), r.IntN(4)
		var brokers []Broker
		for i := range n {
			b := Broker{ID: int32(i * 3)}
			if racks > 0 {
				b.Rack = fmt.Sprint("r", i%racks)
			}
			brokers = append(brokers, b)
		}
		rf, partitions := 1+r.IntN(n), 1+r.IntN(30)
		got, err := Assign(brokers, partitions, rf)
		if err != nil || len(got) != partitions {
			t.Fatal(got, err)
		}
		leaders := map[int32]int{}
		for p, replicas := range got {
			leaders[replicas[0]]++
			seen, seenRacks := map[int32]bool{}, map[string]bool{}
			for _, id := range replicas {
				seen[id] = true
				seenRacks[brokers[slices.IndexFunc(brokers, func(b Broker) bool { return b.ID == id })].Rack] = true
			}
			if len(seen) != rf {
				t.Fatalf("partition %d: %v", p, replicas)
			}
			if want := min(rf, racks, n); racks > 0 && len(seenRacks) != want {
				t.Fatalf("partition %d on %d racks, could be %d: %v", p, len(seenRacks), want, replicas)
			}
		}
		for id, count := range leaders {
			if count > (partitions+n-1)/n {
				t.Fatalf("broker %d leads %d of %d partitions over %d brokers", id, count, partitions, n)
			}
		}
	}
}
