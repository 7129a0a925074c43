package zkserver

import (
	"testing"

	"go.uber.org/goleak"

	"kz/internal/zktest"
)

func TestMain(m *testing.M) {
	defer zktest.StopShared()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		zktest.StopShared()
		exit(code)
	}))
}
