//go:build !unix

package clustertest_test

import (
	"runtime"
	"testing"
)

// processSeconds: this system has no getrusage.
func processSeconds(b *testing.B) float64 {
	b.Skipf("%s has no getrusage, which tells the processor time", runtime.GOOS)
	return 0
}
