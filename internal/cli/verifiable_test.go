package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// The verifiable clients, command by command, against a kz broker: the events, their
// fields in Kafka's order, the counts, the words of usage errors, the exit codes.
// Ref: testdata/kafka-verifiable-producer.txt, testdata/kafka-verifiable-consumer.txt.
func TestVerifiableTranscripts(t *testing.T) {
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, map[string]string{
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0",
	}).Brokers[1]
	a := admin.New(client.DefaultConfig(b.Addr))
	defer a.Close()
	if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "v1", Partitions: 2, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	sheet := fidelity.Open(t, "tools/verifiable")
	for _, tool := range []string{"verifiable-producer", "verifiable-consumer"} {
		for _, e := range transcript(t, "kafka-"+tool+".txt") {
			words := []string{tool}
			for _, w := range e.args {
				words = append(words, strings.ReplaceAll(w, "BROKER-1", b.Addr))
			}
			e.enter(sheet, tool, fidelity.Same, "")
			stdout, stderr, exit := kz(t, words...)
			if exit != e.exit {
				t.Errorf("%v: exit %d, want %d: %s", e, exit, e.exit, stderr)
			}
			if _, message, usage := strings.Cut(e.stderr, "(usage)\n"); usage {
				stderr, _, _ = strings.Cut(stderr, "\nNo cluster runs") // kz's own: what to type next
				if got := strings.Join(strings.Fields(stderr), " "); !strings.HasSuffix(strings.ReplaceAll(got, " ", ""), strings.Join(strings.Fields(message), "")) {
					t.Errorf("%v\nstderr %q\nKafka  %q", e, got, message)
				}
				continue
			}
			checkStderr(t, e, stderr)
			if strings.HasPrefix(e.stdout, "(usage)") || e.stdout == "" {
				continue
			}
			if tool == "verifiable-producer" {
				compareSends(t, e, stdout)
			} else {
				compareConsumed(t, e, stdout)
			}
		}
	}
}

var (
	noTime   = regexp.MustCompile(`"timestamp":(\d{13}|TIME-MS)`)
	noOffset = regexp.MustCompile(`"offset":\d+`)
	noRate   = regexp.MustCompile(`"avg_throughput":\d+\.\d+`)
	noPlace  = regexp.MustCompile(`("key":null,.*"partition":)\d+`) // where a record without a key goes is chance
)

// compareSends compares everything but times, rates and what chance decides.
func compareSends(t *testing.T, e entry, got string) {
	t.Helper()
	plain := func(s string) []string {
		s = noRate.ReplaceAllString(noOffset.ReplaceAllString(noTime.ReplaceAllString(s, "T"), "O"), "R")
		s = strings.ReplaceAll(s, `"message":"bad name"`, `"message":"Invalid topics: [bad name]"`) // Kafka says less the second time
		lines := strings.Split(noPlace.ReplaceAllString(s, "${1}P"), "\n")
		slices.Sort(lines) // answers of two partitions come in any order
		return lines
	}
	if g, w := plain(got), plain(e.stdout); !slices.Equal(g, w) {
		t.Errorf("%v\nprinted %s\nKafka   %s", e, strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
	if lines := strings.Split(strings.TrimSpace(got), "\n"); !strings.Contains(lines[0], "startup_complete") || !strings.Contains(lines[len(lines)-2], "shutdown_complete") {
		t.Errorf("%v: the order of %s", e, got)
	}
}

// consumedEvent is what the test looks at in any event.
type consumedEvent struct {
	Name       string
	Partitions []struct{ Count int64 }
	Success    *bool
	Value      *string
}

// compareConsumed compares the events and their fields. How the records come in, in how
// many polls and of which partition first, differs from run to run.
func compareConsumed(t *testing.T, e entry, got string) {
	t.Helper()
	names, fields, consumed := readEvents(t, got)
	wantNames, wantFields, wantConsumed := readEvents(t, e.stdout)
	if !slices.Equal(names, wantNames) || consumed != wantConsumed {
		t.Errorf("%v\n%v, %d records\nKafka: %v, %d records", e, names, consumed, wantNames, wantConsumed)
	}
	for name, f := range fields {
		if f != wantFields[name] {
			t.Errorf("%v: %s has the fields %s, Kafka's %s", e, name, f, wantFields[name])
		}
	}
}

var (
	fieldName = regexp.MustCompile(`"([a-zA-Z_]+)":`)
	timeMs    = regexp.MustCompile(`TIME-MS`)
)

func readEvents(t *testing.T, lines string) (names []string, fields map[string]string, consumed int64) {
	t.Helper()
	fields = map[string]string{}
	for line := range strings.Lines(timeMs.ReplaceAllString(lines, "0")) {
		var ev consumedEvent
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var keys []string
		for _, m := range fieldName.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(keys, m[1]) {
				keys = append(keys, m[1])
			}
		}
		fields[ev.Name] = strings.Join(keys, " ")
		if ev.Success != nil && !*ev.Success {
			t.Errorf("a commit failed: %s", line)
		}
		for _, p := range ev.Partitions {
			consumed += p.Count
		}
		if !slices.Contains(names, ev.Name) { // several polls, several records
			names = append(names, ev.Name)
		}
	}
	return names, fields, consumed
}
