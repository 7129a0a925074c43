package cli

import (
	"os"
	"testing"
)

// asKz in the environment makes the test binary the program kz: the clusters of demo and
// up start their children from the running program, which here is this one.
const asKz = "KZ_TEST_AS_KZ"

func TestMain(m *testing.M) {
	if os.Getenv(asKz) != "" {
		os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
