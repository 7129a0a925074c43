package zkconsumer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/client/consumer"
	"kz/internal/topic"
)

// Ref: Kafka 0.8.2 RangeAssignor.
func TestRange(t *testing.T) {
	for _, tt := range []struct {
		name       string
		partitions int
		threads    string
		want       string
	}{
		{"the first threads get one more", 5, "c1-0 c1-1 c2-0", "[0 1] [2 3] [4]"},
		{"threads sort as strings: c-10 before c-2", 2, "c-2 c-10", "[1] [0]"},
		{"more threads than partitions", 1, "a-0 b-0", "[0] []"},
		{"no thread", 3, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var parts []int32
			for i := range tt.partitions {
				parts = append(parts, int32(tt.partitions-1-i)) // in no order
			}
			by := map[string][]int32{}
			for p, thread := range shareOut(parts, strings.Fields(tt.threads)) {
				by[thread] = append(by[thread], p)
			}
			var got []string
			for _, thread := range strings.Fields(tt.threads) {
				got = append(got, fmt.Sprint(slices.Sorted(slices.Values(by[thread]))))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

// Members that have read the same work out shares that fit together: each partition of
// a topic that somebody wants has one owner.
func TestSharesFitTogether(t *testing.T) {
	for range 200 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		g := group{members: map[string]map[string]int{}, partitions: map[string][]int32{}}
		for _, name := range []string{"t", "u"} {
			for p := range int32(rng.IntN(12)) {
				g.partitions[name] = append(g.partitions[name], p)
			}
		}
		for i := range 1 + rng.IntN(5) {
			wants := map[string]int{"t": 1 + rng.IntN(3)}
			if rng.IntN(2) == 0 {
				wants["u"] = 1
			}
			g.members[fmt.Sprint("m", i)] = wants
		}
		owner, wanted := map[topic.Partition]string{}, map[string]bool{}
		for id, wants := range g.members {
			for name := range wants {
				wanted[name] = true
			}
			for p := range g.shareOf(id) {
				if other := owner[p]; other != "" {
					t.Fatalf("seed %d: %v belongs to %s and %s", seed, p, other, id)
				}
				owner[p] = id
			}
		}
		n := 0
		for name := range wanted {
			n += len(g.partitions[name])
		}
		if len(owner) != n {
			t.Fatalf("seed %d: %d of %d partitions have an owner", seed, len(owner), n)
		}
	}
}

// The bytes, as 0.8.1 and later write them.
func TestRegistration(t *testing.T) {
	cfg := Config{Group: "g", Topics: []string{"test"}, Streams: 2}
	got := string(cfg.registration(time.UnixMilli(1416289800123)).encode())
	if want := `{"version":1,"subscription":{"test":2},"pattern":"static","timestamp":"1416289800123"}`; got != want {
		t.Errorf("got %s", got)
	}
	all := registration{Pattern: blackList, Subscription: map[string]int{"a.*": 1}}
	if wants, err := all.streams([]string{"a1", "__consumer_offsets"}, true); err != nil || wants["__consumer_offsets"] != 1 || len(wants) != 1 {
		t.Errorf("exclude.internal.topics=false: %v, %v", wants, err)
	}
	existing := []string{"a1", "a2", "b1", "__consumer_offsets"}
	for name, tt := range map[string]struct {
		data string
		want string // "!": refused
	}{
		"by name, whether it exists or not": {`{"version":1,"subscription":{"x":1},"pattern":"static"}`, "x"},
		"no pattern is static":              {`{"version":1,"subscription":{"x":1}}`, "x"},
		"a white list":                      {`{"version":1,"subscription":{"a.*":1},"pattern":"white_list"}`, "a1 a2"},
		"the whole name has to match":       {`{"version":1,"subscription":{"a":1},"pattern":"white_list"}`, ""},
		"a black list":                      {`{"version":1,"subscription":{"a.*":1},"pattern":"black_list"}`, "b1"},
		"no such pattern":                   {`{"version":1,"subscription":{"a":1},"pattern":"grey"}`, "!"},
		"no expression":                     {`{"version":1,"subscription":{"(":1},"pattern":"white_list"}`, "!"},
		"no JSON":                           {`{"version":1`, "!"},
	} {
		r, err := decodeRegistration([]byte(tt.data))
		var wants map[string]int
		if err == nil {
			wants, err = r.streams(existing, false)
		}
		got := strings.Join(slices.Sorted(maps.Keys(wants)), " ")
		if err != nil {
			got = "!"
		}
		if got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no group":           {Topics: []string{"t"}, Streams: 1},
		"nothing to read":    {Group: "g", Streams: 1},
		"two ways to say it": {Group: "g", Topics: []string{"t"}, WhiteList: "t", Streams: 1},
		"no stream":          {Group: "g", Topics: []string{"t"}},
		"no expression":      {Group: "g", WhiteList: "(", Streams: 1, Storage: consumer.StoreKafka},
	} {
		if err := cfg.Check(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
