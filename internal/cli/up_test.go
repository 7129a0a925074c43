package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"kz/internal/up"
)

// upRig is a cluster's directory, and ports that nobody has.
type upRig struct {
	t     *testing.T
	dir   string
	flags []string
	addr  string // of broker 1
	zoo   string
}

func newUpRig(t *testing.T) *upRig {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Setenv(asKz, "1")
	zoo, base := freeRange(t, 1), freeRange(t, 3)
	r := &upRig{t: t, dir: filepath.Join(t.TempDir(), "c"), addr: fmt.Sprint("127.0.0.1:", base), zoo: fmt.Sprint("127.0.0.1:", zoo)}
	r.flags = []string{"--dir", r.dir, "--port-base", fmt.Sprint(base), "--zookeeper-port", fmt.Sprint(zoo)}
	t.Cleanup(func() {
		if remote, err := up.Find(r.dir); err == nil { // a test that failed half-way
			ctx, cancel := context.WithTimeout(context.Background(), downWait) // t's has ended
			defer cancel()
			_ = remote.Stop(ctx)
		}
	})
	return r
}

// freeRange finds n neighbouring ports.
func freeRange(t *testing.T, n int) int {
	for range 100 {
		first, err := up.FreePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		free := true
		for i := range n {
			l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first[0]+i))
			if err != nil {
				free = false
				break
			}
			defer l.Close()
		}
		if free {
			return first[0]
		}
	}
	t.Fatal("no neighbouring ports are free")
	return 0
}

// must runs kz and wants exit code 0.
func (r *upRig) must(args ...string) string {
	r.t.Helper()
	out, errs, code := kz(r.t, args...)
	if code != exitOK {
		r.t.Fatalf("kz %v: exit %d\n%s%s", args, code, out, errs)
	}
	return out
}

func (r *upRig) status() up.Snapshot {
	r.t.Helper()
	var s up.Snapshot
	if err := json.Unmarshal([]byte(r.must("status", "--dir", r.dir, "-o", "json")), &s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// nodesOf is the table that kz up and kz status begin with.
func nodesOf(out string) string {
	table, _, _ := strings.Cut(out, "profile ")
	return table
}

func (r *upRig) nothingListens() {
	r.t.Helper()
	for _, addr := range []string{r.addr, r.zoo} {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			r.t.Errorf("something still listens at %s", addr)
		}
	}
}

// One life in the background, one in the foreground: the same cluster, and nothing left after each.
func TestUpAndDown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send a Ctrl-C to one process")
	}
	r := newUpRig(t)
	first := r.must(append([]string{"up", "--detach"}, r.flags...)...)
	if n := strings.Count(first, "\n"); n > 6 || !strings.Contains(first, "(Kafka: 18000)") {
		t.Errorf("up prints %d lines; at most six, with what differs from Kafka:\n%s", n, first)
	}
	s := r.status()
	if s.State != "running" || len(s.Nodes) != 4 {
		t.Errorf("status %+v", s)
	}
	for _, n := range s.Nodes {
		if !n.Running || n.PID == 0 {
			t.Errorf("%s does not run: %+v", n.Name, n)
		}
	}
	if again := r.must(append([]string{"up", "--detach"}, r.flags...)...); nodesOf(again) != nodesOf(first) {
		t.Errorf("a second up changed something:\n%s", again)
	}
	if env := r.must("env", "--dir", r.dir); !strings.Contains(env, "export KZ_BOOTSTRAP="+r.addr+",") || !strings.Contains(env, "export KZ_ZOOKEEPER="+r.zoo+"\n") {
		t.Errorf("env: %s", env)
	}
	r.checkGuard()
	r.must("topics", "--bootstrap-server", r.addr, "--create", "--topic", "kept", "--partitions", "1", "--replication-factor", "3")
	cluster := r.must("zk", "get", "--zookeeper", r.zoo, "/cluster/id")
	r.must("down", "--dir", r.dir)
	r.nothingListens()
	if _, _, code := kz(t, "status", "--dir", r.dir); code != exitNoCluster {
		t.Errorf("status of a stopped cluster: exit %d, want %d", code, exitNoCluster)
	}

	cmd, _ := kzProcess(t, "up", "--dir", r.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "next: ") {
	}
	if again := r.must("zk", "get", "--zookeeper", r.zoo, "/cluster/id"); again != cluster {
		t.Errorf("cluster id %s after a restart, %s before", again, cluster)
	}
	if list := r.must("topics", "--bootstrap-server", r.addr, "--list"); list != "kept\n" {
		t.Errorf("topics after a restart: %q", list)
	}
	r.killBrokerTwo(lines)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v, want exit 0", err)
	}
	r.nothingListens()
	r.must("down", "--purge", "--dir", r.dir)
	if _, err := os.Stat(r.dir); !os.IsNotExist(err) {
		t.Errorf("after --purge the directory is still there: %v", err)
	}
}

