package mixedtest_test

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// quick are server.properties under which a failure is noticed in seconds. Sessions are longer than in
// all-kz clusters: a JVM that starts beside another on two cores pauses for a second or two.
func quick(more ...string) map[string]string {
	m := map[string]string{
		"zookeeper.session.timeout.ms":                  "4000",
		"zookeeper.connection.timeout.ms":               "60000",
		"replica.lag.time.max.ms":                       "6000",
		"replica.fetch.backoff.ms":                      "200",
		"auto.leader.rebalance.enable":                  "false",
		"auto.create.topics.enable":                     "false",
		"controlled.shutdown.retry.backoff.ms":          "500",
		"num.recovery.threads.per.data.dir":             "2",
		"replica.high.watermark.checkpoint.interval.ms": "500",
		"offsets.topic.num.partitions":                  "1",
		"log.index.interval.bytes":                      "1024",
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

// needsKafka skips where Apache Kafka cannot run, and under -short: the race detector takes what the JVMs
// need, and clusters of kz alone are tested with it.
func needsKafka(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("brokers of Apache Kafka take a minute per test; not with -short")
	}
	clustertest.ReferenceKafka(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output runs a program with a deadline and returns its stdout.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\nstdout: %.2000s\nstderr: %.2000s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// kzTopics and kafkaTopics are the same tool of the two kinds.
func kzTopics(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, clustertest.Binary(t), append([]string{"topics"}, args...)...)
}

func kafkaTopics(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, clustertest.ReferenceKafka(t), append([]string{"kafka-topics"}, args...)...)
}

func eventually(t *testing.T, within time.Duration, what string, cond func() (bool, string)) {
	t.Helper()
	clustertest.Eventually(t, within, what, cond)
}
