package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"kz/internal/up"
	"kz/internal/zktest"
)

// eventually runs kz until it prints what is wanted.
func (r *upRig) eventually(want string, args ...string) {
	r.t.Helper()
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	began := time.Now()
	for {
		out, errs, _ := kz(r.t, args...)
		if strings.TrimSpace(out) == want {
			return
		}
		if time.Since(began) > time.Minute {
			r.t.Fatalf("kz %v: still %q %s, want %q", args, out, errs, want)
		}
		<-beat.C
	}
}

// With a ZooKeeper that is not ours: it is never stopped, its links are cut as any others,
// and a cluster below a chroot is the same cluster after a restart.
func TestUpOnARealZooKeeper(t *testing.T) {
	z := zktest.Start(t)
	r := newUpRig(t)
	connect := z.Addr + "/kz-up"
	r.must(append([]string{"up", "--detach", "--brokers", "2", "--zookeeper", connect}, r.flags...)...)
	zoo := r.status().Nodes[0]
	if zoo.Name != "zookeeper" || !zoo.Running || zoo.PID != 0 || zoo.Address != connect {
		t.Errorf("ZooKeeper in the status: %+v", zoo)
	}
	for _, act := range []string{"kill", "stop", "pause", "start"} {
		if _, errs, code := kz(t, "node", act, "zookeeper", "--dir", r.dir); code != exitFailed || !strings.Contains(errs, "is not ours") {
			t.Errorf("%s of a ZooKeeper that is not ours: exit %d, %s", act, code, errs)
		}
	}
	id := r.must("zk", "get", "--zookeeper", connect, "/cluster/id")
	r.must("link", "cut", "2", "zookeeper", "--dir", r.dir)
	r.eventually("1", "zk", "ls", "--zookeeper", connect, "/brokers/ids")
	r.must("faults", "--heal", "--dir", r.dir)
	r.eventually("1\n2", "zk", "ls", "--zookeeper", connect, "/brokers/ids")
	r.must("down", "--dir", r.dir)
	r.nothingListens()
	r.must("up", "--detach", "--dir", r.dir)
	if again := r.must("zk", "get", "--zookeeper", connect, "/cluster/id"); again != id {
		t.Errorf("cluster id %s after a restart, %s before", again, id)
	}
	r.must("down", "--purge", "--dir", r.dir)
}

// Faithful means faithful: with one broker nothing differs from Kafka, and up says so by
// saying nothing.
func TestUpFaithful(t *testing.T) {
	r := newUpRig(t)
	out := r.must(append([]string{"up", "--detach", "--brokers", "1", "--profile", "faithful"}, r.flags...)...)
	var s up.Snapshot
	if err := json.Unmarshal([]byte(r.must("status", "--dir", r.dir, "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Changed) != 0 || s.Profile != "faithful" || strings.Contains(out, "Kafka:") {
		t.Errorf("changed: %+v\n%s", s.Changed, out)
	}
	r.must("down", "--purge", "--dir", r.dir)
}
