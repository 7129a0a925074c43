package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"kz/internal/zktest"
)

// Main runs the tests of a package that starts processes, and removes what Binary has built
// and the shared ZooKeeper. Use it as:
//
//	func TestMain(m *testing.M) { clustertest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	zktest.StopShared()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// builtIn is the directory of Binary's program; set once, read when all tests are over.
var builtIn string

// Binary builds kz once per test binary and returns its path. The package's TestMain is Main.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildOnce = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "kz-test-binary-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "kz")
	cmd := exec.Command("go", append(append([]string{"build"}, raceFlag...), "-o", path, ".")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the test's directory")
		}
		dir = up
	}
}
