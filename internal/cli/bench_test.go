package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kz/client"
	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/link"
	"kz/internal/zktest"
	"kz/zkpaths"
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
	for _, wrong := range [][]string{{"--storage", "zookeper"}, {"--consumers", "0"}, {"-o", "xml"}, {"kafka"}} {
		if _, stderr, exit := kz(t, append(where, wrong...)...); exit != exitUsage {
			t.Errorf("%v: exit %d: %s", wrong, exit, stderr)
		}
	}
}

// Long work says how far it is, and nothing after its end.
func TestTellEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		stop := tellEvery(5*time.Second, &env{stderr: &out}, func() string { return "so far" })
		time.Sleep(11 * time.Second)
		stop()
		time.Sleep(time.Minute)
		if out.String() != "so far\nso far\n" {
			t.Errorf("printed %q", out.String())
		}
	})
}

// Ctrl-C in the middle ends it with 130, and nothing is left of the groups.
func TestBenchOffsetsInterrupted(t *testing.T) {
	zk := zktest.Start(t)
	b := clustertest.StartInProcess(t, zk.Addr, 1, map[string]string{"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3"}).Brokers[1]
	ctx, interrupt := context.WithCancel(t.Context())
	exit := make(chan int)
	var out, errs bytes.Buffer
	go func() {
		e := &env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, network: link.TCP{}}
		exit <- run(ctx, e, []string{"kz", "bench", "offsets", "--bootstrap-server", b.Addr, "--zookeeper", zk.Addr,
			"--consumers", "3", "--partitions", "2", "--commits", "100000", "--storage", "dual"})
	}()
	a, znodes := admin.New(client.DefaultConfig(b.Addr)), clustertest.Znodes(t, zk.Addr)
	defer a.Close()
	left := func() string {
		names, err := znodes.Children(t.Context(), zkpaths.Consumers, false)
		groups, gerr := a.ListGroups(t.Context(), nil)
		return fmt.Sprint(names, groups, err, gerr)
	}
	clustertest.Eventually(t, 30*time.Second, "the groups to be there", func() (bool, string) {
		s := left()
		return strings.Count(s, "kz-bench-") == 6, s
	})
	interrupt()
	if code := <-exit; code != exitInterrupted || out.Len() > 0 {
		t.Errorf("exit %d: %s %s", code, out.String(), errs.String())
	}
	if s := left(); s != "[] [] <nil> <nil>" {
		t.Errorf("left: %s; %s", s, errs.String())
	}
}