// killBrokerTwo kills it as anybody could, and waits until the story tells it.
func (r *upRig) killBrokerTwo(story *bufio.Scanner) {
	r.t.Helper()
	for _, n := range r.status().Nodes {
		if n.Name == "broker-2" {
			p, err := os.FindProcess(n.PID)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
	for story.Scan() {
		if strings.Contains(story.Text(), "broker-2 has ended") {
			for _, n := range r.status().Nodes {
				if n.Running != (n.Name != "broker-2") {
					r.t.Errorf("after the kill of broker 2: %+v", n)
				}
			}
			return
		}
	}
	r.t.Error("nobody told that broker 2 has ended")
}

// checkGuard: the API can end processes, so it serves nobody without the token, and no web page.
func (r *upRig) checkGuard() {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "supervisor.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var contact struct{ API, Token string }
	if err := json.Unmarshal(b, &contact); err != nil || contact.Token == "" {
		r.t.Fatalf("%v: %s", err, b)
	}
	for rule, c := range map[string]struct {
		token, origin string
		want          int
	}{
		"without a token":           {"", "", http.StatusForbidden},
		"with another token":        {"x" + contact.Token[1:] + "x", "", http.StatusForbidden},
		"from a web page":           {contact.Token, "http://localhost", http.StatusForbidden},
		"with the token of the run": {contact.Token, "", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(r.t.Context(), "GET", "http://"+contact.API+"/v1/cluster", nil)
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("X-Kz-Token", c.token)
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			r.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			r.t.Errorf("%s: %s, want %d", rule, resp.Status, c.want)
		}
	}
}

// A supervisor that was killed takes its children along, and the next one starts the same
// cluster, although the embedded ZooKeeper still holds the dead brokers' sessions.
func TestUpAfterItsSupervisorWasKilled(t *testing.T) {
	r := newUpRig(t)
	cmd, _ := kzProcess(t, append([]string{"up"}, r.flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "next: ") {
	}
	before := r.must("zk", "get", "--zookeeper", r.zoo, "/cluster/id")
	nodes := r.status().Nodes
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the kill
	beat := time.NewTicker(demoLook)
	defer beat.Stop()
	for _, n := range nodes {
		for { // until its port is free: go test's own deadline is this loop's
			l, err := net.Listen("tcp", n.Address)
			if err == nil {
				l.Close()
				break
			}
			<-beat.C
		}
	}
	if _, _, code := kz(t, "status", "--dir", r.dir); code != exitNoCluster {
		t.Errorf("status after the kill: exit %d, want %d", code, exitNoCluster)
	}
	r.must("up", "--detach", "--dir", r.dir)
	if after := r.must("zk", "get", "--zookeeper", r.zoo, "/cluster/id"); after != before {
		t.Errorf("cluster id %s, before the kill %s", after, before)
	}
	r.must("down", "--purge", "--dir", r.dir)
}

// Taken ports are named with what chooses others, and other ones can then be chosen.
// Two that start the same cluster at once start one, and both are told of it; what the one
// that came first says is not wiped out by the other.
func TestTwoUpsAtOnce(t *testing.T) {
	r := newUpRig(t)
	const earlier = "what an earlier run has said\n"
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "supervisor.log"), []byte(earlier), 0o644); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		type end struct {
			out, errs string
			code      int
		}
		ends := make(chan end)
		for range 2 {
			go func() {
				out, errs, code := kz(t, append([]string{"up", "--detach"}, r.flags...)...)
				ends <- end{out, errs, code}
			}()
		}
		a, b := <-ends, <-ends
		if a.code != exitOK || b.code != exitOK || nodesOf(a.out) != nodesOf(b.out) || strings.Count(nodesOf(a.out), " up ") != 4 {
			t.Errorf("round %d:\nexit %d\n%s%s\nexit %d\n%s%s", round, a.code, a.out, a.errs, b.code, b.out, b.errs)
		}
		r.must("down", "--dir", r.dir)
		r.nothingListens()
		said, err := os.ReadFile(filepath.Join(r.dir, "supervisor.log"))
		if err != nil || !strings.HasPrefix(string(said), earlier) || strings.Count(string(said), "Stopping;") != round+1 {
			t.Errorf("round %d: supervisor.log: %v\n%s", round, err, said)
		}
	}
}

