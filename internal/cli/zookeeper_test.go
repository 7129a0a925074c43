package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
	"kz/internal/link"
	"kz/internal/up"
	"kz/internal/zkserver"
)

func TestZooCfg(t *testing.T) {
	var cfg zkserver.Config
	cfg.Addr = "127.0.0.1:2181"
	warnings, err := parseZooCfg(strings.NewReader(`
# a comment
tickTime=500
dataDir = /var/lib/zk
clientPort=2182
clientPortAddress=0.0.0.0
minSessionTimeout=1000
maxSessionTimeout=-1
maxClientCnxns=0
forceSync=no
initLimit=10
4lw.commands.whitelist=*
extendedTypesEnabled=true
maxClientCnxn=5
`), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := zkserver.Config{Addr: "0.0.0.0:2182", Dir: "/var/lib/zk", Tick: 500 * time.Millisecond, MinSessionTimeout: time.Second, NoFsync: true, ExtendedTypes: true}
	if cfg.Addr != want.Addr || cfg.Dir != want.Dir || cfg.Tick != want.Tick || cfg.MinSessionTimeout != want.MinSessionTimeout ||
		cfg.MaxSessionTimeout != 0 || cfg.MaxClientConns != 0 || !cfg.NoFsync || !cfg.ExtendedTypes {
		t.Errorf("read %+v", cfg)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "did you mean maxClientCnxns?") {
		t.Errorf("warnings %q", warnings)
	}
}

// What one process cannot be is refused by name; all faults are reported together.
func TestZooCfgFaults(t *testing.T) {
	var cfg zkserver.Config
	_, err := parseZooCfg(strings.NewReader("tickTime=soon\nserver.1=a:2888:3888\nsecureClientPort=2281\nclientPort=99999\n"), &cfg)
	for _, part := range []string{"tickTime=soon", "server.1", "one process without replication", "secureClientPort", "clientPort=99999"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

func TestKzZooKeeperUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "zoo.cfg")
	if err := os.WriteFile(file, []byte("tickTime=500\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		rule string
		args []string
		code int
		want string
	}{
		{"a port in two places", []string{"--port", "1", file}, exitUsage, "--port"},
		{"two files", []string{file, file}, exitUsage, "one zoo.cfg"},
		{"a file that is not there", []string{file + "x"}, exitFailed, "zoo.cfgx"},
		{"no dataDir", []string{file}, exitFailed, "dataDir"},
		{"bounds the wrong way round", []string{"--min-session-timeout", "1h"}, exitUsage, "maxSessionTimeout"},
		{"a mistyped flag", []string{"--data-dri", "x"}, exitUsage, "data-dir"},
		{"two letters swapped", []string{"--prot", "1"}, exitUsage, "Did you mean --port?"},
		{"no port", []string{"--port", "65536"}, exitUsage, "--port 65536"},
		{"no beat", []string{"--tick", "0s"}, exitUsage, "--tick 0s: must be 1ms or more"},
		{"time runs forward", []string{"--max-session-timeout", "-1s"}, exitUsage, "--max-session-timeout -1s"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), &env{stdout: &out, stderr: &errs, network: link.TCP{}}, append([]string{"kz", "zookeeper"}, row.args...))
			if code != row.code || !strings.Contains(errs.String(), row.want) {
				t.Errorf("exit %d, stderr %q; want %d and %q", code, &errs, row.code, row.want)
			}
		})
	}
}

// startZooKeeper runs `kz zookeeper` in this process; end stops it and returns its exit code.
func startZooKeeper(t *testing.T, args ...string) (addr string, errs *watched, end func() int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	errs = &watched{word: "serving", seen: make(chan struct{})}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, &env{stdout: &bytes.Buffer{}, stderr: errs, network: link.TCP{}}, append([]string{"kz", "zookeeper", "--port", "0"}, args...))
	}()
	select {
	case <-errs.seen:
	case code := <-ended:
		t.Fatalf("exit %d: %s", code, errs)
	}
	addr = regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(errs.String())
	return addr, errs, func() int { stop(); return <-ended }
}

