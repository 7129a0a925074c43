package clustertest_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/clustertest"
)

// The same seed is the same schedule, and another seed is another.
func TestSeedIsSchedule(t *testing.T) {
	seen := map[string]uint64{}
	for seed := range uint64(500) {
		s := clustertest.NewSchedule(seed).String()
		if again := clustertest.NewSchedule(seed).String(); again != s {
			t.Fatalf("seed %d gives\n%s\nand\n%s", seed, s, again)
		}
		_, what, _ := strings.Cut(s, ":")
		if other, twice := seen[what]; twice {
			t.Errorf("seeds %d and %d are one schedule", other, seed)
		}
		seen[what] = seed
	}
}

// Three brokers, a load and a consumer in virtual time, under faults: 500 seeds, which takes a minute or
// two; with -short as many of them as fit into ten seconds. KZ_SEEDS=7 replays one, KZ_SEEDS=1:10000 runs
// many.
func TestChaos(t *testing.T) {
	first, last, limit := uint64(0), uint64(499), time.Duration(0)
	if testing.Short() {
		limit = 10 * time.Second
	}
	if s := os.Getenv("KZ_SEEDS"); s != "" {
		first, last = seeds(t, s)
		limit = 0
	}
	began, ran, acked := time.Now(), 0, 0
	for seed := first; seed <= last && (limit == 0 || time.Since(began) < limit); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := clustertest.NewSchedule(seed)
			if clustertest.RaceDetector {
				s = s.WithoutReconnects()
			}
			synctest.Test(t, func(t *testing.T) {
				r := clustertest.RunSchedule(t, s)
				ran++
				acked += r.Verdict.Acked
				if len(r.Findings) > 0 {
					t.Errorf("KZ_SEEDS=%d replays this\n%s", seed, r)
				} else if limit == 0 && first == last {
					t.Logf("%s%d acknowledged, %d read, %v of virtual time", r, r.Verdict.Acked, r.Reads, r.Took)
				}
			})
		})
	}
	took := time.Since(began)
	t.Logf("%d schedules (from seed %d), %d records acknowledged, in %v: %.0f schedules a minute", ran, first, acked, took.Round(time.Second), float64(ran)/took.Minutes())
}

// seeds reads "7" or "1:10000", both ends included.
func seeds(t *testing.T, s string) (first, last uint64) {
	t.Helper()
	from, to, many := strings.Cut(s, ":")
	if !many {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err == nil {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil || last < first {
		t.Fatalf("KZ_SEEDS=%q: want a seed, or two with a colon between them", s)
	}
	return first, last
}