func TestUpOnTakenPorts(t *testing.T) {
	for _, mode := range [][]string{nil, {"--detach"}} {
		r := newUpRig(t)
		l, err := net.Listen("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, errs, code := kz(t, append(append([]string{"up"}, mode...), r.flags...)...)
		l.Close()
		if code != exitFailed || !regexp.MustCompile(`broker-1 needs port \d+`).MatchString(errs) || !strings.Contains(errs, "--port-base") {
			t.Errorf("%v: exit %d, %s", mode, code, errs)
		}
		if _, err := up.ReadSpec(r.dir); err == nil {
			t.Errorf("%v: the ports that did not work were kept", mode)
		}
	}
}

func TestUpUsage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	held := filepath.Join(t.TempDir(), "held")
	if err := up.WriteSpec(held, up.Spec{Ports: up.Brokers(3, 9092), ZooPort: 2181, Profile: "class"}); err != nil {
		t.Fatal(err)
	}
	stranger := t.TempDir()
	for _, c := range []struct {
		rule string
		args []string
		code int
		want string
	}{
		{"no broker is no cluster", []string{"up", "--dir", dir, "--brokers", "0"}, exitUsage, "--brokers 0"},
		{"ports are ports", []string{"up", "--dir", dir, "--port-base", "65534"}, exitUsage, "--port-base 65534"},
		{"an unknown profile names the known ones", []string{"up", "--dir", dir, "--profile", "fast"}, exitUsage, "class and faithful"},
		{"an address is an address", []string{"up", "--dir", dir, "--zookeeper", "localhost:what"}, exitUsage, "--zookeeper"},
		{"arguments are refused", []string{"up", "now"}, exitUsage, "takes no arguments"},
		{"a cluster keeps its profile", []string{"up", "--dir", held, "--profile", "faithful"}, exitUsage, "--profile is not what the cluster"},
		{"a cluster keeps its size", []string{"up", "--dir", held, "--brokers", "5"}, exitUsage, "--brokers is not what the cluster"},
		{"nobody shares a port", []string{"up", "--dir", dir, "--port-base", "2180"}, exitUsage, "broker-2 and zookeeper have the same port, 2181"},
		{"a number is a number", []string{"up", "--dir", dir, "--brokers", "three"}, exitUsage, "--brokers three: must be a whole number"},
		{"a time has a unit", []string{"link", "delay", "1", "2", "--delay", "300"}, exitUsage, "--delay 300: a time has a unit, as in 300ms"},
		{"so has a limit", []string{"zk", "watch", "--for", "5", "/"}, exitUsage, "--for 5: a time has a unit"},
		{"a switch takes no word", []string{"up", "--detach=maybe"}, exitUsage, "--detach maybe: must be true or false"},
		{"heal everything is another command", []string{"link", "heal"}, exitUsage, "kz faults --heal"},
		{"no event is not the last one", []string{"events", "--last", "0"}, exitUsage, "--last 0: must be at least 1"},
		{"where nothing runs there is nothing to stop", []string{"down", "--dir", dir}, exitNoCluster, "nothing to stop"},
		{"status needs a cluster", []string{"status", "--dir", dir}, exitNoCluster, "kz up --detach"},
		{"env needs a cluster", []string{"env", "--dir", dir}, exitNoCluster, "kz up --detach"},
		{"purge removes no other directory", []string{"down", "--purge", "--dir", stranger}, exitFailed, "is no cluster's"},
		{"an unknown format is refused", []string{"status", "-o", "xml"}, exitUsage, "text and json"},
	} {
		_, errs, code := kz(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %q", c.rule, code, errs)
		}
	}
	if _, err := os.Stat(stranger); err != nil {
		t.Error(err)
	}
}
