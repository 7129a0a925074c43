package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"kz/zkpaths"
)

// kzProcess is the program kz as a process of its own, with a directory for what it leaves.
func kzProcess(t *testing.T, args ...string) (cmd *exec.Cmd, tmp string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp = t.TempDir()
	cmd = exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asKz+"=1", "TMPDIR="+tmp, "TMP="+tmp)
	return cmd, tmp
}

func leftBehind(t *testing.T, dir string) []string {
	t.Helper()
	var left []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if path != "." {
			left = append(left, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return left
}

// The demo ends by itself, loses nothing, leaves nothing, and what it tells is so.
func TestDemoKillABroker(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a session to expire")
	}
	cmd, tmp := kzProcess(t, "demo", "kill-a-broker", "-o", "json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	var r killResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	decode := func(s demoState) zkpaths.PartitionState {
		st, err := zkpaths.DecodePartitionState([]byte(s.Data))
		if err != nil {
			t.Fatalf("%v: %s", err, s.Data)
		}
		return st
	}
	before, elected, rejoined := decode(r.Before), decode(r.Elected), decode(r.Rejoined)
	for rule, ok := range map[string]bool{
		"it says that all went well":                r.OK,
		"no acknowledged record is lost":            len(r.Lost) == 0 && r.Acknowledged > 500,
		"three replicas are in sync before":         len(before.ISR) == 3,
		"another replica leads after the kill":      elected.Leader != before.Leader,
		"one election raises the leader epoch once": elected.LeaderEpoch == before.LeaderEpoch+1 && r.Elected.Version == r.Before.Version+1,
		"the dead broker is out of the ISR":         len(elected.ISR) == 2,
		"restarted, it is in the ISR again":         len(rejoined.ISR) == 3 && r.Rejoined.Version == r.Elected.Version+1,
		"a rejoin is not an election":               rejoined.LeaderEpoch == elected.LeaderEpoch,
		"the changed values are shown":              len(r.Changed) > 0,
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", rule, out)
		}
	}
	var story strings.Builder
	for _, s := range r.Steps {
		story.WriteString(s.Text + "\n")
	}
	for _, part := range []string{`kill -9 \d+: broker`, `session 0x[0-9a-f]+ expired`, `Online -> Offline, Offline -> Online`, `State znode v0 -> v1, leader epoch 0 -> 1`, `none lost`, `back into the ISR`} {
		if !regexp.MustCompile(part).MatchString(story.String()) {
			t.Errorf("the story does not tell %q:\n%s", part, story.String())
		}
	}
	if n := strings.Count(story.String(), "\n"); n > 24 {
		t.Errorf("the story has %d lines: more than a screen", n)
	}
	if left := leftBehind(t, tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Ctrl-C in the middle ends the children, too, removes the directory, and exits with 130.
func TestDemoInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send a Ctrl-C to one process")
	}
	cmd, tmp := kzProcess(t, "demo", "kill-a-broker")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "kill -9") {
	}
	journals, _ := filepath.Glob(filepath.Join(tmp, "kz-demo-*", "*.jsonl"))
	if len(journals) != 4 {
		t.Errorf("journals in the middle of the demo: %v", journals)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the last holder of its stdout is gone
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	if left := leftBehind(t, tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDemoUsage(t *testing.T) {
	for _, c := range []struct {
		rule string
		args []string
		want string
	}{
		{"a mistyped demo is guessed", []string{"kill-a-brokr"}, `Did you mean "kill-a-broker"?`},
		{"an unknown demo is refused", []string{"dance"}, "There is kill-a-broker"},
		{"an unknown format is refused", []string{"kill-a-broker", "-o", "xml"}, "text and json"},
		{"arguments are refused", []string{"kill-a-broker", "2"}, "takes no arguments"},
	} {
		_, errs, code := kz(t, append([]string{"demo"}, c.args...)...)
		if code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d, %q", c.rule, code, errs)
		}
	}
}

// A child ends with its parent, even when the parent was killed: its stdin says so.
func TestChildEndsWithItsStdin(t *testing.T) {
	cmd, dir := kzProcess(t, "zookeeper", "--port", "0", "--data-dir", "zk", "--until-stdin-ends")
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v, want exit 0", err)
	}
}
