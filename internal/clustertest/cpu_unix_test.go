//go:build unix

package clustertest_test

import (
	"syscall"
	"testing"
)

// processSeconds is the processor time that this process has used.
func processSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
