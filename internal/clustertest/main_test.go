package clustertest_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"kz/internal/clustertest"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

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

// rounds is how often a test repeats its act: few in an ordinary run, KZ_ROUNDS in a long one.
func rounds(t *testing.T, few int) int {
	t.Helper()
	if s := os.Getenv("KZ_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("KZ_ROUNDS=%q: %v", s, err)
		}
		return n
	}
	return few
}

// seeded is a source of random moments whose seed is printed; KZ_SEED replays it.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("KZ_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("KZ_SEED=%q: %v", s, err)
		}
		seed = n
	}
	t.Logf("KZ_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
