package clustertest

import (
	"testing"
	"time"
)

// Eventually waits until cond holds, at most within, and fails the test with what it waited for
// otherwise. cond says why it does not hold yet.
func Eventually(t testing.TB, within time.Duration, what string, cond func() (ok bool, why string)) {
	t.Helper()
	if ok, why := await(within, cond); !ok {
		t.Fatalf("waited %v for: %s; last: %s", within, what, why)
	}
}

// await waits until cond holds, at most within.
func await(within time.Duration, cond func() (ok bool, why string)) (bool, string) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, why := cond()
		if ok {
			return true, ""
		}
		select {
		case <-deadline.C:
			return false, why
		case <-tick.C:
		}
	}
}
