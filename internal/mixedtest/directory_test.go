package mixedtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/zktest"
)

// lives is what opens one log directory, one after the other, and how each life before it ended.
var lives = []struct {
	kind  clustertest.Kind
	after string // "", "clean", "kill -9"
}{
	{clustertest.Kafka, ""},
	{clustertest.KZ, "clean"},
	{clustertest.Kafka, "clean"},
	{clustertest.KZ, "kill -9"},
	{clustertest.Kafka, "kill -9"},
}

// One broker id, one directory, two programs by turns, under a load that goes on: what one wrote the
// other opens, serves and continues. After a clean stop neither recovers anything; after kill -9 each
// recovers what the other left.
func TestOneDirectoryTwoPrograms(t *testing.T) {
	needsKafka(t)
	zk := zktest.Start(t)
	c := clustertest.NewProcesses(t, zk.Addr)
	node := c.Add(1, quick("log.segment.bytes", "65536", "log.index.interval.bytes", "1024", "log.flush.interval.messages", "500"))
	var load *clustertest.Workload
	const topic, partitions = "orders", 3
	for i, life := range lives {
		switch life.after {
		case "clean":
			node.Stop()
		case "kill -9":
			node.Kill()
		}
		t.Logf("life %d: %s, after %q", i, life.kind, life.after)
		if life.after != "" {
			checkCleanMark(t, node.LogDir, life.after == "clean")
		}
		node.Become(life.kind)
		before, mended := logSize(t, node.Log), recoveries(t, c)
		node.StartServing()
		if load == nil {
			clustertest.CreateTopic(t, c.Client(), topic, partitions, 1)
			load = clustertest.StartWorkload(t, c.Seeds(), topic, partitions, 20, 100, kgo.AllISRAcks(), kgo.ProducerBatchCompression(kgo.SnappyCompression(), kgo.NoCompression()))
		}
		load.AwaitEveryPartition(t, 60*time.Second)
		load.AwaitAcks(t, 3000, 60*time.Second)
		said := from(t, node.Log, before)
		if life.kind == clustertest.KZ {
			if n := recoveries(t, c) - mended; life.after == "clean" && n != 0 {
				t.Errorf("kz mended %d logs that Kafka had closed cleanly", n)
			}
			continue
		}
		if skipped := strings.Contains(said, "Skipping recovery for all logs"); skipped != (life.after == "clean") {
			t.Errorf("Kafka skips recovery: %v, after %q", skipped, life.after)
		}
	}
	load.Stop()
	load.Check(t, c.Seeds()).MustBeWhole(t)
	if load.Failed() > 0 {
		t.Logf("the client gave up %d records", load.Failed())
	}
	uncomplaining(t, c)
}

// checkCleanMark looks for Kafka's mark of a clean stop.
func checkCleanMark(t *testing.T, logDir string, want bool) {
	t.Helper()
	_, err := os.Stat(filepath.Join(logDir, ".kafka_cleanshutdown"))
	if got := err == nil; got != want {
		t.Errorf("mark of a clean stop: %v, want %v", got, want)
	}
}

func recoveries(t *testing.T, c *clustertest.Processes) int {
	t.Helper()
	if _, err := os.Stat(c.Nodes[1].Journal); os.IsNotExist(err) {
		return 0
	}
	return clustertest.Count(c.Events(t), journal.Recovery)
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0
	}
	must(t, err)
	return st.Size()
}

// from is what a file holds behind its first n bytes.
func from(t *testing.T, path string, n int64) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	if int64(len(b)) < n {
		t.Fatal(fmt.Errorf("%s became shorter", path))
	}
	return string(b[n:])
}
