package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/journal"
	"kz/zkpaths"
)

// goldenOp is an operation in testdata/first-broker-writes.jsonl.
type goldenOp struct {
	Op, Path, Error string
	Parts           []goldenOp
}

func readLines[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// flat gives "op path result" of every write, checks left out, as our journal has them.
func flat(ops []goldenOp) (out []string) {
	names := map[string]string{"create": "create", "setData": "set", "delete": "delete"}
	for _, o := range ops {
		parts := o.Parts
		if o.Op != "multi" {
			parts = []goldenOp{o}
		}
		for _, p := range parts {
			if name := names[p.Op]; name != "" {
				result := "ok"
				if p.Error != "" {
					result = p.Error
				}
				out = append(out, name+" "+p.Path+" "+result)
			}
		}
	}
	return out
}

// Golden step 01: an empty ZooKeeper, the first broker. The same writes, failed ones
// too; in the same order up to the registration, from where on two rooms write at once.
func TestFirstBrokerWritesWhatKafkaWrites(t *testing.T) {
	r := newRig(t)
	n := r.start("one", id(1))
	want := flat(readLines[goldenOp](t, "first-broker-writes.jsonl"))
	var got []string
	eventually(t, "all writes", func() bool {
		got = nil
		for _, e := range n.seen() {
			if e.Kind == journal.ZnodeWrite {
				got = append(got, strings.TrimSuffix(e.Text, " fenced")+" "+e.Path+" "+e.Result)
			}
		}
		return len(got) >= len(want)
	})
	registered := slices.Index(want, "set /brokers/ids/1 ok")
	if !slices.Equal(got[:registered+1], want[:registered+1]) {
		t.Errorf("up to the registration:\n got %s\nwant %s", strings.Join(got[:registered+1], "\n     "), strings.Join(want[:registered+1], "\n     "))
	}
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("all:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

type goldenNode struct {
	Path      string
	Data      *string
	Version   int32
	Cversion  int32
	Ephemeral bool
	Children  int32
}

func normal(data, clusterID string, port int32) string {
	data = regexp.MustCompile(`"timestamp":"\d+"`).ReplaceAllString(data, `"timestamp":"TIMESTAMP"`)
	data = strings.ReplaceAll(data, clusterID, "CLUSTER_ID")
	return strings.ReplaceAll(data, fmt.Sprint(port), "19101")
}

// The tree after that, to the byte: data, versions, ephemerals, numbers of children.
func TestFirstBrokerLeavesKafkasTree(t *testing.T) {
	r := newRig(t)
	n := r.start("one", id(1))
	golden := map[string]goldenNode{}
	for _, g := range readLines[goldenNode](t, "first-broker-tree.jsonl") {
		golden[g.Path] = g
	}
	n.until(t, "failover done", func(e journal.Event) bool { // its last write
		return e.Kind == journal.ZnodeWrite && e.Path == zkpaths.PreferredReplicaElection
	})
	seen := 0
	var walk func(path string)
	walk = func(path string) {
		data, stat, err := r.zk.Get(t.Context(), path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if path != "/" {
			seen++
			g, ok := golden[path]
			var want []byte
			if g.Data != nil {
				want = []byte(*g.Data)
			}
			got := data
			if data != nil {
				got = []byte(normal(string(data), n.ClusterID(), n.Endpoints()[0].Port))
			}
			if !ok || string(got) != string(want) || (got == nil) != (want == nil) || stat.Version != g.Version || stat.Cversion != g.Cversion || stat.NumChildren != g.Children || (stat.EphemeralOwner != 0) != g.Ephemeral {
				t.Errorf("%s:\n  kz    %q v%d c%d %d children\n  kafka %q v%d c%d %d children", path, got, stat.Version, stat.Cversion, stat.NumChildren, want, g.Version, g.Cversion, g.Children)
			}
		}
		kids, err := r.zk.Children(t.Context(), path, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kids {
			walk(strings.TrimSuffix(path, "/") + "/" + k)
		}
	}
	walk("/")
	if seen != len(golden) {
		t.Errorf("%d nodes, Kafka leaves %d", seen, len(golden))
	}
}

// A start that fails half-way leaves nothing running and nobody registered; the rig
// checks for goroutines.
func TestFailedStartStopsWhatItStarted(t *testing.T) {
	r := newRig(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	props := id(1)
	props["listeners"] = "PLAINTEXT://" + taken.Addr().String()
	if err := r.broker("one", props).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Fatalf("got %v", err)
	}
	if kids, err := r.zk.Children(t.Context(), zkpaths.BrokerIDs, false); err != nil || len(kids) != 0 {
		t.Errorf("registered: %v %v", kids, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "one", "meta.properties")); err == nil {
		t.Error("meta.properties was written by a broker that never registered")
	}
	r.start("one", id(1)) // the directory is free again
}

func TestStartWithoutZooKeeperNamesIt(t *testing.T) {
	r := newRig(t)
	r.faults.Refuse("broker-one", "zookeeper")
	props := id(1)
	props["zookeeper.connection.timeout.ms"] = "300"
	err := r.broker("one", props).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), r.server.Addr) || !strings.Contains(err.Error(), "300ms") {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.broker("one", id(1)).Start(ctx); err == nil {
		t.Fatal("a start outlived its context")
	}
}

// What meta.properties says after a start, and that a clean stop marks the logs.
func TestFilesOfALife(t *testing.T) {
	r := newRig(t)
	n := r.start("one", id(4))
	text, err := os.ReadFile(filepath.Join(r.dir, "one", "meta.properties"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"broker.id=4\n", "version=0\n", "cluster.id=" + n.ClusterID() + "\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %q in %q", line, text)
		}
	}
	n.Stop()
	if _, err := os.Stat(filepath.Join(r.dir, "one", ".kafka_cleanshutdown")); err != nil {
		t.Error(err)
	}
	if _, found, _ := r.zk.Exists(t.Context(), zkpaths.Broker(4)); found {
		t.Error("still registered after Stop")
	}
	n = r.start("one", id(4))
	if _, err := os.Stat(filepath.Join(r.dir, "one", ".kafka_cleanshutdown")); err == nil {
		t.Error("the marker stays while running")
	}
	n.Kill()
	if _, err := os.Stat(filepath.Join(r.dir, "one", ".kafka_cleanshutdown")); err == nil {
		t.Error("a killed broker marked its logs as clean")
	}
	if _, found, _ := r.zk.Exists(t.Context(), zkpaths.Broker(4)); !found {
		t.Error("a killed broker said farewell: its session should live until it times out")
	}
	// facts 2.2: a quick restart is refused until the old session is over.
	if err := r.broker("one", id(4)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "has not timed out yet") {
		t.Errorf("start within the old session: %v", err)
	}
}
