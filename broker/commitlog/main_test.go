package commitlog

import (
	"testing"

	"go.uber.org/goleak"
)

// No test leaves a goroutine behind: every manager is stopped or killed.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
