package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What real coordinators wrote to __consumer_offsets, as Kafka's tool shows it: members of
// every kind, tombstones, commits of transactions. Ref: testdata/kafka-dump-consumer-offsets*.txt.
func TestDumpOffsets(t *testing.T) {
	for _, name := range []string{"consumer-offsets", "consumer-offsets-expired"} {
		log, err := os.ReadFile(filepath.Join("..", "..", "broker", "group", "testdata", name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", "kafka-dump-"+name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "00000000000000000000.log")
		if err := os.WriteFile(file, log, 0o644); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, exit := kz(t, "dump-log", "--files", file, "--deep-iteration", "--offsets-decoder")
		if got := strings.ReplaceAll(stdout, dir+"/", ""); exit != 0 || got != string(want) {
			t.Errorf("%s: exit %d, %s\n%s", name, exit, stderr, firstDifference(got, string(want)))
		}
	}
}
