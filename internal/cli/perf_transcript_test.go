package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// notMeasured are the entries of the perf tools' transcripts that are not run against a
// cluster, by a piece of the command; those that kz refuses must say so.
var notMeasured = []struct {
	piece, why, refusal string
	verdict             fidelity.Verdict
}{
	{"--throughput 100 ", "takes six seconds; the rate and the reports have tests of their own", "", fidelity.Uncompared},
	{"--transactional-id", "transactions", "--transaction-duration-ms is refused", fidelity.Refused},
	{"--print-metrics", "`--print-metrics`, `--transaction-duration-ms`", "--print-metrics is refused", fidelity.Differs},
}

// What the perf tools print and how they exit, command by command: the words and the
// shape of the numbers are those of Kafka's. The usage errors have their own test.
// Ref: testdata/kafka-producer-perf-test.txt, testdata/kafka-consumer-perf-test.txt.
func TestPerfTranscripts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"payload.txt": "one\ntwo\nthree\n", "empty.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, map[string]string{
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0",
	}).Brokers[1]
	if _, stderr, exit := kz(t, "topics", "--bootstrap-server", b.Addr, "--create", "--topic", "p1", "--partitions", "1", "--replication-factor", "1"); exit != 0 {
		t.Fatal(stderr)
	}
	run := 0
	sheet := fidelity.Open(t, "tools/perf")
	for _, tool := range []string{"producer-perf-test", "consumer-perf-test"} {
		for _, e := range transcript(t, "kafka-"+tool+".txt") {
			line := strings.Join(e.args, " ")
			if !strings.Contains(line, "BROKER-1") || e.exit != 0 && !strings.Contains(line, "empty.txt") {
				continue // TestPerfUsageErrors
			}
			run++
			e.stdout = shortened.Replace(e.stdout)
			words := strings.Fields(strings.NewReplacer("BROKER-1", b.Addr, "DIR", dir).Replace(shortened.Replace(line)))
			verdict, why := comparePerf(t, e, dir, append([]string{tool}, words...))
			e.enter(sheet, tool, verdict, why)
		}
	}
	if run < 12 {
		t.Errorf("only %d entries", run)
	}
}

// shortened is waits that nobody needs.
var shortened = strings.NewReplacer("--reporting-interval 100", "--reporting-interval 1", "--timeout 3000", "--timeout 300", "(3000 ms)", "(300 ms)", "--timeout 2000", "--timeout 200", "(2000 ms)", "(200 ms)")

func comparePerf(t *testing.T, e entry, dir string, words []string) (fidelity.Verdict, string) {
	t.Helper()
	line := strings.Join(words, " ") + " "
	for _, n := range notMeasured {
		if !strings.Contains(line, n.piece) {
			continue
		}
		if n.refusal != "" {
			if stdout, stderr, exit := kz(t, words...); exit != 1 && exit != 2 || !strings.Contains(stderr, n.refusal) {
				t.Errorf("%v: exit %d, %q %q: want a refusal with %q", e, exit, stdout, stderr, n.refusal)
			}
		}
		return n.verdict, n.why
	}
	stdout, stderr, exit := kz(t, words...)
	if exit != e.exit {
		t.Errorf("%v: exit %d, want %d: %s", e, exit, e.exit, stderr)
	}
	got, want := shape(strings.ReplaceAll(stdout, dir, "DIR")), shape(e.stdout)
	if strings.Contains(line, "--show-detailed-stats") && strings.HasPrefix(want, withoutRepeats(got)) {
		want = got // none, if kz is through before the first interval ends, or several
	}
	if strings.Contains(line, "--messages 1000 ") && got == want && strings.Contains(stdout, "start.time") && !strings.Contains(stdout, ", 1000, ") {
		t.Errorf("%v\nprinted %q: not 1000 messages", e, stdout)
	}
	if got != want {
		t.Errorf("%v\nprinted %q\nKafka   %q", e, got, want)
	}
	checkStderr(t, e, stderr)
	return fidelity.Same, ""
}

var (
	javaTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}`)
	decimals = regexp.MustCompile(`\d+\.(\d+)`)
	integer  = regexp.MustCompile(`, \d+\b`)
)

// shape keeps of a number how many decimals it has; how many records were sent stays.
func shape(s string) string {
	s = javaTime.ReplaceAllString(s, "DATE-TIME")
	s = decimals.ReplaceAllStringFunc(s, func(n string) string {
		_, frac, _ := strings.Cut(n, ".")
		return "N." + strings.Repeat("n", len(frac))
	})
	return integer.ReplaceAllString(s, ", N")
}

// withoutRepeats drops lines that equal the one before.
func withoutRepeats(s string) string {
	return strings.Join(slices.Compact(strings.Split(s, "\n")), "\n")
}

// consumer-perf-test is a member of a group: it goes on where that group left off, leaves
// when it is done, and its time without partitions is in a column of its own.
// Ref: Kafka 2.8 ConsumerPerformance.consume.
func TestConsumerPerfJoinsAGroup(t *testing.T) {
	s := newGroupsStory(t) // topic g1 has 0, 15 and 15 records
	run := func(group, messages, timeout string) (counted int64) {
		t.Helper()
		stdout, stderr, exit := kz(t, "consumer-perf-test", "--bootstrap-server", s.addr, "--topic", "g1", "--group", group, "--messages", messages, "--timeout", timeout, "-o", "json")
		var got struct {
			DataConsumedInNMsg, RebalanceTimeMs, FetchTimeMs int64
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil || exit != 0 {
			t.Fatalf("exit %d, %v: %s %s", exit, err, stdout, stderr)
		}
		if got.DataConsumedInNMsg > 0 && got.FetchTimeMs < 0 {
			t.Errorf("more time to join than there was: %+v", got)
		}
		return got.DataConsumedInNMsg
	}
	first := run("perf", "30", "30000")
	if first != 30 || !s.hasRead("perf", 0, 15, 15) {
		t.Errorf("%d read, or not committed", first)
	}
	s.until("the member to have left", "perf", func(d admin.GroupDescription) bool { return d.State == "Empty" })
	produce(t, s.addr, "g1", 2)
	if again := run("perf", "2", "30000"); again != 2 {
		t.Errorf("%d read again, want the 2 that are new", again)
	}
	if all := run("other", "32", "30000"); all != 32 {
		t.Errorf("another group read %d of 32", all)
	}
	stdout, stderr, exit := kz(t, "consumer-perf-test", "--bootstrap-server", s.addr, "--topic", "g1", "--messages", "32", "--hide-header")
	if exit != 0 || !strings.Contains(stdout, ", 32, ") {
		t.Fatalf("no --group: exit %d: %s %s", exit, stdout, stderr)
	}
	groups, err := s.a.ListGroups(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(groups, func(g admin.GroupListing) bool { return strings.HasPrefix(g.Group, "perf-consumer-") }) {
		t.Errorf("no --group: no group perf-consumer-N in %v, %v", groups, err)
	}
}
