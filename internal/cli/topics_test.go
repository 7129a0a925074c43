package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zk"
	"kz/internal/zktest"
)

// notAsKafka are the entries of the transcript that kz answers otherwise, by words of
// the command, with what it prints instead; "-" is not run at all. why is a piece of
// docs/divergence.md where the verdict is differs.
var notAsKafka = []struct {
	words, why, stdout string
	verdict            fidelity.Verdict
}{
	{"--delete", "topic deletion", "", fidelity.Refused},
	{"--version", "`--version` prints Kafka's version and commit", "2.8.2", fidelity.Differs},
	{"--replica-assignment 1:2,1", "`topics --create` with replica lists of different lengths",
		"Error while executing topic command : Partition 1 has different replication factor: 1\n", fidelity.Differs},
	{"--zookeeper 127.0.0.1:1", "waits 30 s for nobody", "-", fidelity.Uncompared},
	{"DIR/no-such-file", javaErrors, "", fidelity.Differs},
	{"nonsense", javaErrors, "", fidelity.Differs},
}

const javaErrors = "errors appear as Java exceptions with stack traces on stderr"

// afterDelete are the lists that Kafka printed after topics were deleted, as they are
// with nothing deleted, in the order of the transcript.
var afterDelete = map[string]string{
	"--bootstrap-server BROKER-1 --list": "defaults\nt.with.dots\nt1\nunder_score\n",
	"--zookeeper ZOOKEEPER --list":       "defaults\nnoleader\nt.with.dots\nt1\nunder_score\nzk2\n",
}