func TestKzZooKeeperServesKeepsAndTells(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "zk.jsonl")
	addr, _, end := startZooKeeper(t, "--data-dir", dir, "--journal", journal)
	var out, errs bytes.Buffer
	if code := run(t.Context(), &env{stdout: &out, stderr: &errs, network: link.TCP{}}, []string{"kz", "zk", "ls", "--zookeeper", addr, "/"}); code != 0 || out.String() != "zookeeper\n" {
		t.Fatalf("exit %d, %q, %s", code, &out, &errs)
	}
	if code := end(); code != 0 {
		t.Errorf("exit %d", code)
	}
	told, err := os.ReadFile(journal)
	if err != nil || !strings.Contains(string(told), `"kind":"zk.session-opened"`) || !strings.Contains(string(told), `"session":"0x1`) {
		t.Errorf("the journal: %s %v", told, err)
	}
	_, errs2, end := startZooKeeper(t, "--data-dir", dir)
	if !strings.Contains(errs2.String(), "zxid 0x200000000") {
		t.Errorf("the second start is no new epoch: %s", errs2)
	}
	end()
	snapshots, _ := filepath.Glob(filepath.Join(dir, "kz", "snap.*"))
	newest := snapshots[len(snapshots)-1]
	if err := os.WriteFile(newest, []byte("KZZKSNP1 and then nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	errs.Reset()
	code := run(t.Context(), &env{stdout: &out, stderr: &errs, network: link.TCP{}}, []string{"kz", "zookeeper", "--port", "0", "--data-dir", dir})
	if code != exitFailed || !strings.Contains(errs.String(), filepath.Base(newest)) {
		t.Errorf("a damaged snapshot: exit %d, %s", code, &errs)
	}
}

func TestKzZooKeeperOnAPortInUse(t *testing.T) {
	addr, _, end := startZooKeeper(t, "--memory")
	defer end()
	_, port, _ := strings.Cut(addr, ":")
	var out, errs bytes.Buffer
	code := run(t.Context(), &env{stdout: &out, stderr: &errs, network: link.TCP{}}, []string{"kz", "zookeeper", "--memory", "--port", port})
	if code != exitFailed || !strings.Contains(errs.String(), addr) || !strings.Contains(errs.String(), "--port") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

func TestKzZooKeeperInMemory(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	_, errs, end := startZooKeeper(t, "--memory")
	if code := end(); code != 0 || !strings.Contains(errs.String(), "nothing is kept") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("it left %v", files)
	}
}

// A ZooKeeper whose kz up was killed serves the brokers, which are stopping, to their end; one
// that is told to stop stops.
func TestZooKeeperWithoutParent(t *testing.T) {
	for _, row := range []struct {
		rule, goodbye string
		outlives      bool
	}{
		{"the parent was killed", "", true},
		{"the parent says so", "stop\n", false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			ports, err := up.FreePorts(1)
			if err != nil {
				t.Fatal(err)
			}
			addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
			cmd, dir := kzProcess(t, "zookeeper", "--port", strconv.Itoa(ports[0]), "--data-dir", "zk", "--until-stdin-ends")
			cmd.Dir = dir
			says, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			var client net.Conn
			clustertest.Eventually(t, time.Minute, "the server to serve", func() (bool, string) {
				client, err = net.Dial("tcp", addr)
				return err == nil, fmt.Sprint(err)
			})
			defer client.Close()
			_, _ = client.Write([]byte("ru")) // half a word: it stays connected
			clustertest.Eventually(t, time.Minute, "the server to count its client", func() (bool, string) {
				four, err := net.Dial("tcp", addr)
				if err != nil {
					return false, err.Error()
				}
				defer four.Close()
				_, _ = four.Write([]byte("mntr"))
				b, _ := io.ReadAll(four)
				return regexp.MustCompile(`zk_num_alive_connections\s+[2-9]`).Match(b), string(b)
			})
			_, _ = io.WriteString(stdin, row.goodbye)
			stdin.Close()
			if row.outlives {
				lines := bufio.NewScanner(says)
				for lines.Scan() && !strings.Contains(lines.Text(), "kz up was killed") {
				}
				if four, err := net.Dial("tcp", addr); err != nil {
					t.Errorf("it does not serve any more: %v", err)
				} else {
					four.Close()
				}
				client.Close()
			}
			_, _ = io.Copy(io.Discard, says)
			if err := cmd.Wait(); err != nil {
				t.Errorf("ended with %v, want exit 0", err)
			}
		})
	}
}
