package clustertest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Rounds is how often a test repeats its act: few in an ordinary run, KZ_ROUNDS in a long one.
func Rounds(t testing.TB, few int) int {
	t.Helper()
	s := os.Getenv("KZ_ROUNDS")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("KZ_ROUNDS=%q: %v", s, err)
	}
	return n
}

// Seeded is a source of random moments whose seed is printed; KZ_SEED replays it.
func Seeded(t testing.TB) *rand.Rand {
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
