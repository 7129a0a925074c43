package zkpaths

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A captured znode: what Kafka 2.8.2 (Scala 2.13) wrote, timestamps normalised.
type captured struct{ Step, Path, Data string }

func loadCaptured(tb testing.TB) []captured {
	tb.Helper()
	f, err := os.Open("testdata/znodes.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []captured
	for s := bufio.NewScanner(f); s.Scan(); {
		var c captured
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		all = append(all, c)
	}
	if len(all) < 150 {
		tb.Fatalf("only %d captured znodes", len(all))
	}
	return all
}

// codecs says for each kind of path how to read a znode and write it again.
var codecs = []struct {
	path      *regexp.Regexp
	roundTrip func(b []byte) ([]byte, error)
}{
	{regexp.MustCompile(`^/brokers/ids/\d+$`), rewrite(DecodeBrokerInfo, BrokerInfo.Encode)},
	{regexp.MustCompile(`^/brokers/topics/[^/]+$`), rewrite(DecodeTopicAssignment, TopicAssignment.Encode)},
	{regexp.MustCompile(`/state$`), rewrite(DecodePartitionState, PartitionState.Encode)},
	{regexp.MustCompile(`^/controller$`), rewrite(DecodeControllerInfo, ControllerInfo.Encode)},
	{regexp.MustCompile(`^/controller_epoch$`), rewrite(DecodeControllerEpoch, EncodeControllerEpoch)},
	{regexp.MustCompile(`^/cluster/id$`), rewrite(DecodeClusterID, EncodeClusterID)},
	{regexp.MustCompile(`^/config/changes/`), rewrite(DecodeConfigChange, EncodeConfigChange)},
	{regexp.MustCompile(`^/config/`), rewrite(DecodeEntityConfig, EncodeEntityConfig)},
	{regexp.MustCompile(`^/isr_change_notification/`), rewrite(DecodeISRChange, EncodeISRChange)},
	{regexp.MustCompile(`^/log_dir_event_notification/`), rewrite(DecodeLogDirEvent, EncodeLogDirEvent)},
	{regexp.MustCompile(`^/admin/preferred_replica_election$`), rewrite(DecodePreferredElection, EncodePreferredElection)},
	{regexp.MustCompile(`^/admin/reassign_partitions$`), rewrite(DecodeReassignments, EncodeReassignments)},
	{regexp.MustCompile(`^/latest_producer_id_block$`), func(b []byte) ([]byte, error) {
		broker, start, end, err := DecodeProducerIDBlock(b)
		return EncodeProducerIDBlock(broker, start, end), err
	}},
	{regexp.MustCompile(`^/feature$`), func(b []byte) ([]byte, error) {
		status, _, err := DecodeFeature(b)
		return EncodeFeature(status), err
	}},
}

func rewrite[T any](dec func([]byte) (T, error), enc func(T) []byte) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		v, err := dec(b)
		return enc(v), err
	}
}

// What we write is to the byte what Kafka wrote.
func TestCapturedZnodesAreRewrittenByteForByte(t *testing.T) {
	used := map[int]bool{}
	for _, c := range loadCaptured(t) {
		matched := false
		for i, codec := range codecs {
			if !codec.path.MatchString(c.Path) {
				continue
			}
			matched, used[i] = true, true
			got, err := codec.roundTrip([]byte(c.Data))
			if err != nil {
				t.Errorf("step %s: %s: %v\n  %s", c.Step, c.Path, err, c.Data)
			} else if string(got) != c.Data {
				t.Errorf("step %s: %s\n kafka %s\n kz    %s", c.Step, c.Path, c.Data, got)
			}
			break
		}
		if !matched {
			t.Errorf("no codec for %s", c.Path)
		}
	}
	for i, codec := range codecs {
		if !used[i] {
			t.Errorf("no captured znode for %s", codec.path)
		}
	}
}

// Golden step 01: the 14 creates of a broker that connects, leaf paths in order.
func TestPersistentPathsAreKafkas(t *testing.T) {
	want := "/consumers /brokers/ids /brokers/topics /config/changes /admin/delete_topics /brokers/seqid " +
		"/isr_change_notification /latest_producer_id_block /log_dir_event_notification " +
		"/config/topics /config/clients /config/users /config/brokers /config/ips"
	if got := strings.Join(PersistentPaths(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
