package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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

// tellDemo runs a demo as a process and checks what holds for each: it ends by itself, all it
// claims is so, it tells what it should on one screen, it leaves nothing behind.
func tellDemo[R any](t *testing.T, name string, parts ...string) (r R, raw []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("waits for a session to expire")
	}
	cmd, tmp := kzProcess(t, "demo", name, "-o", "json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	var shared demoReport
	for _, into := range []any{&r, &shared} {
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if !shared.OK || len(shared.Broken) > 0 || shared.Demo != name || len(shared.Changed) == 0 {
		t.Errorf("ok %v, broken %q, demo %q, changed %v", shared.OK, shared.Broken, shared.Demo, shared.Changed)
	}
	var story strings.Builder
	for _, s := range shared.Steps {
		story.WriteString(s.Text + "\n")
	}
	for _, part := range parts {
		if !regexp.MustCompile(part).MatchString(story.String()) {
			t.Errorf("the story does not tell %q:\n%s", part, story.String())
		}
	}
	if n := strings.Count(story.String(), "\n"); n > 25 {
		t.Errorf("the story has %d lines: more than a screen", n)
	}
	if left := leftBehind(t, tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	return r, out
}

func decodeState(t *testing.T, s demoState) zkpaths.PartitionState {
	t.Helper()
	st, err := zkpaths.DecodePartitionState([]byte(s.Data))
	if err != nil {
		t.Fatalf("%v: %s", err, s.Data)
	}
	return st
}

// The demo ends by itself, loses nothing, leaves nothing, and what it tells is so.
func TestDemoKillABroker(t *testing.T) {
	r, out := tellDemo[killResult](t, "kill-a-broker", `kill -9 \d+: broker`, `session 0x[0-9a-f]+ expired`, `Online -> Offline, Offline -> Online`,
		`State znode v0 -> v1, leader epoch 0 -> 1`, `none lost`, `back into the ISR`)
	before, elected, rejoined := decodeState(t, r.Before), decodeState(t, r.Elected), decodeState(t, r.Rejoined)
	for rule, ok := range map[string]bool{
		"no acknowledged record is lost":            len(r.Lost) == 0 && r.Acknowledged > 500,
		"three replicas are in sync before":         len(before.ISR) == 3,
		"another replica leads after the kill":      elected.Leader != before.Leader,
		"one election raises the leader epoch once": elected.LeaderEpoch == before.LeaderEpoch+1 && r.Elected.Version == r.Before.Version+1,
		"the dead broker is out of the ISR":         len(elected.ISR) == 2,
		"restarted, it is in the ISR again":         len(rejoined.ISR) == 3 && r.Rejoined.Version == r.Elected.Version+1,
		"a rejoin is not an election":               rejoined.LeaderEpoch == elected.LeaderEpoch,
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", rule, out)
		}
	}
}

// One broker wins, with one multi; its epoch is in all it does; the old reign's writes are refused.
func TestDemoKillTheController(t *testing.T) {
	r, out := tellDemo[reignResult](t, "kill-the-controller", `kill -9 \d+: broker \d, the controller`, `session 0x[0-9a-f]+ expired`, `under zxid 0x[0-9a-f]+ or neither`,
		`/controller_epoch v1 -> v2, 1 -> 2`, `each of its writes is a multi`, `0 lost`)
	state := decodeState(t, r.State)
	for rule, ok := range map[string]bool{
		"another broker is the controller":        r.New != r.Old && strings.Contains(r.After.Data, fmt.Sprintf(`"brokerid":%d,`, r.New)),
		"the epoch and its version went up by 1":  r.Before.Epoch == "1" && r.After.Epoch == "2" && r.After.Version == r.Before.Version+1,
		"what it writes carries its epoch":        state.ControllerEpoch == 2,
		"it sent requests":                        r.Requests > 0,
		"a write of the old reign is refused":     r.StaleWrite == "BADVERSION",
		"records flowed while nobody reigned":     r.Interregnum > 0,
		"no acknowledged record is lost":          len(r.Lost) == 0 && r.Acknowledged > 200,
		"the old controller has no part in it":    !slices.Contains(state.ISR, r.Old),
		"every acknowledged record was looked at": r.Acknowledged >= r.Interregnum+200,
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", rule, out)
		}
	}
}

// What acks=all got acknowledged stays; of acks=1 only what a zombie took may go.
func TestDemoZombieLeader(t *testing.T) {
	if cannotFreeze != "" {
		_, errs, code := kz(t, "demo", "zombie-leader")
		if code != exitFailed || !strings.Contains(errs, "SIGSTOP") {
			t.Errorf("exit %d, %q; want the name of what is missing", code, errs)
		}
		return
	}
	r, out := tellDemo[zombieResult](t, "zombie-leader", `kill -STOP \d+`, `Session 0x[0-9a-f]+ expired, the controller elected`, `state znode v0 -> v1`, `kill -CONT \d+`,
		`BADVERSION`, `acks=1: `, `acks=all: \d+ records acknowledged, 0 lost`)
	before, elected, rejoined := decodeState(t, r.Before), decodeState(t, r.Elected), decodeState(t, r.Rejoined)
	for rule, ok := range map[string]bool{
		"another replica leads":                       elected.Leader != r.Zombie && elected.Leader == r.Leader && before.Leader == r.Zombie,
		"one election raised the epoch once":          elected.LeaderEpoch == before.LeaderEpoch+1,
		"the zombie was out of the ISR and came back": !slices.Contains(elected.ISR, r.Zombie) && slices.Contains(rejoined.ISR, r.Zombie),
		"coming back is no election":                  rejoined.LeaderEpoch == elected.LeaderEpoch && rejoined.Leader == elected.Leader,
		"a write at the old version is refused":       r.StaleWrite == "BADVERSION",
		"acks=all loses nothing":                      len(r.Lost) == 0 && r.Acknowledged > 300,
		"every patient client was answered":           r.Accepted == staleWriters && len(r.AcceptedLost) <= staleWriters,
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", rule, out)
		}
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
	if len(journals) != 5 { // of four processes, and the merged one
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
		{"an unknown demo is refused", []string{"dance"}, "There is kill-a-broker, kill-the-controller, zombie-leader"},
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
