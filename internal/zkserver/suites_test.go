package zkserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Suites of others, run against `kz zookeeper`. They take a minute or two, so they run
// only with KZ_SUITES=1.
func suites(t *testing.T) (kz string) {
	t.Helper()
	if os.Getenv("KZ_SUITES") != "1" || testing.Short() {
		t.Skip("needs a minute or two: KZ_SUITES=1 runs it")
	}
	kz = filepath.Join(t.TempDir(), "kz")
	run(t, "../..", nil, "go", "build", "-o", kz, ".")
	return kz
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// The tests of our own client do not notice which ZooKeeper they run on.
func TestOwnClientsTests(t *testing.T) {
	kz := suites(t)
	run(t, "../zk", []string{"KZ_ZOOKEEPER=" + kz + " zookeeper"}, "go", "test", "-count=1", ".")
}

// go-zookeeper's own tests, unmodified, start this server as if it were the real one.
// Left out are those that need an ensemble.
func TestGoZookeepersTests(t *testing.T) {
	kz := suites(t)
	module := strings.TrimSpace(run(t, "../..", nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk"))
	dir := filepath.Join(t.TempDir(), "zk") // the module cache cannot be written to
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	// They call it as: zkServer.sh start-foreground FILE
	script := fmt.Sprintf("#!/bin/sh\nexec %s zookeeper --extended-types --log-level error \"$2\"\n", kz)
	if err := os.WriteFile(filepath.Join(bin, "zkServer.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out := run(t, dir, []string{"ZOOKEEPER_BIN_PATH=" + bin, "GOFLAGS=-mod=mod"}, "go", "test", "-count=1", "-v", "-timeout", "300s",
		"-skip", "BasicCluster|ClientClusterFailover|NoQuorum|RecurringReAuth|DNSHostProviderReconnect|Reconfig", ".")
	if n := strings.Count(out, "\n--- PASS: TestIntegration_"); n < 15 {
		t.Errorf("only %d integration tests ran:\n%s", n, out)
	}
}
