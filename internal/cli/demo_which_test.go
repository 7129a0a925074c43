package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/up"
)

// needsApache skips where Apache Kafka cannot run beside kz. KZ_REQUIRE_JAVA=1 forbids the skip.
func needsApache(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts two JVMs")
	}
	_, err := up.FindApache()
	if err == nil {
		return
	}
	if os.Getenv("KZ_REQUIRE_JAVA") != "1" {
		t.Skip(err)
	}
	script, pathErr := filepath.Abs("../../scripts/reference-kafka.sh")
	if pathErr != nil {
		t.Fatal(pathErr)
	}
	if out, err := exec.Command(script, "fetch").CombinedOutput(); err != nil {
		t.Fatalf("KZ_REQUIRE_JAVA=1, but: %v\n%s", err, out)
	}
}

// Two brokers of Apache Kafka and one of kz: no answer differs, nothing is lost, nothing is left.
func TestDemoWhichIsGo(t *testing.T) {
	needsApache(t)
	cmd, tmp := kzProcess(t, "demo", "which-is-go", "-o", "json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	var r whichResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	led := 0
	for _, k := range r.Kills {
		led += k.Led
	}
	for rule, ok := range map[string]bool{
		"it says that all went well":                   r.OK,
		"one broker is kz, two are Kafka":              len(r.Go) == 1 && len(r.Java) == 2,
		"each was killed, and led something":           len(r.Kills) == 3 && led > 0,
		"no answer differs, and every pair has plenty": r.Answers.Different() == 0 && len(r.Answers.Pairs) == 3 && r.Answers.Same() > 3*1000,
		"all logs are equal":                           r.LogsEqual == whichPartitions,
		"no acknowledged record is lost":               len(r.Lost) == 0 && r.Acknowledged > 1000,
		"what would have told is so":                   r.Answers.APIs[r.Java[0]] > r.Answers.APIs[r.Go[0]],
	} {
		if !ok {
			t.Errorf("not so: %s\n%s", rule, out)
		}
	}
	lines := 0
	for _, s := range r.Steps {
		lines += 1 + strings.Count(s.Text, "\n")
	}
	if lines > 24 {
		t.Errorf("the story has %d lines: more than a screen", lines)
	}
	if left := leftBehind(t, tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDemoWhichIsGoSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		rule string
		env  []string
		args []string
		code int
		want string
	}{
		{"without java it is skipped, with a word", []string{"PATH=" + t.TempDir()}, nil, exitUnknown, "skipped, for it needs Apache Kafka"},
		{"one or two are kz", nil, []string{"--kz", "3"}, exitUsage, "--kz 3"},
	} {
		cmd, tmp := kzProcess(t, append([]string{"demo", "which-is-go"}, c.args...)...)
		cmd.Env = append(cmd.Env, c.env...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d, %q", c.rule, code, errs.String())
		}
		if left := leftBehind(t, tmp); len(left) != 0 {
			t.Errorf("%s: left behind: %v", c.rule, left)
		}
	}
}
