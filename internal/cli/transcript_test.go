package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kz/internal/fidelity"
	"kz/internal/link"
)

// An entry is one command of a transcript of real Kafka: what was typed, what it
// printed, how it ended. The files in testdata were captured from Kafka 2.8.2.
type entry struct {
	line    int
	comment string // the comment lines before it
	args    []string
	stdin   string
	stdout  string
	stderr  string
	exit    int
}

func (e entry) String() string { return fmt.Sprintf("line %d: %s", e.line, strings.Join(e.args, " ")) }

// enter writes the entry into the account of what was compared; of what is the same only the number.
func (e entry) enter(sheet *fidelity.Sheet, tool string, v fidelity.Verdict, why string) {
	where := strings.Join(e.args, " ")
	if v == fidelity.Same {
		where = ""
	}
	sheet.Add(tool, where, v, why)
}

// transcript reads the entries of a file in testdata.
func transcript(t *testing.T, name string) []entry {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []entry
	var current *entry
	var comment string
	var to *string
	for i, line := range strings.Split(string(b), "\n") {
		switch {
		case strings.HasPrefix(line, "# "):
			comment += strings.TrimPrefix(line, "# ") + "\n"
		case strings.HasPrefix(line, "$ "):
			words := splitWords(line[2:])
			out = append(out, entry{line: i + 1, comment: comment, args: words[1:]})
			current, comment, to = &out[len(out)-1], "", nil
		case to == nil && strings.HasPrefix(line, "< "):
			current.stdin += line[2:] + "\n"
		case line == "--- stdout":
			to = &current.stdout
		case line == "--- stderr":
			to = &current.stderr
		case strings.HasPrefix(line, "--- exit "):
			fmt.Sscanf(line, "--- exit %d", &current.exit)
			to = nil
		case to != nil:
			*to += line + "\n"
		}
	}
	if len(out) < 5 {
		t.Fatalf("%s: only %d entries", name, len(out))
	}
	return out
}

// splitWords splits at blanks outside single quotes.
func splitWords(s string) []string {
	var out []string
	var word strings.Builder
	quoted, some := false, false
	for _, c := range s {
		switch {
		case c == '\'':
			quoted, some = !quoted, true
		case c == ' ' && !quoted:
			if some || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(c)
		}
	}
	if some || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// kz runs the command line in this process.
func kz(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	return kzWithInput(t, "", args...)
}

func kzWithInput(t *testing.T, input string, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	e := &env{stdin: strings.NewReader(input), stdout: &out, stderr: &errs, network: link.TCP{}}
	exit = run(t.Context(), e, append([]string{"kz"}, args...))
	return out.String(), errs.String(), exit
}

var logLine = regexp.MustCompile(`^\[TIME\] `)

// checkStderr compares what a user reads of an error: the message. Log lines and stack
// traces of Java are not compared, nor is the usage.
func checkStderr(t *testing.T, e entry, got string) {
	t.Helper()
	first, _, _ := strings.Cut(e.stderr, "\n")
	switch {
	case first == "", logLine.MatchString(first), strings.HasPrefix(first, "("):
		return
	case strings.HasPrefix(first, "Exception in thread"):
		if i := strings.LastIndex(first, "Exception: "); i >= 0 {
			first = first[i+len("Exception: "):]
		}
	}
	if !strings.Contains(got, first) {
		t.Errorf("%v\nstderr: %q\nwant it to contain %q", e, got, first)
	}
}

// toolsNotHere are the tools of Kafka's whose transcripts were captured and that kz does not have,
// with the number of commands in each, and what they need.
var toolsNotHere = map[string]struct {
	commands int
	needs    string
}{
	"acls":                {16, "ACLs"},
	"broker-api-versions": {3, "a command of its own"},
	"configs":             {75, "AlterConfigs, quotas, SCRAM"},
	"delete-records":      {11, "DeleteRecords"},
	"leader-election":     {19, "ElectLeaders"},
	"log-dirs":            {8, "DescribeLogDirs"},
	"reassign-partitions": {45, "reassignment"},
	"zookeeper-shell":     {26, "a command of its own"},
}

// What kz does not have it does not know, and the account says so.
func TestToolsNotHere(t *testing.T) {
	sheet := fidelity.Open(t, "tools/not-here")
	for tool, n := range toolsNotHere {
		if _, stderr, exit := kz(t, tool); exit == 0 {
			t.Errorf("%s: exit 0, %q: it exists, so its transcript has to be replayed", tool, stderr)
		}
		sheet.AddN(tool, "", fidelity.Refused, n.needs, n.commands)
	}
}
