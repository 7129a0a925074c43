package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"kz/internal/link"
	"kz/internal/zktest"
)

// watched is a stderr that tells when a word was written.
type watched struct {
	mu   sync.Mutex
	text strings.Builder
	word string
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := strings.Contains(w.text.String(), w.word)
	w.text.Write(p)
	if !had && strings.Contains(w.text.String(), w.word) {
		close(w.seen)
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// startBroker runs `kz broker` in this process until the test ends it.
func startBroker(t *testing.T, zookeeper, journal string) (addr string, errs *watched, end func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	errs = &watched{word: " started ", seen: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	exit := make(chan int, 1)
	go func() {
		e := &env{stdin: strings.NewReader(""), stdout: errs, stderr: errs, network: link.TCP{}}
		exit <- run(ctx, e, []string{"kz", "broker", "--journal", journal, "--config", "../../scripts/server.properties",
			"--override", "zookeeper.connect=" + zookeeper, "--override", "listeners=PLAINTEXT://" + addr,
			"--override", "log.dirs=" + t.TempDir(), "--override", "controlled.shutdown.retry.backoff.ms=10",
			"--override", "default.replication.factor=1", "--override", "min.insync.replicas=1",
			"--override", "offsets.topic.replication.factor=1", "--override", "offsets.topic.num.partitions=3", "--override", "group.initial.rebalance.delay.ms=0"})
	}()
	select {
	case <-errs.seen:
	case code := <-exit:
		t.Fatalf("the broker ended with %d:\n%s", code, errs)
	case <-time.After(60 * time.Second):
		t.Fatalf("the broker has not started:\n%s", errs)
	}
	return addr, errs, func() int { cancel(); return <-exit }
}

// The config file of the README starts a broker; it says when it serves, keeps its
// journal, and a signal (here: the end of the context) stops it with exit code 0. In
// between the perf tools measure it.
func TestBrokerAndPerfTools(t *testing.T) {
	zk := zktest.Start(t)
	journal := filepath.Join(t.TempDir(), "journal.jsonl")
	addr, errs, end := startBroker(t, zk.Addr, journal)

	props := []string{"--producer-props", "bootstrap.servers=" + addr, "acks=all", "compression.type=lz4"}
	stdout, stderr, exit := kz(t, append([]string{"producer-perf-test", "--topic", "p", "--num-records", "2000", "--record-size", "100", "--throughput", "-1"}, props...)...)
	if exit != 0 || !regexp.MustCompile(`(?m)^2000 records sent, [\d.]+ records/sec .* ms 99\.9th\.$`).MatchString(stdout) {
		t.Errorf("producer-perf-test: exit %d\n%s%s", exit, stdout, stderr)
	}
	lines := regexp.MustCompile(`^start\.time, end\.time, data\.consumed\.in\.MB, MB\.sec, data\.consumed\.in\.nMsg, nMsg\.sec, rebalance\.time\.ms, fetch\.time\.ms, fetch\.MB\.sec, fetch\.nMsg\.sec\n` +
		`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}, 0\.1907, [\d.]+, 2000, [\d.]+, \d+, \d+, [\d.]+, [\d.]+\n$`)
	stdout, stderr, exit = kz(t, "consumer-perf-test", "--topic", "p", "--messages", "2000", "--bootstrap-server", addr)
	if exit != 0 || !lines.MatchString(stdout) {
		t.Errorf("consumer-perf-test: exit %d\n%s%s", exit, stdout, stderr)
	}
	stdout, _, exit = kz(t, "consumer-perf-test", "--topic", "p", "--messages", "99999", "--bootstrap-server", addr, "--timeout", "200", "--hide-header")
	if exit != 0 || !strings.HasPrefix(stdout, "WARNING: Exiting before consuming the expected number of messages: timeout (200 ms) exceeded.") {
		t.Errorf("too few messages: exit %d\n%s", exit, stdout)
	}

	if code := end(); code != 0 {
		t.Errorf("the broker ended with %d:\n%s", code, errs)
	}
	if !strings.Contains(errs.String(), " stopped") {
		t.Errorf("the broker does not say that it stopped:\n%s", errs)
	}
	b, err := os.ReadFile(journal)
	if err != nil || !strings.Contains(string(b), `"kind":"controller.elected"`) || !strings.HasSuffix(string(b), "}\n") {
		t.Errorf("the journal (%v) ends %q", err, b[max(0, len(b)-200):])
	}
}
