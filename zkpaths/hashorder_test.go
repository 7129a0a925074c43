package zkpaths

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

func TestJavaHash(t *testing.T) {
	// Ref: java.lang.String.hashCode
	for s, want := range map[string]int32{"": 0, "0": 48, "11": 1568, "partition": -1799810326} {
		if got := javaHash(s); got != want {
			t.Errorf("javaHash(%q) = %d, want %d", s, got, want)
		}
	}
	if got, want := javaHash("😀"), int32(31*0xd83d+0xde00); got != want {
		t.Errorf("a character above U+FFFF counts as two units: got %d, want %d", got, want)
	}
}

// Each row is a map that Kafka really prints; the order is from captures or published dumps.
func TestMapsComeInKafkasOrder(t *testing.T) {
	table := func(keys []string) []string { return scalaTableOrder(keys, javaHash) }
	for _, row := range []struct {
		rule  string
		order func([]string) []string
		want  string
	}{
		{"up to 11 partitions are in numeric order", table, "0 1 2 3 4 5 6 7 8 9 10"},
		{"with 12 the table has 32 buckets and 11 comes first", table, "11 0 1 2 3 4 5 6 7 8 9 10"},
		{"a small immutable map keeps its order", scalaTrieOrder, "version brokerid timestamp x"},
		{"five keys make a trie: the state node", scalaTrieOrder, "controller_epoch leader version leader_epoch isr"},
		{"Properties: cleanup.policy before retention.ms", propertiesOrder, "cleanup.policy retention.ms"},
		{"Properties: leader throttle before follower throttle", propertiesOrder, "leader.replication.throttled.rate follower.replication.throttled.rate"},
		{"Properties: SHA-512 before SHA-256", propertiesOrder, "SCRAM-SHA-512 SCRAM-SHA-256"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			want := strings.Fields(row.want)
			in := slices.Clone(want)
			for range 10 {
				if got := row.order(in); !slices.Equal(got, want) {
					t.Fatalf("from %v:\n got %v\nwant %v", in, got, want)
				}
				if len(want) > 4 || !strings.Contains(row.rule, "immutable") {
					rand.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
				}
			}
		})
	}
}

// Whatever the keys, an order loses none and doubles none.
func TestOrdersArePermutations(t *testing.T) {
	for n := range 200 {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprint("k", i*i)
		}
		for name, got := range map[string][]string{
			"table": scalaTableOrder(keys, javaHash), "trie": scalaTrieOrder(keys), "properties": propertiesOrder(keys),
		} {
			sorted, want := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(keys))
			if !slices.Equal(sorted, want) {
				t.Fatalf("%s of %d keys is no permutation: %v", name, n, got)
			}
		}
	}
	// "Aa" and "BB" have one hash: a collision node keeps the given order.
	same := []string{"AaAa", "BBBB", "AaBB", "BBAa", "x"}
	if got := scalaTrieOrder(same); len(got) != 5 || got[0] != "x" {
		t.Errorf("keys with equal hashes: got %v", got)
	}
}
