package cli

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kz/client/admin"
	"kz/internal/link"
)

// brokenOutput takes so many writes and fails then.
type brokenOutput struct {
	bytes.Buffer
	good int
	err  error
}

func (b *brokenOutput) Write(p []byte) (int, error) {
	if b.good--; b.good < 0 {
		return 0, b.err
	}
	return b.Buffer.Write(p)
}

// kzInto runs the command line with a stdout of its own.
func kzInto(t *testing.T, out *brokenOutput, input string, args ...string) (stderr string, exit int) {
	t.Helper()
	var errs bytes.Buffer
	e := &env{stdin: strings.NewReader(input), stdout: out, stderr: &errs, network: link.TCP{}}
	exit = run(t.Context(), e, append([]string{"kz"}, args...))
	return errs.String(), exit
}

// Output that is lost is a failure, whichever command it was; who closes a pipe, as head
// does, need not be told.
func TestLostOutput(t *testing.T) {
	for _, args := range []string{"version", "help", "topics --version"} {
		if stderr, exit := kzInto(t, &brokenOutput{err: syscall.ENOSPC}, "", strings.Fields(args)...); exit != exitFailed || !strings.Contains(stderr, syscall.ENOSPC.Error()) {
			t.Errorf("%s, no space: exit %d, %q", args, exit, stderr)
		}
	}
	if stderr, exit := kzInto(t, &brokenOutput{err: syscall.EPIPE}, "", "version"); exit != exitUnread || stderr != "" {
		t.Errorf("nobody reads: exit %d, %q", exit, stderr)
	}
}

// Who reads in a group until stopped stops when nobody reads the output any more: what
// was not written is not committed, and the group is left.
// Ref: Kafka 2.8 ConsoleConsumer.checkErr.
func TestNobodyReadsTheConsumer(t *testing.T) {
	s := newGroupsStory(t) // topic g1 has 0, 15 and 15 records
	empty := func(d admin.GroupDescription) bool { return d.State == "Empty" }
	for group, broken := range map[string]error{"pipe": syscall.EPIPE, "full": syscall.ENOSPC} {
		out := &brokenOutput{good: 20, err: broken}
		stderr, exit := kzInto(t, out, "", "console-consumer", "--bootstrap-server", s.addr, "--topic", "g1", "--from-beginning", "--group", group)
		if want := map[error]int{syscall.EPIPE: exitUnread, syscall.ENOSPC: exitFailed}[broken]; exit != want || !strings.Contains(stderr, "Unable to write to standard out, closing consumer.\n") {
			t.Errorf("%v: exit %d, %s", broken, exit, stderr)
		}
		offsets, err := s.a.GroupOffsets(t.Context(), group)
		var committed int64
		for _, o := range offsets {
			committed += o.Offset
		}
		if lines := strings.Count(out.String(), "\n"); err != nil || int64(lines) != committed || lines == 0 || lines == 30 {
			t.Errorf("%v: %d lines were written, %d are committed, %v", broken, lines, committed, err)
		}
		s.until("the consumer to have left", group, empty)
	}
	for _, words := range [][]string{
		{"verifiable-consumer", "--group-id", "v"},
		{"consumer-perf-test", "--group", "p", "--messages", "1000", "--timeout", "600000"},
		{"verifiable-producer"},
	} {
		if stderr, exit := kzInto(t, &brokenOutput{err: syscall.EPIPE}, "", append(words, "--bootstrap-server", s.addr, "--topic", "g1")...); exit != exitUnread {
			t.Errorf("%s: exit %d, %s", words[0], exit, stderr)
		}
	}
}

// The prompts of console-producer are for people: without a reader it sends all lines.
func TestNobodyReadsThePrompts(t *testing.T) {
	s := newGroupsStory(t)
	if stderr, exit := kzInto(t, &brokenOutput{err: syscall.EPIPE}, "a\nb\nc\n", "console-producer", "--bootstrap-server", s.addr, "--topic", "g2"); exit != 0 {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	if stdout, _, _ := kz(t, "get-offsets", "--broker-list", s.addr, "--topic", "g2"); stdout != "g2:0:6\n" { // 3 were there
		t.Errorf("there are %q", stdout)
	}
}

// A record that cannot be printed ends the tool, and what came behind it in the same
// answer is not committed.
func TestUnprintableRecordEndsTheCommit(t *testing.T) {
	s := newGroupsStory(t)
	if err := s.a.CreateTopic(t.Context(), admin.NewTopic{Name: "bad", Partitions: 3, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	produce(t, s.addr, "bad", 1, 1, 1)
	_, stderr, exit := kz(t, "console-consumer", "--bootstrap-server", s.addr, "--topic", "bad", "--from-beginning", "--group", "u",
		"--consumer-property", "fetch.min.bytes=150", "--value-deserializer", "org.apache.kafka.common.serialization.LongDeserializer")
	if exit != exitFailed || !strings.Contains(stderr, "offset 0") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
	offsets, err := s.a.GroupOffsets(t.Context(), "u")
	var committed int64
	for _, o := range offsets {
		committed += o.Offset
	}
	if err != nil || committed != 1 {
		t.Errorf("one record was looked at, %d are committed: %v", committed, offsets)
	}
}

type closer func() error

func (c closer) Close() error { return c() }

// Who waits for a consumer to close hears why.
func TestClosingSaysThatItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs strings.Builder
		e := &env{stderr: &errs}
		e.closing("console-consumer", closer(func() error { return nil }))
		if errs.Len() > 0 {
			t.Errorf("at once, and yet %q", errs.String())
		}
		e.closing("console-consumer", closer(func() error { time.Sleep(6 * time.Second); return syscall.ETIMEDOUT }))
		if got := errs.String(); strings.Count(got, "still closing") != 1 || !strings.Contains(got, "WARN closing: connection timed out (kz console-consumer)") {
			t.Errorf("said %q", got)
		}
	})
}
