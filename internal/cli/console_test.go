package cli

import (
	"regexp"
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// consoleNotAsKafka are the entries of the transcripts that kz answers otherwise, by a
// piece of the command; a piece of what it says instead on stderr, and with which code.
var consoleNotAsKafka = []struct {
	piece, stderr string
	exit          int
	verdict       fidelity.Verdict
	why           string
}{
	{"--compression-codec brotli", "compression.type=brotli: must be one of none, gzip", 1, fidelity.Differs, javaErrors},
	{"--request-required-acks 7", "acks=7: must be one of 0, 1, -1, all", 1, fidelity.Differs, javaErrors},
	{"--producer-property acks", "acks=: must be one of", 1, fidelity.Differs, javaErrors},
	{"--isolation-level read_committed", "kz does not serve transactions yet", 1, fidelity.Refused, "transactions"},
}

// notHere are entries that have tests of their own.
var notHere = regexp.MustCompile(`__consumer_offsets`)

// noWaiting shortens waits for what never comes; where all there is is read, the number
// of messages ends it instead of a time that a slow machine might not keep.
var noWaiting = strings.NewReplacer("--max-block-ms|2000", "--max-block-ms|200", "--from-beginning|--timeout-ms|6000", "--from-beginning|--max-messages|16",
	"--timeout-ms|3000", "--timeout-ms|300", "c1|auto.*", "c.")

// kafka-console-producer and then kafka-console-consumer, command by command, against a
// kz broker. Ref: testdata/kafka-console-producer.txt, testdata/kafka-console-consumer.txt.
func TestConsoleTranscripts(t *testing.T) {
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, map[string]string{
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0",
	}).Brokers[1]
	a := admin.New(client.DefaultConfig(b.Addr))
	defer a.Close()
	if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "c1", Partitions: 1, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	run := 0
	sheet := fidelity.Open(t, "tools/console")
	for _, tool := range []string{"console-producer", "console-consumer"} {
		for _, e := range transcript(t, "kafka-"+tool+".txt") {
			if notHere.MatchString(strings.Join(e.args, " ")) {
				e.enter(sheet, tool, fidelity.Uncompared, "compared line by line in a test of its own: times and member ids differ")
				continue
			}
			run++
			verdict, why := compareConsole(t, e, tool, b.Addr)
			e.enter(sheet, tool, verdict, why)
		}
	}
	if run < 50 {
		t.Errorf("only %d entries", run)
	}
}

var epochMillis = regexp.MustCompile(`Time:\d{13}`)

func compareConsole(t *testing.T, e entry, tool, addr string) (fidelity.Verdict, string) {
	t.Helper()
	joined := strings.NewReplacer("BROKER-1", addr).Replace(noWaiting.Replace(strings.Join(e.args, "|")))
	words := append([]string{tool}, strings.Split(joined, "|")...)
	e.stderr = strings.ReplaceAll(e.stderr, "2000 ms", "200 ms")
	stdout, stderr, exit := kzWithInput(t, e.stdin, words...)
	if strings.Contains(joined, "line.separator") {
		e.stdout = strings.TrimSuffix(e.stdout, "\n") // the transcript's own
	}
	for _, n := range consoleNotAsKafka {
		if strings.HasSuffix(strings.Join(e.args, " "), n.piece) || strings.Contains(strings.Join(e.args, " "), n.piece+" ") {
			if exit != n.exit || !strings.Contains(stderr, n.stderr) || stdout != "" {
				t.Errorf("%v\nexit %d, %q, %q; want exit %d and %q", e, exit, stdout, stderr, n.exit, n.stderr)
			}
			return n.verdict, n.why
		}
	}
	if exit != e.exit {
		t.Errorf("%v\nexit %d, want %d; stderr %q", e, exit, e.exit, stderr)
	}
	if got := epochMillis.ReplaceAllString(stdout, "Time:TIME-MS"); got != e.stdout {
		t.Errorf("%v\nprinted %q\nKafka   %q\nstderr  %q", e, got, e.stdout, stderr)
	}
	checkStderr(t, e, stderr)
	for line := range strings.Lines(e.stderr) {
		said := strings.HasPrefix(line, "Processed a total") || strings.HasPrefix(line, "org.apache.kafka.common.errors.") && !strings.Contains(strings.Join(words, " "), "--max-messages")
		if line = strings.TrimSpace(line); said && !strings.Contains(stderr, line) {
			t.Errorf("%v\nstderr %q\nwant it to contain %q", e, stderr, line)
		}
	}
	return fidelity.Same, ""
}

var offsetLine = regexp.MustCompile(`^\[[^,]+,[^,]+,\d+\]::OffsetAndMetadata\(offset=\d+, leaderEpoch=Optional\[\d+\], metadata=, commitTimestamp=(\d{13}|TIME-MS), expireTimestamp=None\)$`)
var groupLine = regexp.MustCompile(`^[^:]+::GroupMetadata\(groupId=[^,]+, generation=\d+, protocolType=Some\(consumer\), currentState=(Stable, members=HashMap\((\S+) -> MemberMetadata\(memberId=\S+, groupInstanceId=None, clientId=[^,]+, clientHost=/[0-9.]+, sessionTimeoutMs=\d+, rebalanceTimeoutMs=\d+, supportedProtocols=List\(range\), \)\)|Empty, members=HashMap\(\))\)$`)

// The records of __consumer_offsets, printed by both formatters, have the shape of
// every line that Kafka printed. Ref: testdata/kafka-console-consumer.txt.
func TestConsumerOffsetsFormatters(t *testing.T) {
	shapes := map[string]*regexp.Regexp{"$OffsetsMessageFormatter": offsetLine, "$GroupMetadataMessageFormatter": groupLine}
	for _, e := range transcript(t, "kafka-console-consumer.txt") {
		for class, shape := range shapes {
			if strings.Contains(strings.Join(e.args, " "), class) {
				mustMatch(t, e.stdout, shape)
			}
		}
	}
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, map[string]string{
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "true",
	}).Brokers[1]
	if _, stderr, exit := kzWithInput(t, "one\n", "console-producer", "--bootstrap-server", b.Addr, "--topic", "f1"); exit != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, exit := kz(t, "console-consumer", "--bootstrap-server", b.Addr, "--topic", "f1", "--group", "g", "--from-beginning", "--max-messages", "1"); exit != 0 {
		t.Fatal(stderr)
	}
	for class, shape := range shapes { // the group's first generation, an offset, the empty group: three records at least
		stdout, stderr, exit := kz(t, "console-consumer", "--bootstrap-server", b.Addr, "--topic", "__consumer_offsets", "--from-beginning", "--max-messages", "3",
			"--partition", "0", "--formatter", "kafka.coordinator.group.GroupMetadataManager"+class)
		if exit != 0 || stdout == "" {
			t.Fatalf("%s: exit %d: %s", class, exit, stderr)
		}
		mustMatch(t, stdout, shape)
	}
}

func mustMatch(t *testing.T, lines string, shape *regexp.Regexp) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "(") && !shape.MatchString(line) {
			t.Errorf("%q does not match %v", line, shape)
		}
	}
}
