package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/zk"
	"kz/internal/zktest"
	"kz/zkpaths"
)

// console-consumer --zookeeper: the member's znodes go, a group that was named keeps its
// offsets and nothing else, one that was not leaves no trace.
func TestConsoleConsumerOfOld(t *testing.T) {
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, nil)
	zookeeper, addr := b.Ground.Zookeeper.Connect(), b.Brokers[1].Addr
	a := admin.New(client.DefaultConfig(addr))
	defer a.Close()
	if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "c1", Partitions: 2, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i := range 16 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	if _, stderr, exit := kzWithInput(t, lines.String(), "console-producer", "--bootstrap-server", addr, "--topic", "c1"); exit != 0 {
		t.Fatal(stderr)
	}
	consume := func(wantExit int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, exit := kz(t, append([]string{"console-consumer", "--zookeeper", zookeeper, "--topic", "c1"}, args...)...)
		if exit != wantExit {
			t.Fatalf("%v: exit %d, %s", args, exit, stderr)
		}
		return stdout, stderr
	}
	znodes := clustertest.Znodes(t, zookeeper)
	children := func(path string) []string {
		t.Helper()
		names, err := znodes.Children(t.Context(), path, false)
		if err != nil {
			t.Fatal(path, err)
		}
		return names
	}

	if got, stderr := consume(0, "--from-beginning", "--max-messages", "16"); strings.Count(got, "line ") != 16 || !strings.Contains(stderr, "Processed a total of 16 messages") {
		t.Errorf("printed %q, %q", got, stderr)
	}
	if left := children(zkpaths.Consumers); len(left) != 0 {
		t.Errorf("the group without a name left %v", left)
	}

	consume(0, "--from-beginning", "--group", "g", "--max-messages", "5")
	committed := func() (sum int) {
		for p := range int32(2) {
			data, _, err := znodes.Get(t.Context(), zkpaths.ConsumerOffset("g", "c1", p))
			if err == zk.NoNode {
				continue
			}
			n, _ := strconv.Atoi(string(data))
			sum += n
		}
		return sum
	}
	if n := committed(); n != 5 {
		t.Errorf("5 were printed, %d are committed", n)
	}
	for _, path := range []string{"/ids", "/owners/c1"} {
		if left := children(zkpaths.Consumers + "/g" + path); len(left) != 0 {
			t.Errorf("%s: %v is left", path, left)
		}
	}
	if _, stderr := consume(1, "--from-beginning", "--group", "g"); !strings.Contains(stderr, "Found previous offset information for this group g") {
		t.Error(stderr)
	}
	if got, _ := consume(0, "--group", "g", "--max-messages", "11"); strings.Count(got, "line ") != 11 || committed() != 16 {
		t.Errorf("the rest: %q; committed %d", got, committed())
	}
	if got, _ := consume(0, "--from-beginning", "--delete-consumer-offsets", "--group", "g", "--max-messages", "16"); strings.Count(got, "line ") != 16 {
		t.Errorf("after --delete-consumer-offsets: %q", got)
	}
}

func TestConsoleConsumerOfOldFlags(t *testing.T) {
	for _, row := range []struct{ args, says string }{
		{"--topic t --bootstrap-server 127.0.0.1:1 --zookeeper 127.0.0.1:1", "Option bootstrap-server and --zookeeper cannot be specified together"},
		{"--topic t --partition 0 --zookeeper 127.0.0.1:1", "Option partition and --zookeeper cannot"},
		{"--blacklist t --bootstrap-server 127.0.0.1:1", "Option blacklist needs --zookeeper"},
		{"--topic t --blacklist t --zookeeper 127.0.0.1:1", "Exactly one of whitelist/blacklist/topic"},
		{"--zookeeper 127.0.0.1:1", "Exactly one of whitelist/blacklist/topic"},
		{"--topic t --zookeeper 127.0.0.1:x", "zookeeper.connect=127.0.0.1:x"},
		{"--topic t --zookeeper 127.0.0.1:1 --consumer-property auto.offset.reset=latest", "must be one of largest, smallest"},
		{"--topic t --zookeeper 127.0.0.1:1 --from-beginning --consumer-property auto.offset.reset=largest", "Can't simultaneously specify"},
		{"--topic t --zookeeper 127.0.0.1:1 --consumer-property partition.assignment.strategy=roundrobin", "the rule range only"},
		{"--topic t --zookeeper 127.0.0.1:1 --consumer-property offsets.storage=disk", "must be one of zookeeper, kafka"},
		{"--topic t --zookeeper 127.0.0.1:1 --group a/b --consumer-property zookeeper.connection.timeout.ms=10", "it names a znode"},
		{"--topic t --zookeeper 127.0.0.1:1 --consumer-property zookeeper.connection.timeout.ms=10", "ZooKeeper at 127.0.0.1:1"},
	} {
		_, stderr, exit := kz(t, append([]string{"console-consumer"}, strings.Fields(row.args)...)...)
		if exit != 1 || !strings.Contains(stderr, row.says) {
			t.Errorf("%s: exit %d, %q", row.args, exit, stderr)
		}
	}
}
