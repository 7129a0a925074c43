package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/link"
)

// nobody is an address at which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := link.TCP{}.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Whoever waits for a cluster that is not there is told so, once, and not only at the end.
func TestUnreachableBrokerIsNamedOnce(t *testing.T) {
	addr, file := nobody(t), filepath.Join(t.TempDir(), "client.properties")
	if err := os.WriteFile(file, []byte("default.api.timeout.ms=800\nrequest.timeout.ms=800\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, exit := kz(t, "topics", "--list", "--bootstrap-server", addr, "--command-config", file)
	warning := "WARN Connection to " + addr + " could not be established: "
	if exit != exitFailed || strings.Count(stderr, warning) != 1 || !strings.Contains(stderr, "Broker may not be available") {
		t.Errorf("exit %d, stderr %s", exit, stderr)
	}
	if !strings.HasPrefix(stdout, "Error while executing topic command : Call(callName=listTopics") {
		t.Errorf("stdout %s", stdout)
	}
}

// Ctrl-C while a command waits: 130, and no words about failures that are none.
func TestInterruptedWaitsSayNothing(t *testing.T) {
	addr := nobody(t)
	for _, args := range [][]string{
		{"topics", "--list", "--bootstrap-server", addr},
		{"zk", "ls", "--zookeeper", addr, "/"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		var out, errs bytes.Buffer
		code := run(ctx, &env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, network: link.TCP{}}, append([]string{"kz"}, args...))
		if code != exitInterrupted || out.Len()+errs.Len() > 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, out.String(), errs.String())
		}
	}
}

// The mistakes that everybody makes once are answered with what to do.
func TestBrokerThatCannotStartSaysWhatToTry(t *testing.T) {
	_, stderr, exit := kz(t, "broker", "--override", "zookeeper.connect="+nobody(t), "--override", "zookeeper.connection.timeout.ms=300",
		"--override", "log.dirs="+t.TempDir())
	if exit != exitFailed || !strings.Contains(stderr, "Is ZooKeeper running?") || !strings.Contains(stderr, "scripts/zookeeper.sh start") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	l, err := link.TCP{}.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err = (link.TCP{}).Listen(l.Addr().String()); !strings.Contains(whatToTry(err), "listeners of its own") {
		t.Errorf("%v: %q", err, whatToTry(err))
	}
	if s := whatToTry(errors.New("something else")); s != "" {
		t.Errorf("a hint for anything: %q", s)
	}
}
