package clustertest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/journal"
	"kz/internal/zktest"
)

// damage is one way to find a log directory after an unclean stop. It gets the partition's directory
// and the segments' base names, oldest first.
type damage struct {
	name   string
	mended bool // the journal must say so
	do     func(t *testing.T, dir string, bases []string)
}

var damages = []damage{
	{"torn tail: half a batch", true, func(t *testing.T, dir string, bases []string) {
		appendTo(t, filepath.Join(dir, bases[len(bases)-1]+".log"), []byte{0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 200, 1, 2, 3})
	}},
	{"torn tail: zeros", true, func(t *testing.T, dir string, bases []string) {
		appendTo(t, filepath.Join(dir, bases[len(bases)-1]+".log"), make([]byte, 4096))
	}},
	{"missing index", true, func(t *testing.T, dir string, bases []string) {
		must(t, os.Remove(filepath.Join(dir, bases[0]+".index")))
		must(t, os.Remove(filepath.Join(dir, bases[len(bases)-1]+".timeindex")))
	}},
	{"empty index", true, func(t *testing.T, dir string, bases []string) {
		must(t, os.Truncate(filepath.Join(dir, bases[0]+".index"), 0))
		must(t, os.Truncate(filepath.Join(dir, bases[0]+".timeindex"), 0))
	}},
	{"corrupt index", true, func(t *testing.T, dir string, bases []string) {
		for _, b := range bases {
			must(t, os.WriteFile(filepath.Join(dir, b+".index"), []byte(strings.Repeat("garbage!", 40)), 0o644))
			must(t, os.WriteFile(filepath.Join(dir, b+".timeindex"), []byte(strings.Repeat("never a time", 40)), 0o644))
		}
	}},
	{"stale recovery point", false, func(t *testing.T, dir string, _ []string) {
		writeCheckpoint(t, dir, "recovery-point-offset-checkpoint", "0\n1\norders 0 999999999\n")
	}},
	{"stale high watermark", false, func(t *testing.T, dir string, _ []string) {
		writeCheckpoint(t, dir, "replication-offset-checkpoint", "0\n1\norders 0 999999999\n")
	}},
	{"malformed checkpoints", true, func(t *testing.T, dir string, _ []string) {
		writeCheckpoint(t, dir, "recovery-point-offset-checkpoint", "0\n7\nor")
		writeCheckpoint(t, dir, "replication-offset-checkpoint", "zero\n")
		writeCheckpoint(t, dir, "log-start-offset-checkpoint", "")
	}},
	{"nothing: killed as it was", false, func(*testing.T, string, []string) {}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = f.Write(b)
	must(t, err)
	must(t, f.Close())
}

func writeCheckpoint(t *testing.T, partitionDir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(filepath.Dir(partitionDir), name), []byte(text), 0o644))
}

// One broker, one partition, small segments: kill -9, damage the directory, start again. Every
// acknowledged record is served, and the journal says what was mended.
func TestDamagedDirectoriesAreMended(t *testing.T) {
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 1, quick("log.segment.bytes", "65536", "log.index.interval.bytes", "1024"))
	cl := c.Client()
	clustertest.CreateTopic(t, cl, "orders", 1, 1)
	w := clustertest.StartWorkload(t, c.Seeds(), "orders", 1, 100, 200, kgo.AllISRAcks())
	node := c.Nodes[1]
	dir := filepath.Join(node.LogDir, "orders-0")
	for _, d := range damages {
		w.AwaitAcks(t, 1500, 60*time.Second)
		node.Kill()
		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		must(t, err)
		if len(logs) < 2 {
			t.Fatalf("only %d segments: the damage would show nothing", len(logs))
		}
		var bases []string
		for _, l := range logs {
			bases = append(bases, strings.TrimSuffix(filepath.Base(l), ".log"))
		}
		slices.Sort(bases)
		t.Logf("%s (%d segments)", d.name, len(bases))
		before := clustertest.Count(c.Events(t), journal.Recovery)
		d.do(t, dir, bases)
		node.StartServing()
		w.AwaitAcks(t, 10, 60*time.Second)
		if d.mended && clustertest.Count(c.Events(t), journal.Recovery) == before {
			t.Errorf("%s: the journal does not say what was mended", d.name)
		}
	}
	w.Stop()
	w.Check(t, c.Seeds()).MustBeWhole(t)
}

