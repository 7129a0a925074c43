package cli

import (
	"encoding/json"
	"testing"
	"time"

	"kz/client/admin"
	"kz/internal/kafkaerr"
)

// Ref: java.time.Duration.parse.
func TestJavaDurations(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"P1D": 24 * time.Hour, "PT0S": 0, "PT1H30M": 90 * time.Minute, "P2DT3H4M5.5S": 51*time.Hour + 4*time.Minute + 5500*time.Millisecond,
		"-PT1M": -time.Minute, "PT-1.5S": -1500 * time.Millisecond, "pt1s": time.Second, "P-1DT1H": -23 * time.Hour,
	} {
		if got, err := parseJavaDuration(s); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "P", "PT", "P1DT", "1D", "P1H", "PT1D", "P99999999999999999999D", "P999999999D", "P106751DT24H", "nonsense"} {
		if d, err := parseJavaDuration(s); err == nil {
			t.Errorf("%q was read as %v", s, d)
		}
	}
}

// Ref: clients/src/main/java/org/apache/kafka/common/protocol/Errors.java.
func TestJavaClasses(t *testing.T) {
	for code, want := range map[kafkaerr.Code]string{
		kafkaerr.UnknownTopicOrPartition: "UnknownTopicOrPartitionException",
		kafkaerr.InvalidTopicException:   "InvalidTopicException",
		kafkaerr.NonEmptyGroup:           "GroupNotEmptyException",
		kafkaerr.GroupIDNotFound:         "GroupIdNotFoundException",
		kafkaerr.RequestTimedOut:         "TimeoutException",
	} {
		if got := javaClass(code); got != "org.apache.kafka.common.errors."+want {
			t.Errorf("%s: %s", code.Name(), got)
		}
	}
}

// With -o json there is JSON on stdout, whatever happens.
func TestGroupsJSON(t *testing.T) {
	s := newGroupsStory(t)
	if _, stderr, exit := kz(t, "consumer-groups", "--bootstrap-server", s.addr, "--reset-offsets", "--group", "g", "--topic", "g1", "--to-latest", "--execute"); exit != 0 {
		t.Fatal(stderr)
	}
	var described []groupJSON
	read := func(to any, args ...string) {
		t.Helper()
		stdout, _, _ := kz(t, append([]string{"consumer-groups", "--bootstrap-server", s.addr, "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), to); err != nil {
			t.Fatalf("%v: %v in %q", args, err, stdout)
		}
	}
	read(&described, "--describe", "--group", "g")
	if len(described) != 1 || described[0].State != "Empty" || len(described[0].Offsets) != 3 || *described[0].Offsets[1].Current != 15 || *described[0].Offsets[1].Lag != 0 {
		t.Errorf("%+v", described)
	}
	var reset []newOffset
	read(&reset, "--reset-offsets", "--group", "g", "--topic", "g1:2", "--shift-by", "-5", "--dry-run")
	if len(reset) != 1 || reset[0] != (newOffset{"g", "g1", 2, 10}) {
		t.Errorf("%+v", reset)
	}
	var gone []deleted
	read(&gone, "--delete", "--group", "g", "--group", "nobody")
	if len(gone) != 2 || gone[0].Error != "" || gone[1].Error == "" {
		t.Errorf("%+v", gone)
	}
	listed := []admin.GroupListing{{Group: "stale"}}
	if read(&listed, "--list"); len(listed) != 0 {
		t.Errorf("%+v", listed)
	}
}
