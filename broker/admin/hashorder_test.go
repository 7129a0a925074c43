package admin

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The files hold the names as Apache Kafka 2.8.2 sent them. Ref: Kafka 2.8 ConfigHelper.describeConfigs.
func TestEntriesComeInKafkasOrder(t *testing.T) {
	for _, file := range []string{"describe-topic-order.txt", "describe-broker-order.txt"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields(string(b))
		var entries []Entry
		for _, name := range slices.Sorted(slices.Values(want)) {
			entries = append(entries, Entry{Name: name})
		}
		var got []string
		for _, e := range InHashOrder(entries) {
			got = append(got, e.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
