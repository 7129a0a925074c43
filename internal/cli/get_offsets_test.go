package cli

import (
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// GetOffsetShell, command by command. In Kafka's capture the first three records of
// d1-0 had been deleted, which kz does not serve. Ref: testdata/kafka-get-offsets.txt.
func TestGetOffsetsTranscript(t *testing.T) {
	b := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, nil).Brokers[1]
	a := admin.New(client.DefaultConfig(b.Addr))
	defer a.Close()
	if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "d1", Partitions: 2, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	produce(t, b.Addr, "d1", 12, 0)
	sheet := fidelity.Open(t, "tools/get-offsets")
	for _, e := range transcript(t, "kafka-get-offsets.txt") {
		if strings.Contains(strings.Join(e.args, " "), "--help") {
			e.enter(sheet, "get-offsets", fidelity.Uncompared, "kz has a --help")
			continue
		}
		e.enter(sheet, "get-offsets", fidelity.Same, "")
		words := []string{"get-offsets"}
		for _, w := range e.args {
			words = append(words, strings.NewReplacer("BROKER-1", b.Addr, "BROKER-2", b.Addr, "BROKER-3", b.Addr).Replace(w))
		}
		stdout, stderr, exit := kz(t, words...)
		if exit != e.exit {
			t.Errorf("%v\nexit %d, want %d; stderr %q", e, exit, e.exit, stderr)
		}
		if want := strings.ReplaceAll(e.stdout, "d1:0:3", "d1:0:0"); stdout != want {
			t.Errorf("%v\nprinted %q\nKafka   %q", e, stdout, want)
		}
		checkStderr(t, e, stderr)
	}
	if stdout, _, _ := kz(t, "get-offsets", "--broker-list", b.Addr, "--topic", "d1", "--time", "4102444800000", "--partitions", "0", "-o", "json"); strings.Join(strings.Fields(stdout), "") != `[{"topic":"d1","partition":0,"offset":null}]` {
		t.Errorf("-o json: %s", stdout)
	}
}
