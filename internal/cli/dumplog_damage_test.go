package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kz/internal/fidelity"
)

// recovery are partition directories of real Kafka, damaged while the broker was down; broker/commitlog
// has them, too.
const recovery = "../../broker/commitlog/testdata/recovery"

// damagedIn says which of them each captured command was run in, and what is done to it before.
var damagedIn = []struct {
	capture, dir string
	change       func(t *testing.T, dir string)
}{
	{"01-good-log-shallow", "clean/none", nil},
	{"02-good-index-verify-only", "clean/none", nil},
	{"03-good-index-sanity", "clean/none", nil},
	{"04-crc-shallow", "clean/flip-active", nil},
	{"05-crc-deep", "clean/flip-active", nil},
	{"06-torn", "clean/torn", nil},
	{"07-torn-header", "unclean/torn-header", nil},
	{"08-zero-tail", "clean/zero-tail", nil},
	{"09-garbage-index", "clean/garbage-index", nil},
	{"10-garbage-index-sanity", "clean/garbage-index", nil},
	{"11-odd-index", "clean/odd-index", nil},
	{"12-odd-index-sanity", "clean/odd-index", nil},
	{"13-zero-index", "clean/zero-index", nil},
	{"14-garbage-timeindex", "clean/garbage-timeindex", nil},
	{"15-garbage-timeindex-sanity", "clean/garbage-timeindex", nil},
	{"16-garbage-snapshot", "clean/garbage-snapshot", nil},
	{"17-missing-file", "clean/none", nil},
	{"18-unknown-suffix", "clean/none", nil},
	{"19-not-a-number", "clean/none", nil},
	{"20-index-mismatch", "clean/none", flipByte("00000000000000000008.index", 3, 1)},
	{"21-index-mismatch-verify-only", "clean/none", flipByte("00000000000000000008.index", 3, 1)},
	{"22-timeindex-mismatch", "clean/none", flipByte("00000000000000000008.timeindex", 7, 0x40)},
	{"23-non-consecutive", "clean/zero-timeindex", withoutBatch("00000000000000000008.log", 203, 203)},
}

// javaWords are the captures whose stderr is words of Java's, by a piece of it, and the piece that kz
// says instead.
var javaWords = map[string]string{
	"NoSuchFileException: ":                                  "no such file",
	"StringIndexOutOfBoundsException: begin -1":              "leader-epoch-checkpoint",
	`NumberFormatException: For input string: "abc"`:         "abc",
	"IllegalArgumentException: Invalid position: -464672782": "position -464672782",
}

// kafka-dump-log on damaged and mismatching files, command by command: stdout and exit code are those
// that Kafka 2.8.2 gave, and so is what stderr says. Ref: testdata/dump-log-errors.
func TestDumpLogErrors(t *testing.T) {
	sheet := fidelity.Open(t, "tools/dump-log-damaged")
	captures, err := filepath.Glob("testdata/dump-log-errors/*.txt")
	if err != nil || len(captures) != len(damagedIn) {
		t.Fatalf("%d captures, %d in the table, %v", len(captures), len(damagedIn), err)
	}
	for _, d := range damagedIn {
		t.Run(d.capture, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata/dump-log-errors", d.capture+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(recovery, d.dir, "before"))); err != nil {
				t.Fatal(err)
			}
			if d.change != nil {
				d.change(t, dir)
			}
			e := damagedEntry(t, string(b))
			verdict, why := compareDamaged(t, e, dir)
			e.enter(sheet, "dump-log", verdict, why)
		})
	}
}

func compareDamaged(t *testing.T, e entry, dir string) (fidelity.Verdict, string) {
	words := []string{"dump-log"}
	for i, w := range e.args {
		if i == 1 {
			names := strings.Split(w, ",")
			for j := range names {
				names[j] = filepath.Join(dir, names[j])
			}
			w = strings.Join(names, ",")
		}
		words = append(words, w)
	}
	stdout, stderr, exit := kz(t, words...)
	bare := strings.NewReplacer(dir+"/", "", filepath.Base(dir)+"/", "")
	stdout, stderr = bare.Replace(stdout), bare.Replace(stderr)
	if exit != e.exit {
		t.Errorf("exit %d, Kafka's %d; stderr %q", exit, e.exit, stderr)
	}
	if stdout != e.stdout {
		t.Errorf("stdout: %s", firstDifference(stdout, e.stdout))
	}
	for java, ours := range javaWords {
		if strings.Contains(e.stderr, java) {
			if !strings.Contains(stderr, ours) {
				t.Errorf("stderr %q: want %q", stderr, ours)
			}
			return fidelity.Differs, javaErrors
		}
	}
	if want := withoutJava(e.stderr); !strings.Contains(stderr, want) || want == "" && stderr != "" {
		t.Errorf("stderr %q, Kafka's %q", stderr, want)
	}
	return fidelity.Same, ""
}

var damagedPath = regexp.MustCompile(`dumperrors/[a-z-]+-0/`)

// damagedEntry reads a capture: the command, "# exit N; damage: …", stdout, stderr.
func damagedEntry(t *testing.T, s string) (e entry) {
	t.Helper()
	head, rest, ok := strings.Cut(s, "---- stdout\n")
	lines := strings.Split(head, "\n")
	m := regexp.MustCompile(`^# exit (\d+);`).FindStringSubmatch(lines[1])
	if !ok || m == nil {
		t.Fatalf("no capture: %q", s)
	}
	e.args = strings.Fields(lines[0])[2:]
	e.exit, _ = strconv.Atoi(m[1])
	e.stdout, e.stderr, _ = strings.Cut(rest, "---- stderr\n")
	e.stderr = damagedPath.ReplaceAllString(e.stderr, "")
	return e
}

// withoutJava drops the stack and the name of the exception.
func withoutJava(stderr string) string {
	var out []string
	for line := range strings.Lines(stderr) {
		if rest, ok := strings.CutPrefix(line, `Exception in thread "main" `); ok {
			_, line, _ = strings.Cut(rest, ": ")
		}
		if !strings.HasPrefix(line, "\tat ") {
			out = append(out, line)
		}
	}
	return strings.TrimSuffix(strings.Join(out, ""), "\n")
}

func flipByte(name string, at int, bit byte) func(*testing.T, string) {
	return edit(name, func(b []byte) []byte { b[at] ^= bit; return b })
}

func withoutBatch(name string, position, size int) func(*testing.T, string) {
	return edit(name, func(b []byte) []byte { return slices.Delete(b, position, position+size) })
}

func edit(name string, f func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, f(b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