// kafka-topics, command by command, against three kz brokers: stdout and exit code are
// those that Kafka 2.8.2 gave. Ref: testdata/kafka-topics.txt.
func TestTopicsTranscript(t *testing.T) {
	zk := zktest.Start(t)
	c := clustertest.StartInProcess(t, zk.Addr, 3, map[string]string{"controlled.shutdown.retry.backoff.ms": "100"})
	dir := t.TempDir()
	short := filepath.Join(dir, "short.properties")
	if err := os.WriteFile(short, []byte("request.timeout.ms=1000\ndefault.api.timeout.ms=2000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	deleted := false
	sheet := fidelity.Open(t, "tools/topics")
	for _, e := range transcript(t, "kafka-topics.txt") {
		switch {
		case strings.Contains(e.comment, "one broker down"):
			c.Brokers[3].Stop()
			clustertest.Eventually(t, 20*time.Second, "broker 3 to be gone", func() (bool, string) {
				out, _, _ := kz(t, "topics", "--bootstrap-server", c.Brokers[1].Addr, "--describe", "--topic", "under_score")
				return strings.Contains(out, "Partition: 2\tLeader: none"), out
			})
		case strings.Contains(e.comment, "broker 3 is back"):
			c.Brokers[3].Start()
		}
		want := e.stdout
		line := strings.Join(e.args, " ")
		verdict, why := fidelity.Same, ""
		for _, n := range notAsKafka {
			if strings.Contains(" "+line+" ", " "+n.words+" ") {
				want, e.stderr, verdict, why = n.stdout, "", n.verdict, n.why
			}
		}
		if deleted && afterDelete[line] != "" {
			want, verdict, why = afterDelete[line], fidelity.Refused, "topic deletion"
		}
		e.enter(sheet, "topics", verdict, why)
		if want == "-" {
			continue
		}
		deleted = deleted || slices.Contains(e.args, "--delete")
		args := strings.NewReplacer("BROKER-1", c.Brokers[1].Addr, "ZOOKEEPER", zk.Addr, "DIR", dir)
		var words []string
		for _, w := range e.args {
			words = append(words, args.Replace(w))
		}
		if strings.Contains(line, "noleader") { // Kafka's 30 s are ours to shorten
			words = append(words, "--command-config", short)
		}
		compareTopics(t, e, words, want)
	}
}

func compareTopics(t *testing.T, e entry, words []string, want string) {
	t.Helper()
	stdout, stderr, exit := kz(t, append([]string{"topics"}, words...)...)
	refused := slices.Contains(words, "--delete")
	if exit != e.exit && !refused {
		t.Errorf("%v\nexit %d, want %d; stderr %q", e, exit, e.exit, stderr)
	}
	if refused {
		if exit == 0 || stdout != "" {
			t.Errorf("%v: exit %d, %q: want a refusal", e, exit, stdout)
		}
		return
	}
	if slices.Contains(words, "--version") {
		stdout = strings.TrimRight(strings.SplitN(stdout, " ", 2)[0], "\n")
	}
	got, wanted := comparable(stdout), comparable(want)
	if slices.Contains(words, "--describe") && !slices.Contains(words, "--topic") {
		slices.Sort(got) // Kafka takes the topics from a hash map
		slices.Sort(wanted)
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("%v\nprinted:\n%s\nKafka printed:\n%s", e, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
	checkStderr(t, e, stderr)
}

var (
	moment   = regexp.MustCompile(`\d{13}`)
	attempts = regexp.MustCompile(`tries=\d+|after \d+ attempt`)
	chosen   = regexp.MustCompile(`Topic: (defaults\tPartition: 0|t1\tPartition: [34])\t`) // the brokers chose the replicas
)

// comparable drops what differs from run to run.
func comparable(s string) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if chosen.MatchString(line) {
			continue
		}
		line = moment.ReplaceAllString(line, "TIME-MS")
		out = append(out, attempts.ReplaceAllString(line, "ATTEMPTS"))
	}
	return out
}

func TestTopicsJSON(t *testing.T) {
	f := topicFilter{live: map[int32]bool{1: true}, reports: map[string]bool{}}
	topics := []topicInfo{{
		name: "t", configs: []setting{{"retention.ms", "1"}}, factor: 2, minISR: 1,
		partitions: []partitionInfo{{id: 0, leader: 1, replicas: []int32{1, 2}, isr: []int32{1}, factor: 2}, {id: 1, leader: -1, replicas: []int32{2, 1}, factor: 2}},
	}}
	all := f.json(topics)
	if len(all) != 1 || len(all[0].Partitions) != 2 || *all[0].Partitions[0].Leader != 1 || all[0].Partitions[1].Leader != nil || all[0].Configs["retention.ms"] != "1" {
		t.Errorf("%+v", all)
	}
	f.reports["unavailable-partitions"] = true
	if some := f.json(topics); len(some) != 1 || len(some[0].Partitions) != 1 || some[0].Partitions[0].Partition != 1 {
		t.Errorf("only partition 1 has no leader: %+v", some)
	}
}

// One topic whose config cannot be read does not hide the others, and is named.
func TestDescribeBesideABadConfig(t *testing.T) {
	s := zktest.Start(t)
	c := clustertest.StartInProcess(t, s.Addr, 1, nil)
	for _, name := range []string{"bad", "good"} {
		if out, _, code := kz(t, "topics", "--bootstrap-server", c.Brokers[1].Addr, "--create", "--topic", name, "--replica-assignment", "1"); code != 0 {
			t.Fatal(out)
		}
	}
	z, err := zk.Connect(t.Context(), zk.Config{Servers: []string{s.Addr}, SessionTimeout: 6 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if _, err := z.Set(t.Context(), "/config/topics/bad", []byte(`{"version":1,"config":{"retention.ms":5}}`), zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	for _, from := range [][]string{{"--bootstrap-server", c.Brokers[1].Addr}, {"--zookeeper", s.Addr}} {
		out, _, code := kz(t, append([]string{"topics", "--describe"}, from...)...)
		if code != 1 || !strings.Contains(out, "\tTopic: good\tPartition: 0") || !strings.Contains(out, `/config/topics/bad: entity config: key "retention.ms"`) {
			t.Errorf("%v: exit %d\n%s", from, code, out)
		}
	}
}
