package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"kz/internal/clustertest"
	"kz/internal/zktest"
)

// What is counted is what was committed: in ZooKeeper a write for each offset, in the
// log a record for each, in both with dual. Nothing is left of the groups.
func TestBenchOffsets(t *testing.T) {
	zk := zktest.Start(t)
	b := clustertest.StartInProcess(t, zk.Addr, 1, map[string]string{"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3"}).Brokers[1]
	where := []string{"bench", "offsets", "--bootstrap-server", b.Addr, "--zookeeper", zk.Addr, "--consumers", "3", "--partitions", "2", "--commits", "5"}
	stdout, stderr, exit := kz(t, append(where, "-o", "json")...)
	var got []offsetsResult
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || exit != 0 || len(got) != 3 {
		t.Fatalf("exit %d, %v: %s %s", exit, err, stdout, stderr)
	}
	const offsets = 3 * 2 * 5
	for _, r := range got {
		znodes, records := int64(offsets), int64(offsets)
		switch r.Storage {
		case "zookeeper":
			records = 0
		case "kafka":
			znodes = 0
		}
		if r.ZnodeWrites != znodes || r.ZnodeBytes != 7*znodes || r.LogRecords != records || (r.LogBytes > 0) != (records > 0) || r.Commits != 15 || r.CommitsPerSecond <= 0 {
			t.Errorf("%+v", r)
		}
		if r.ZkTransactions == nil || *r.ZkTransactions < znodes || r.Watches == nil {
			t.Errorf("%s: ZooKeeper's own numbers: %v %v", r.Storage, r.ZkTransactions, r.Watches)
		}
	}
	if left, _, _ := kz(t, "zk", "ls", "--zookeeper", zk.Addr, "/consumers"); left != "" {
		t.Errorf("left in ZooKeeper: %s", left)
	}
	if left, _, _ := kz(t, "consumer-groups", "--bootstrap-server", b.Addr, "--list"); left != "" {
		t.Errorf("left in Kafka: %s", left)
	}
	stdout, _, exit = kz(t, append(where, "--storage", "kafka")...)
	if exit != 0 || !strings.Contains(stdout, "ZNODE-WRITES") || !strings.Contains(stdout, "15 commits of 2 offsets") {
		t.Errorf("exit %d: %s", exit, stdout)
	}
	for _, wrong := range [][]string{{"--storage", "zookeper"}, {"--consumers", "0"}, {"-o", "xml"}} {
		if _, stderr, exit := kz(t, append(where, wrong...)...); exit != exitUsage {
			t.Errorf("%v: exit %d: %s", wrong, exit, stderr)
		}
	}
}
