package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"kz/internal/zktest"
)

// As ZooKeeper 3.8.0 printed them: a broker with its chroot, one that is gone but not yet
// timed out, and the connection of who asked.
const (
	realDump = "SessionTracker dump:\nSession Sets (3)/(2):\n0 expire at Tue Dec 01 00:46:52 UTC 2026:\n2 expire at Tue Dec 01 00:46:59 UTC 2026:\n\t0x10000e7e1ef0003\n\t0x10000e7e1ef0004\n" +
		"ephemeral nodes dump:\nSessions with Ephemerals (2):\n0x10000e7e1ef0003:\n\t/ch/brokers/ids/7\n\t/ch/controller\n0x10000e7e1ef0004:\n\t/ch/brokers/ids/8\n0x10000e7e1ef0005:\n\t/ch/consumers/old/ids/old_host-1-a\n\t/ch/consumers/old/owners/t/0\n" +
		"Connections dump:\nConnections Sets (2)/(2):\n0 expire at Tue Dec 01 00:46:57 UTC 2026:\n2 expire at Tue Dec 01 00:47:07 UTC 2026:\n\tip: /127.0.0.1:50972 sessionId: 0x10000e7e1ef0003\n\tip: /127.0.0.1:50988 sessionId: 0x0\n"
	realCons = " /127.0.0.1:50972[1](queued=0,recved=44,sent=45,sid=0x10000e7e1ef0003,lop=EXIS,est=1796086008814,to=10000,lcxid=0x2b,lzxid=0x38,lresp=15211298,llat=0,minlat=0,avglat=0,maxlat=1)\n" +
		" /127.0.0.1:51002[0](queued=0,recved=1,sent=0)\n\n"
)

func TestReadSessions(t *testing.T) {
	var out strings.Builder
	sessions := readSessions(realDump, realCons)
	countWatches(sessions, "0x10000e7e1ef0003\n\t/ch/brokers/ids\n\t/ch/controller\n0x10000e7e1ef0005\n\t/ch/consumers/old/ids\n\n")
	printSessions(&out, sessions)
	want := []string{
		"SESSION OWNER TIMEOUT OPENED CONNECTED SINCE FROM WATCHES EPHEMERALS",
		"0x10000e7e1ef0003 broker 7, controller 10000 ms - 2026-12-01T00:46:48.814Z 127.0.0.1:50972 2 /ch/brokers/ids/7 /ch/controller",
		"0x10000e7e1ef0004 broker 8 unknown - no connection - 0 /ch/brokers/ids/8",
		"0x10000e7e1ef0005 consumer of old unknown - no connection - 1 /ch/consumers/old/ids/old_host-1-a /ch/consumers/old/owners/t/0",
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); i >= len(want) || got != want[i] {
			t.Errorf("line %d: %s", i, got)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
	}
}

// The embedded server and the real one answer alike, except that the real one must allow it.
func TestKzZkSessions(t *testing.T) {
	addr, _, end := startZooKeeper(t, "--memory")
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	watcher := watching(ctx, t, "--zookeeper", addr, "/a")
	out, errs, code := kz(t, "zk", "sessions", "--zookeeper", addr, "-o", "json")
	if code != exitOK || strings.Count(out, `"connected":true`) != 1 || !strings.Contains(out, `"timeoutMs":10000`) || !strings.Contains(out, `"owner":""`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	cancel()
	<-watcher.code
	strict, err := net.Listen("tcp", "127.0.0.1:0") // a real server as it is by default
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	go func() {
		conn, err := strict.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		word := make([]byte, 4)
		if _, err := io.ReadFull(conn, word); err == nil {
			fmt.Fprintf(conn, "%s is not executed because it is not in the whitelist.\n", word)
		}
	}()
	for _, row := range []struct {
		rule string
		args []string
		code int
		want string
	}{
		{"nobody there", []string{"--zookeeper", "127.0.0.1:1"}, exitNoCluster, "Is ZooKeeper running?"},
		{"a word that is not allowed", []string{"--zookeeper", strict.Addr().String()}, exitFailed, "4lw.commands.whitelist=srvr,dump,cons,wchc"},
		{"arguments", []string{"/"}, exitUsage, "no arguments"},
		{"a mistyped flag", []string{"--zokeeper", "x"}, exitUsage, "--zookeeper"},
	} {
		if _, errs, code := kz(t, append([]string{"zk", "sessions"}, row.args...)...); code != row.code || !strings.Contains(errs, row.want) {
			t.Errorf("%s: exit %d, %q", row.rule, code, errs)
		}
	}
}

// The real server, where it is allowed.
func TestKzZkSessionsOfARealServer(t *testing.T) {
	s := zktest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	watcher := watching(ctx, t, "--zookeeper", s.Addr, "/a")
	out, errs, code := kz(t, "zk", "sessions", "--zookeeper", s.Addr, "-o", "json")
	if code != exitOK || strings.Count(out, `"connected":true`) != 1 || !strings.Contains(out, `"timeoutMs":10000`) || !strings.Contains(out, `"opened":null`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	cancel()
	<-watcher.code
}
