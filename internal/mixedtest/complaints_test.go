package mixedtest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kz/internal/clustertest"
)

// allowed are the complaints that Apache Kafka also makes among its own when brokers are started,
// stopped, killed and frozen as here. Each was seen in a run with KZ_MIXED=kafka, but for the ignored
// LeaderAndIsr, which is what its neighbour is to UpdateMetadata. A pattern sees the level, the message,
// the logger, and the first lines of the stack trace.
var allowed = []struct{ pattern, why string }{
	{`^WARN No meta\.properties file under dir `, "the first start on an empty directory"},

	{`^WARN \[ReplicaFetcher [^]]*\] Connection to node \d+ \S+ could not be established\.`, "the leader is dead"},
	{`^WARN \[ReplicaFetcher [^]]*\] Error in response for fetch request [\s\S]*java\.io\.IOException: (Connection to .* (was disconnected before the response was read|failed)|Client was shutdown)`, "the leader died, was frozen, or ends"},
	{`^WARN \[ReplicaFetcher [^]]*\] Error when sending leader epoch request [\s\S]*java\.io\.IOException: (Connection to .* (was disconnected before the response was read|failed)|Client was shutdown)`, "the same, when the follower had not asked yet where its epoch ends"},
	{`^WARN \[ReplicaFetcher [^]]*\] Received UNKNOWN_TOPIC_OR_PARTITION from the leader for partition `, "the follower was told of the topic before the leader was"},
	{`^WARN \[ReplicaFetcher [^]]*\] Partition \S+ marked as failed `, "the leader was told of a later epoch before the follower was; anything else is preceded by an ERROR of its own"},

	{`^ERROR \[Broker id=\d+\] Received LeaderAndIsrRequest .* but cannot become follower since the new leader -1 is unavailable\.`, "a new controller first takes dead replicas out, the leader among them, and elects then"},
	{`^WARN \[Log partition=\S+ dir=\S+\] Non-monotonic update of high watermark from `, "a follower that was ahead truncates"},

	{`^WARN Client session timed out, have not heard from server `, "the broker was frozen"},
	{`^WARN Unable to reconnect to ZooKeeper service, session 0x[0-9a-f]+ has expired`, "the broker was frozen"},
	{`^ERROR Uncaught exception in scheduled task 'isr-(expiration|change-propagation)' [\s\S]*SessionExpiredException`, "the broker was frozen"},
	{`^ERROR \[Controller id=\d+\] Error (while electing or becoming controller|processing event) [\s\S]*(SessionExpiredException|ControllerMovedException)`, "the controller was frozen, or deposed"},

	{`^WARN \[Broker id=\d+\] Ignoring LeaderAndIsr request from controller \d+ .* since its controller epoch \d+ is old\.`, "a controller that was frozen or deposed speaks before it knows; the fence holds, also against itself"},
	{`^WARN \[Broker id=\d+\] Received update metadata request .* from an old controller \d+ `, "the same"},
	{`^ERROR \[KafkaApi-\d+\] Error when handling request: .*api=UPDATE_METADATA,[\s\S]*ControllerMovedException`, "the same"},
	{`^ERROR \[Controller id=\d+\] Received error STALE_CONTROLLER_EPOCH in UpdateMetadata response `, "the same, told to the old controller"},
	{`^ERROR \[Controller id=\d+ epoch=\d+\] Controller \d+ epoch \d+ failed to change state for partition \S+ from OfflinePartition to OnlinePartition`, "the last in-sync replica is dead, and nobody else may lead"},

	{`^WARN \[Controller id=\d+, targetBrokerId=\d+\] Connection to node \d+ \S+ could not be established\.`, "the controller tries to reach a broker that is dead and not yet given up"},
	{`^WARN \[RequestSendThread controllerId=\d+\] Controller \d+ epoch \d+ fails to send request [\s\S]*(java\.io\.IOException|java\.lang\.InterruptedException)`, "the same, or the controller resigns while its sender sleeps before another try"},
	{`^WARN \[RequestSendThread controllerId=\d+\] Controller \d+'s connection to broker .* was unsuccessful [\s\S]*java\.io\.IOException`, "the same"},
	{`^ERROR \[RequestSendThread controllerId=\d+\] Controller \d+ fails to send a request to broker [\s\S]*java\.lang\.InterruptedException`, "the controller gave a dead broker up while its sender slept before another try"},

	{`^ERROR \[Log partition=\S+ dir=\S+\] Could not find offset index file corresponding to log file `, "kill -9 before the segment's first index entry: index files are made lazily"},
}

