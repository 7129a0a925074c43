package clustertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
	"kz/internal/zktest"
)

// referenceKafka is the script that runs Apache Kafka's own tools, or a skip when java is missing.
func referenceKafka(t *testing.T) string {
	t.Helper()
	needs(t, "java", "KZ_REQUIRE_JAVA")
	needs(t, "mvn", "KZ_REQUIRE_JAVA")
	script, err := filepath.Abs("../../scripts/reference-kafka.sh")
	must(t, err)
	output(t, nil, script, "fetch")
	return script
}

// Kafka's own tools, unchanged: topics both ways, console producer and consumer, perf test, dump-log.
func TestJavaTools(t *testing.T) {
	kafka := referenceKafka(t)
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	seeds := strings.Join(c.Seeds(), ",")
	run := func(stdin []byte, args ...string) string { return string(output(t, stdin, kafka, args...)) }
	contains := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}

	contains(run(nil, "kafka-topics", "--bootstrap-server", seeds, "--create", "--topic", "java", "--partitions", "2", "--replication-factor", "3", "--config", "min.insync.replicas=2"), "Created topic java.")
	contains(run(nil, "kafka-topics", "--zookeeper", c.Zookeeper, "--create", "--topic", "straight", "--partitions", "3", "--replication-factor", "2"), "Created topic straight.")
	clustertest.AwaitISR(t, c.Client(), "straight", 2, 60*time.Second)
	list := run(nil, "kafka-topics", "--bootstrap-server", seeds, "--list")
	contains(list, "java\n")
	contains(list, "straight\n")
	contains(run(nil, "kafka-topics", "--zookeeper", c.Zookeeper, "--list"), "java\n")
	for _, where := range [][]string{{"--bootstrap-server", seeds}, {"--zookeeper", c.Zookeeper}} {
		d := run(nil, append([]string{"kafka-topics", "--describe", "--topic", "java"}, where...)...)
		contains(d, "PartitionCount: 2")
		contains(d, "min.insync.replicas=2")
		contains(d, "Topic: java\tPartition: 1\tLeader: ")
	}
	run(nil, "kafka-topics", "--bootstrap-server", seeds, "--alter", "--topic", "java", "--partitions", "3")
	contains(run(nil, "kafka-topics", "--bootstrap-server", seeds, "--describe", "--topic", "java"), "PartitionCount: 3")
	run(nil, "kafka-topics", "--zookeeper", c.Zookeeper, "--alter", "--topic", "java", "--partitions", "4")
	clustertest.AwaitISR(t, c.Client(), "java", 3, 60*time.Second)

	const n = 5000
	run(numbers(n), "kafka-console-producer", "--bootstrap-server", seeds, "--topic", "straight", "--request-required-acks", "all")
	got := map[string]bool{}
	for p := range 3 {
		end := len(clustertest.ReadAll(t, c.Seeds(), "straight", int32(p)))
		if end == 0 {
			continue
		}
		out := run(nil, "kafka-console-consumer", "--bootstrap-server", seeds, "--topic", "straight", "--partition", fmt.Sprint(p), "--offset", "earliest", "--max-messages", fmt.Sprint(end))
		for line := range strings.Lines(out) {
			got[strings.TrimSpace(line)] = true
		}
	}
	for i := 1; i <= n; i++ {
		if !got[fmt.Sprint(i)] {
			t.Fatalf("the console consumer did not print %d (it printed %d lines)", i, len(got))
		}
	}
	perf := run(nil, "kafka-producer-perf-test", "--topic", "java", "--num-records", "100000", "--record-size", "1000", "--throughput", "-1", "--producer-props", "bootstrap.servers="+seeds, "acks=all", "compression.type=lz4")
	contains(perf, "100000 records sent")
	t.Log(strings.TrimSpace(perf))

	c.Nodes[1].Stop()
	checkDump(t, kafka, c.Nodes[1].LogDir)
}

// checkDump lets kafka-dump-log.sh read every segment, with its sanity checks.
func checkDump(t *testing.T, kafka, logDir string) {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/*.log", "*/*.index"} {
		found, err := filepath.Glob(filepath.Join(logDir, pattern))
		must(t, err)
		for _, f := range found {
			if st, err := os.Stat(f); err == nil && st.Size() > 0 {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		t.Fatal("no segments to dump")
	}
	out := string(output(t, nil, kafka, "kafka-dump-log", "--deep-iteration", "--files", strings.Join(files, ",")))
	if !strings.Contains(out, "isvalid: true") {
		t.Errorf("dump-log shows no valid batch:\n%.2000s", out)
	}
	for _, complaint := range []string{"isvalid: false", "Exception", "Found timestamp mismatch", "Mismatches in", "Non-consecutive", "Non-secutive"} {
		if strings.Contains(out, complaint) {
			t.Errorf("dump-log complains: %q", complaint)
		}
	}
}
