package clustertest

import (
	"testing"
	"time"
)

// Eventually waits until cond holds, at most within, and fails the test with what it waited for
// otherwise. cond says why it does not hold yet.
func Eventually(t testing.TB, within time.Duration, what string, cond func() (ok bool, why string)) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, why := cond()
		if ok {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("waited %v for: %s; last: %s", within, what, why)
		case <-tick.C:
		}
	}
}
