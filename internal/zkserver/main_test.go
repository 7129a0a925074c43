package zkserver

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"kz/internal/zktest"
)

// TestMain looks for goroutines that are left when every server has been stopped.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		serveAsChild(dir)
		return
	}
	code := m.Run()
	zktest.StopShared()
	err := goleak.Find()
	for tries := 0; err != nil && tries < 20; tries++ { // each waits a second or two
		err = goleak.Find()
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
