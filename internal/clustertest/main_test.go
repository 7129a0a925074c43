package clustertest_test

import (
	"testing"

	"kz/internal/clustertest"
)

// Tests in real time wait for most of it: two of them run at once, where they say t.Parallel.
func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

// quick are server.properties under which a failure is noticed in seconds, not in half minutes. What
// a test needs otherwise it changes itself, so that the test's own lines show it.
func quick(more ...string) map[string]string {
	m := map[string]string{
		"zookeeper.session.timeout.ms":                  "2000",
		"zookeeper.connection.timeout.ms":               "30000",
		"replica.lag.time.max.ms":                       "3000",
		"replica.fetch.backoff.ms":                      "100",
		"auto.leader.rebalance.enable":                  "false",
		"auto.create.topics.enable":                     "false",
		"controlled.shutdown.retry.backoff.ms":          "500",
		"num.recovery.threads.per.data.dir":             "2",
		"replica.high.watermark.checkpoint.interval.ms": "500",
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}