// kill -9 again and again while segments roll every few dozen records.
func TestKillsDuringRoll(t *testing.T) {
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 1, quick("log.segment.bytes", "4096", "log.index.interval.bytes", "256"))
	cl := c.Client()
	clustertest.CreateTopic(t, cl, "orders", 2, 1)
	w := clustertest.StartWorkload(t, c.Seeds(), "orders", 2, 20, 100, kgo.AllISRAcks())
	random := clustertest.Seeded(t)
	for range clustertest.Rounds(t, 6) {
		w.AwaitAcks(t, 200+random.Int64N(1000), 60*time.Second)
		c.Nodes[1].Kill()
		c.Nodes[1].StartServing()
		w.AwaitEveryPartition(t, 60*time.Second)
	}
	w.Stop()
	w.Check(t, c.Seeds()).MustBeWhole(t)
}

// 2,000 partitions on three brokers: one is killed, and each partition has a leader again soon after
// the session's end. How soon is printed, and so is each broker's memory.
func TestTwoThousandPartitions(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of partitions: left out of short runs")
	}
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick("zookeeper.session.timeout.ms", "6000", "replica.lag.time.max.ms", "30000"))
	cl := c.Client()
	const topic, partitions = "many", 2000
	begin := time.Now()
	clustertest.CreateTopic(t, cl, topic, partitions, 3)
	t.Logf("%d partitions created, all in sync, after %v", partitions, time.Since(begin).Round(time.Millisecond))
	for _, n := range c.Sorted() {
		t.Logf("broker %d: %d MB resident", n.ID, residentMB(t, n.Pid()))
	}
	controller := c.Controller(60 * time.Second)
	victim := c.Nodes[1+controller%3] // not the controller
	victim.Kill()
	gone := time.Now()
	var expired time.Time
	clustertest.Eventually(t, 120*time.Second, "a leader for each partition", func() (bool, string) {
		m, err := clustertest.Partitions(cl, topic)
		if err != nil {
			return false, err.Error()
		}
		if expired.IsZero() && !registered(t, zk, victim.ID) {
			expired = time.Now()
		}
		headless := 0
		for _, p := range m {
			if p.Leader < 0 || p.Leader == victim.ID {
				headless++
			}
		}
		return headless == 0, fmt.Sprintf("%d of %d have none", headless, len(m))
	})
	t.Logf("every partition has a leader %v after the kill, %v after the session's end was seen", time.Since(gone).Round(time.Millisecond), time.Since(expired).Round(time.Millisecond))
	for _, n := range c.Sorted() {
		if n.Running() {
			t.Logf("broker %d: %d MB resident", n.ID, residentMB(t, n.Pid()))
		}
	}
	victim.StartServing()
	clustertest.AwaitISRStored(t, clustertest.Znodes(t, zk.Addr), topic, partitions, 3, 120*time.Second)
	mustReignAlone(t, c, zk)
}

// registered says whether ZooKeeper's log shows the broker's node.
func registered(t *testing.T, zk *zktest.Server, id int32) bool {
	t.Helper()
	txns, err := clustertest.ReadTxnLog(zk.DataDir())
	must(t, err)
	owner := int64(0)
	for _, x := range txns {
		if x.Type == "create" && x.Path == fmt.Sprintf("/brokers/ids/%d", id) {
			owner = x.Session
		}
		if x.Type == "close-session" && x.Session == owner {
			owner = 0
		}
	}
	return owner != 0
}

// residentMB is VmRSS of a process, and -1 where the system has no /proc.
func residentMB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil && runtime.GOOS != "linux" {
		return -1
	}
	must(t, err)
	for _, line := range strings.Split(string(b), "\n") {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
