package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/client/producer"
	"kz/internal/fidelity"
	"kz/internal/kafkaerr"
)

// The values of --record-size are the bytes Kafka's tool sends.
// Ref: the transactional records in Kafka's own kafka-dump-log transcript: SSXVN.
func TestPayloadIsKafkas(t *testing.T) {
	r := newJavaRandom(0)
	var got []byte
	for range 5 {
		got = append(got, byte(r.intn(26)+65))
	}
	if string(got) != "SSXVN" {
		t.Errorf("got %s, want SSXVN", got)
	}
	if p := newJavaRandom(42); p.intn(16) != 11 || p.intn(16) != 0 { // a power of two takes the upper bits
		t.Error("nextInt(16) of java.util.Random(42) begins 11, 0")
	}
}

// Ref: Kafka 2.8 ProducerPerformance.Stats.percentiles.
func TestPercentiles(t *testing.T) {
	var all []int32
	for i := range int32(1000) {
		all = append(all, 999-i)
	}
	if got := percentiles(all, 0.5, 0.95, 0.99, 0.999); !slices.Equal(got, []int32{500, 950, 990, 999}) {
		t.Errorf("got %v", got)
	}
	if got := percentiles(nil, 0.5); got[0] != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestPerfStatsCountEverything(t *testing.T) {
	var out strings.Builder
	s := newPerfStats(&env{stdout: &out, stderr: &out}, 3, false)
	for i := range 3 {
		var err error
		if i == 2 {
			err = kafkaerr.NotEnoughReplicas
		}
		s.acked(s.tag(time.Now(), 100), producer.Metadata{}, err)
	}
	s.total()
	if !regexp.MustCompile(`^3 records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, [\d.]+ ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99.9th.\n$`).MatchString(out.String()) {
		t.Errorf("last line: %q", out.String())
	}
	if s.all.bytes != 300 {
		t.Errorf("%d bytes, want 300", s.all.bytes)
	}
	out.Reset()
	if err := s.failed(s.e); err == nil || !strings.Contains(out.String(), "1 records failed: NOT_ENOUGH_REPLICAS") {
		t.Errorf("failures: %v, %q", err, out.String())
	}
}

func TestJavaDate(t *testing.T) {
	at := time.Date(2021, 3, 4, 5, 6, 7, 89e6, time.UTC)
	for pattern, want := range map[string]string{
		"yyyy-MM-dd HH:mm:ss:SSS":   "2021-03-04 05:06:07:089",
		"yy/M/d":                    "21/3/4",
		"'at' HH 'o''clock'":        "at 05 oclock",
		"SSS":                       "089",
		"yyyy-MM-dd'T'HH:mm:ss.SSS": "2021-03-04T05:06:07.089",
	} {
		f, err := javaDate(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got := f(at); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	for _, bad := range []string{"EEE", "'open"} {
		if _, err := javaDate(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// The entries of the perf tools' transcripts that end before anything is sent: message
// and exit code. Ref: testdata/kafka-*-perf-test.txt.
func TestPerfUsageErrors(t *testing.T) {
	sheet := fidelity.Open(t, "tools/perf-usage")
	for _, tool := range []string{"producer-perf-test", "consumer-perf-test"} {
		checked := 0
		for _, e := range transcript(t, "kafka-"+tool+".txt") {
			first, _, _ := strings.Cut(strings.TrimPrefix(e.stderr, "(usage)\n"), "\n")
			if e.exit == 0 && len(e.args) > 0 || strings.Contains(e.stdout, "Reading payloads") {
				continue // needs a cluster, or a file
			}
			checked++
			e.enter(sheet, tool, fidelity.Same, "")
			stdout, stderr, exit := kz(t, append([]string{tool}, e.args...)...)
			if exit != e.exit {
				t.Errorf("%v: exit %d, want %d: %s%s", e, exit, e.exit, stdout, stderr)
			}
			if want := squeeze(message(first)); want != "" && !strings.Contains(squeeze(stderr), want) {
				t.Errorf("%v\nstderr %q\nwant %q", e, stderr, want)
			}
		}
		if checked < 3 {
			t.Errorf("%s: only %d entries checked", tool, checked)
		}
	}
}

// message drops Java's exception from a line, and what argparse4j wrapped onto the next.
func message(line string) string {
	if i := strings.LastIndex(line, "Exception: "); i >= 0 {
		line = line[i+len("Exception: "):]
	}
	return strings.TrimRight(strings.TrimSuffix(line, "--payload-"), " ")
}

var blanks = regexp.MustCompile(`\s+`)

func squeeze(s string) string { return blanks.ReplaceAllString(s, " ") }

// A rate is kept by sleeping two milliseconds' worth at a time.
// Ref: Kafka 2.8 ThroughputThrottler.
func TestThrottleOwesTime(t *testing.T) {
	start := time.Now()
	th := throttle{rate: 1000, start: start}
	th.pause(t.Context(), 10, start.Add(time.Second)) // behind: nothing
	if th.debt != 0 {
		t.Errorf("behind the rate: debt %v", th.debt)
	}
	th.pause(t.Context(), 10_000, start.Add(time.Second)) // ahead: 1 ms owed, not slept yet
	if th.debt != time.Millisecond {
		t.Errorf("ahead of the rate: debt %v", th.debt)
	}
	th.pause(t.Context(), 10_000, start.Add(time.Second))
	if th.debt != 0 {
		t.Errorf("two of them are slept off: debt %v", th.debt)
	}
}

func BenchmarkPerfStats(b *testing.B) {
	s := newPerfStats(&env{stdout: &strings.Builder{}}, int64(b.N), false)
	tag := s.tag(time.Now(), 1000)
	for b.Loop() {
		s.acked(tag, producer.Metadata{}, nil)
	}
	_ = fmt.Sprint(s.all.records)
}