// numberOrName is what makes two complaints of one sort differ: numbers, and partitions.
var numberOrName = regexp.MustCompile(`[A-Za-z-]+-\d+\b|\d+`)

// uncomplaining fails the test with what Apache Kafka's log complains about beyond that: once per sort.
func uncomplaining(t *testing.T, c *clustertest.Processes) {
	t.Helper()
	patterns := compiled(allowed)
	total, seen := 0, make([]int, len(allowed))
	for _, n := range c.OfKind(clustertest.Kafka) {
		sorts := map[string][]clustertest.Complaint{}
		for _, complaint := range clustertest.Complaints(t, n) {
			total++
			line := complaint.Level + " " + complaint.Text
			if i := firstMatch(patterns, line+"\n"+complaint.Trace); i >= 0 {
				seen[i]++
			} else {
				sort := trimmed(numberOrName.ReplaceAllString(line, "#"), 160)
				sorts[sort] = append(sorts[sort], complaint)
			}
		}
		for _, found := range sorts {
			t.Errorf("broker %d's log, %d times: %s %s\n%s", n.ID, len(found), found[0].Level, trimmed(found[0].Text, 600), found[0].Trace)
		}
	}
	t.Logf("Apache Kafka's logs hold %d lines at WARN or above", total)
	if testing.Verbose() {
		for i, n := range seen {
			if n > 0 {
				t.Logf("%5d times %.100s: %s", n, allowed[i].pattern, allowed[i].why)
			}
		}
	}
}

// allowedOfKz is the same for kz, at ERROR only.
var allowedOfKz = []struct{ pattern, why string }{
	{`partition does not change its state error="the Offline election finds no leader; ISR `, "the last in-sync replica is dead; Kafka's state.change.logger has it at ERROR, too"},
}

// kzErrors fails the test with what kz logged as an error beyond that.
func kzErrors(t *testing.T, c *clustertest.Processes) {
	t.Helper()
	patterns := compiled(allowedOfKz)
	for _, n := range c.OfKind(clustertest.KZ) {
		b, err := os.ReadFile(n.Log)
		must(t, err)
		seen := map[string]bool{}
		for line := range strings.Lines(string(b)) {
			if !strings.Contains(line, " ERR ") && !strings.Contains(line, " FTL ") && !strings.HasPrefix(line, "panic:") && !strings.Contains(line, "DATA RACE") || firstMatch(patterns, line) >= 0 {
				continue
			}
			if sort := trimmed(numberOrName.ReplaceAllString(line, "#"), 120); !seen[sort] {
				seen[sort] = true
				t.Errorf("broker %d (kz) logged: %s", n.ID, strings.TrimSpace(line))
			}
		}
	}
}

func compiled(allowed []struct{ pattern, why string }) []*regexp.Regexp {
	var patterns []*regexp.Regexp
	for _, a := range allowed {
		patterns = append(patterns, regexp.MustCompile(a.pattern))
	}
	return patterns
}

// firstMatch is the index of the first pattern that matches, -1 when none does.
func firstMatch(patterns []*regexp.Regexp, s string) int {
	return slices.IndexFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(s) })
}

func trimmed(s string, n int) string { return s[:min(n, len(s))] }
