package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What --export writes --from-file reads, whatever the names; Kafka quotes these, and so
// do its files. A partition that is named twice is reset once.
// Ref: Kafka 2.8 ConsumerGroupCommand.exportOffsetsToCsv, parseResetPlan.
func TestResetPlansAreCSV(t *testing.T) {
	s := newGroupsStory(t)
	s.createTopic("a-name-with-24-character", 1)
	s.createTopic("a-name-with-25-characters", 1)
	reset := func(args ...string) string {
		t.Helper()
		stdout, stderr, exit := kz(t, append([]string{"consumer-groups", "--bootstrap-server", s.addr, "--reset-offsets"}, args...)...)
		if exit != 0 {
			t.Fatalf("%v: exit %d: %s", args, exit, stderr)
		}
		return stdout
	}
	exported := reset("--group", "a b", "--group", `c"d,`, "--topic", "a-name-with-24-character", "--topic", "a-name-with-25-characters", "--topic", "g1:1,1", "--to-latest", "--export")
	want := `"a b",a-name-with-24-character,0,0
"a b","a-name-with-25-characters",0,0
"a b",g1,1,15
"c""d,",a-name-with-24-character,0,0
"c""d,","a-name-with-25-characters",0,0
"c""d,",g1,1,15

`
	if exported != want {
		t.Errorf("exported\n%s\nKafka:\n%s", exported, want)
	}
	file := filepath.Join(t.TempDir(), "plan.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(exported)
	if again := reset("--group", "a b", "--group", `c"d,`, "--from-file", file, "--export"); again != want {
		t.Errorf("read back:\n%s", again)
	}
	write("\ufeff\"g1\",1,3\r\ng1,1,7\r\n")
	if got := reset("--group", "g", "--from-file", file, "--export"); got != "g1,1,7\n\n" {
		t.Errorf("a spreadsheet's file: %q", got)
	}
	for text, says := range map[string]string{
		"\"g1,1,7\n":       "the double quotes do not match",
		"g1,1,7\n\ng1,2,0": `line 2 of ` + file + `: "": a line is`,
		"":                 `line 1 of ` + file + `: "": a line is`,
		"g1,1,7,8,9":       "a line is group,topic,partition,offset",
		"g1,1,1e3":         "the offset is no number",
	} {
		write(text)
		if got := reset("--group", "g", "--from-file", file, "--execute"); !strings.Contains(got, says) {
			t.Errorf("%q: %q", text, got)
		}
	}
	if s.hasRead("g", 0, 7, 0) {
		t.Error("a file with a fault was obeyed in part")
	}
}
