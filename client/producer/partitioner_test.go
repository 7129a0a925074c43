package producer

import (
	"slices"
	"testing"
)

// Ref: Kafka 2.8 clients/src/test/java/org/apache/kafka/common/utils/UtilsTest.java.
func TestMurmur2(t *testing.T) {
	for key, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		if got := Murmur2([]byte(key)); got != want {
			t.Errorf("Murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestForKeyCountsAllPartitions(t *testing.T) {
	for key, want := range map[string]int32{"21": (-973932308 & 0x7fffffff) % 7, "abc": 479470107 % 7} {
		if got := forKey([]byte(key), 7); got != want {
			t.Errorf("forKey(%q, 7) = %d, want %d", key, got, want)
		}
	}
}

// Ref: Kafka 2.8 StickyPartitionCache.nextPartition.
func TestNextSticky(t *testing.T) {
	for _, tt := range []struct {
		name      string
		previous  int32
		available []int32
		random    []int // what the dice say, in turn
		want      int32
	}{
		{"no leader anywhere: any partition", -1, nil, []int{2}, 2},
		{"one with a leader: that one, even again", 4, []int32{4}, nil, 4},
		{"several: another than before", 1, []int32{0, 1, 2}, []int{1, 1, 2}, 2},
		{"the first choice is free", -1, []int32{0, 1, 2}, []int{1}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dice := slices.Clone(tt.random)
			random := func(int) int {
				n := dice[0]
				dice = dice[1:]
				return n
			}
			if got := nextSticky(tt.previous, tt.available, 5, random); got != tt.want || len(dice) != 0 {
				t.Errorf("got %d with %d throws left, want %d", got, len(dice), tt.want)
			}
		})
	}
}
