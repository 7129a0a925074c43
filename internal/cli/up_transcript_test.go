package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kz/internal/up"
)

const upTranscript = "kz-up.txt"

// TestUpTranscript types testdata/kz-up.txt: kz up, then every command about the cluster.
// With KZ_UPDATE_TRANSCRIPT the file gets what the commands print, but where it compares
// loosely.
func TestUpTranscript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot pause a process: a part of the transcript is refused there")
	}
	entries := transcript(t, upTranscript)
	r := newUpRig(t)
	s := newUpScript(t, r)
	for i := range entries {
		e := &entries[i]
		switch {
		case e.is("background"):
			s.start(*e)
		case e.is("eventually"):
			s.until(*e)
		default:
			out, errs, code := s.kz(e.args)
			if os.Getenv("KZ_UPDATE_TRANSCRIPT") != "" && !e.is("among") {
				e.stdout, e.stderr, e.exit = out, errs, code
			}
			s.check(*e, out, errs, code)
		}
	}
	s.join()
	if os.Getenv("KZ_UPDATE_TRANSCRIPT") != "" {
		if err := os.WriteFile(s.file, []byte(s.print(entries)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// is says whether the comment of an entry has a word in brackets.
func (e entry) is(word string) bool { return strings.Contains(e.comment, "("+word+")") }

// upScript types commands as they stand in the file, in a directory of its own.
type upScript struct {
	t       *testing.T
	file    string
	typed   *strings.Replacer // the file's ports → those that were free
	shown   *strings.Replacer // the other way
	waiting []func()          // for the commands in the background
}

func newUpScript(t *testing.T, r *upRig) *upScript {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", upTranscript))
	if err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	t.Cleanup(func() {
		if remote, err := up.Find(defaultClusterDir); err == nil { // after a failure half-way
			ctx, cancel := context.WithTimeout(context.Background(), downWait) // t's has ended
			defer cancel()
			_ = remote.Stop(ctx)
		}
	})
	typed, shown := []string{"2181", portOf(r.zoo)}, []string{r.zoo, "127.0.0.1:2181", home + string(filepath.Separator), ""}
	var base int
	fmt.Sscan(portOf(r.addr), &base)
	for i := range 3 {
		typed = append(typed, fmt.Sprint(9092+i), fmt.Sprint(base+i))
		shown = append(shown, fmt.Sprint("127.0.0.1:", base+i), fmt.Sprint("127.0.0.1:", 9092+i))
	}
	return &upScript{t: t, file: file, typed: strings.NewReplacer(typed...), shown: strings.NewReplacer(shown...)}
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

func (s *upScript) kz(args []string) (stdout, stderr string, code int) {
	s.t.Helper()
	var typed []string
	for _, a := range args {
		typed = append(typed, s.typed.Replace(a))
	}
	out, errs, code := kz(s.t, typed...)
	return s.plain(out), s.plain(errs), code
}

// differ is what is never the same twice, and what stands for it in the file.
var differ = []struct {
	what *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`(?m)^Waiting until it is done.*\n`), ""}, // said where it takes long
	{regexp.MustCompile(`\b(pid|process) \d+`), "$1 PID"},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "SESSION"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`(?m)^ *\d+  TIME`), "SEQ  TIME"},
	{regexp.MustCompile(`TIME +\d+`), "TIME  SEQ"},
	{regexp.MustCompile(`\bevent \d+`), "event SEQ"},
	{regexp.MustCompile(`"(seq|t_ms|since)":\d+`), `"$1":N`},
	{regexp.MustCompile(`\d+ (bytes gone|connections broken)`), "N $1"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)^\d+  broker`), "N  broker"},
}

func (s *upScript) plain(text string) string {
	text = s.shown.Replace(text)
	for _, d := range differ {
		text = d.what.ReplaceAllString(text, d.word)
	}
	return text
}

// A heard keeps what a process says, and tells of its first word.
type heard struct {
	said  bytes.Buffer // no embedded one: its ReadFrom would pass Write by
	first func()
}

func (h *heard) Write(b []byte) (int, error) {
	defer h.first()
	return h.said.Write(b)
}

// start runs a command in a process of its own, as in another terminal, and waits until it
// says something, so that it is there for what follows; join waits for its end.
func (s *upScript) start(e entry) {
	s.t.Helper()
	var typed []string
	for _, a := range e.args {
		typed = append(typed, s.typed.Replace(a))
	}
	speaks := make(chan struct{})
	first := sync.OnceFunc(func() { close(speaks) })
	out, errs := &heard{first: first}, &heard{first: first}
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), self, typed...)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its exit code is compared
	}()
	select {
	case <-speaks:
	case <-ended:
	}
	s.waiting = append(s.waiting, func() {
		<-ended
		s.check(e, s.plain(out.said.String()), s.plain(errs.said.String()), cmd.ProcessState.ExitCode())
	})
}

func (s *upScript) join() {
	for _, wait := range s.waiting {
		wait()
	}
}

// until types a command until it prints what it is to print. go test's own deadline is
// this loop's.
func (s *upScript) until(e entry) {
	s.t.Helper()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	began := time.Now()
	for {
		out, _, code := s.kz(e.args)
		if code == e.exit && same(e, out) {
			return
		}
		if time.Since(began) > time.Minute {
			s.t.Fatalf("%v\nstill:\n%s\nwant:\n%s", e, out, e.stdout)
		}
		<-beat.C
	}
}

func (s *upScript) check(e entry, out, errs string, code int) {
	s.t.Helper()
	if code != e.exit || !same(e, out) {
		s.t.Errorf("%v: exit %d, want %d\nstdout:\n%s\nwant:\n%s\nstderr:\n%s", e, code, e.exit, out, e.stdout, errs)
	}
	if !e.is("among") && errs != e.stderr {
		s.t.Errorf("%v\nstderr: %q\n  want: %q", e, errs, e.stderr)
	}
}

// same compares what a command printed: line by line, or as lines among others.
func same(e entry, out string) bool {
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i, want := range strings.Split(strings.TrimSuffix(e.stdout, "\n"), "\n") {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*") + "$")
		if !e.is("among") {
			if i >= len(got) || !pattern.MatchString(got[i]) {
				return false
			}
			continue
		}
		for len(got) > 0 && !pattern.MatchString(got[0]) {
			got = got[1:]
		}
		if len(got) == 0 {
			return false
		}
		got = got[1:]
	}
	return e.is("among") || strings.Count(out, "\n") == strings.Count(e.stdout, "\n")
}

// print is the file with its entries as they are now.
func (s *upScript) print(entries []entry) string {
	var b bytes.Buffer
	for _, e := range entries {
		for line := range strings.Lines(e.comment) {
			fmt.Fprintf(&b, "# %s", line)
		}
		var words []string
		for _, a := range e.args {
			if a == "" || strings.ContainsRune(a, ' ') {
				a = "'" + a + "'"
			}
			words = append(words, a)
		}
		fmt.Fprintf(&b, "$ kz %s\n", strings.Join(words, " "))
		for _, part := range []struct{ name, text string }{{"stdout", e.stdout}, {"stderr", e.stderr}} {
			if part.text != "" {
				fmt.Fprintf(&b, "--- %s\n%s", part.name, part.text)
			}
		}
		fmt.Fprintf(&b, "--- exit %d\n", e.exit)
	}
	return b.String()
}
