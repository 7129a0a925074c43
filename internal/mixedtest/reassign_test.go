package mixedtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zk"
	"kz/zkpaths"
)

// reassignAndDelete lets a controller that runs Apache Kafka move partitions between the kinds, and delete
// the topic: replicas begin as followers that need everything, end by StopReplica with deletion, and leave
// no directory behind.
func (x *cell) reassignAndDelete() {
	x.Helper()
	const topic = "moved"
	must(x.T, clustertest.CreateAssigned(x.cl, topic, [][]int32{{1}, {2}, {3}}, "segment.bytes", "65536"))
	cl := x.c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var records []*kgo.Record
	for i := range 3000 {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 3), Value: []byte(fmt.Sprintf("%d-%s", i, strings.Repeat("x", 100)))})
	}
	ctx, cancel := context.WithTimeout(x.Context(), 90*time.Second)
	defer cancel()
	must(x.T, cl.ProduceSync(ctx, records...).FirstErr())

	want := [][]int32{{2}, {1}, {3, 1}} // Kafka to kz, kz to Kafka, Kafka beside kz
	var moves []zkpaths.Reassignment
	for p, replicas := range want {
		moves = append(moves, zkpaths.Reassignment{TopicPartition: zkpaths.TopicPartition{Topic: topic, Partition: int32(p)}, Replicas: replicas})
	}
	must(x.T, x.znodes.Do(ctx, zk.CreateOp(zkpaths.ReassignPartitions, zkpaths.EncodeReassignments(moves)))[0].Err)
	eventually(x.T, 60*time.Second, "the reassignment to end", func() (bool, string) {
		parts, err := clustertest.Partitions(x.cl, topic)
		if err != nil {
			return false, err.Error()
		}
		for i, p := range parts {
			if !slices.Equal(p.Replicas, want[i]) || !slices.Contains(want[i], p.Leader) {
				return false, fmt.Sprintf("partition %d: replicas %v, leader %d", i, p.Replicas, p.Leader)
			}
		}
		_, there, err := x.znodes.Exists(ctx, zkpaths.ReassignPartitions)
		return err == nil && !there, fmt.Sprint("znode ", there, err)
	})
	x.c.ReplicasEqual(x.cl, topic, 60*time.Second)
	for p := range int32(3) {
		if n := len(clustertest.ReadAll(x.T, x.c.Seeds(), topic, p)); n != 1000 {
			x.Errorf("%s-%d holds %d records after it was moved, want 1000", topic, p, n)
		}
	}
	x.awaitDirectories(topic, map[int32][]int{1: {1, 2}, 2: {0}, 3: {2}})

	r, err := kadm.NewClient(x.cl).DeleteTopics(ctx, topic)
	must(x.T, err)
	must(x.T, r[topic].Err)
	x.awaitDirectories(topic, nil)
}

// awaitDirectories waits until each broker has directories of just these partitions of a topic; those
// renamed for deletion do not count.
func (x *cell) awaitDirectories(topic string, want map[int32][]int) {
	x.Helper()
	for _, n := range x.c.Sorted() {
		eventually(x.T, 60*time.Second, fmt.Sprintf("broker %d (%s) to hold partitions %v of %s", n.ID, n.Kind, want[n.ID], topic), func() (bool, string) {
			found, err := filepath.Glob(filepath.Join(n.LogDir, topic+"-*"))
			if err != nil {
				return false, err.Error()
			}
			var have []int
			for _, dir := range found {
				var p int
				if _, err := fmt.Sscanf(strings.TrimPrefix(filepath.Base(dir), topic+"-"), "%d", &p); err == nil && filepath.Base(dir) == fmt.Sprintf("%s-%d", topic, p) {
					if st, err := os.Stat(dir); err == nil && st.IsDir() {
						have = append(have, p)
					}
				}
			}
			slices.Sort(have)
			return slices.Equal(have, want[n.ID]), fmt.Sprintf("%v", found)
		})
	}
}
