package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/internal/kafkaerr"
)

// Who cannot be asked has no numbers, and neither has what would be computed from them.
func TestReplicaViews(t *testing.T) {
	p := client.Partition{Topic: "t", ID: 0, Leader: 1, LeaderEpoch: 7, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 3}}
	leader := admin.Marks{LogStart: 1, LastStable: 5, HighWatermark: 6, LogEnd: 9, Epoch: 7}
	behind := admin.Marks{LogStart: 1, LastStable: 5, HighWatermark: 5, LogEnd: 6, Epoch: 7}
	down := admin.Marks{Err: errors.New("broker 2 down")}
	for _, row := range []struct {
		rule   string
		leader int32
		marks  [3]admin.Marks // of brokers 1, 2, 3
		want   []string       // lines of the table, blanks squeezed
		json   []string
	}{
		{"a dead follower is unknown and named", 1, [3]admin.Marks{leader, down, behind},
			[]string{"0 1 leader yes 1 5 6 9 7 0", "0 2 follower no unknown, broker 2 down", "0 3 follower yes 1 5 5 6 7 3", "t-0 is out of sync on broker 2"},
			[]string{`"outOfSync":[2]`, `"logStart":null,"lastStable":null,"highWatermark":null,"logEnd":null,"leaderEpoch":null,"lag":null,"unknown":"broker 2 down"`, `"lag":3,"unknown":null`}},
		{"without a leader nobody knows a lag", -1, [3]admin.Marks{leader, down, behind},
			[]string{"0 1 follower yes 1 5 6 9 7 unknown", "0 3 follower yes 1 5 5 6 7 unknown", "t-0 has no leader"},
			[]string{`"leader":null`, `"logEnd":9,"leaderEpoch":7,"lag":null`}},
		{"a leader that refuses makes no lag", 1, [3]admin.Marks{{Err: &admin.Error{Code: kafkaerr.KafkaStorageError}}, behind, behind},
			[]string{"0 1 leader yes unknown, broker 1 answers KAFKA_STORAGE_ERROR", "0 3 follower yes 1 5 5 6 7 unknown"}, nil},
	} {
		t.Run(row.rule, func(t *testing.T) {
			p := p
			p.Leader = row.leader
			seen := map[copyOf]admin.Marks{}
			for i, m := range row.marks {
				seen[copyOf{0, int32(i + 1)}] = m
			}
			view := topicView{Topic: "t", Partitions: []partitionView{viewOf(p, seen)}}
			var out bytes.Buffer
			view.print(&env{stdout: &out})
			lines := strings.Split(out.String(), "\n")
			for i := range lines {
				lines[i] = strings.Join(strings.Fields(lines[i]), " ")
			}
			squeezed := strings.Join(lines, "\n") + "\n"
			for _, want := range row.want {
				if !strings.Contains(squeezed, want+"\n") {
					t.Errorf("no line %q in\n%s", want, squeezed)
				}
			}
			b, err := json.Marshal(view)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range row.json {
				if !strings.Contains(string(b), want) {
					t.Errorf("no %s in %s", want, b)
				}
			}
		})
	}
}

func TestReplicasUsage(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, row := range []struct {
		rule string
		args []string
		code int
		want string
	}{
		{"a topic is needed", nil, exitUsage, "one TOPIC"},
		{"one topic", []string{"t", "u"}, exitUsage, "one TOPIC"},
		{"flags may come last", []string{"t", "-o", "xml"}, exitUsage, "text and json"},
		{"a mistyped flag", []string{"--bootstrap-sever", "x", "t"}, exitUsage, "--bootstrap-server"},
		{"an unknown format", []string{"-o", "xml", "t"}, exitUsage, "text and json"},
		{"an address is an address", []string{"--bootstrap-server", "nowhere", "t"}, exitUsage, "--bootstrap-server"},
		{"no cluster, and none named", []string{"t"}, exitNoCluster, "kz up --detach"},
	} {
		_, errs, code := kz(t, append([]string{"replicas"}, row.args...)...)
		if code != row.code || !strings.Contains(errs, row.want) {
			t.Errorf("%s: exit %d, %q", row.rule, code, errs)
		}
	}
}
