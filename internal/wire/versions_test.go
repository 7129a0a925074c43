package wire

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
)

// testdata/apiversions.json is what Kafka 2.8.2 advertises at inter-broker protocol 2.6.
func TestServedIsWithinWhatKafkaAdvertises(t *testing.T) {
	b, err := os.ReadFile("testdata/apiversions.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Key, Min, Max int16
		Name          string
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	kafka := map[int16]VersionRange{}
	for _, r := range rows {
		kafka[r.Key] = VersionRange{r.Key, r.Min, r.Max}
		if got := APIName(r.Key); got != r.Name && r.Name != "AlterIsr" { // AlterPartition since
			t.Errorf("key %d is called %s, by Kafka %s", r.Key, got, r.Name)
		}
	}
	// The versions below that speak record formats 0 and 1.
	withoutOldRecords := map[int16]int16{0: 3, 1: 4, 2: 1}
	last := int16(-1)
	for _, r := range Served() {
		k, ok := kafka[r.Key]
		if !ok {
			t.Errorf("%s is not advertised by Kafka 2.8", APIName(r.Key))
		}
		if min, old := withoutOldRecords[r.Key]; old {
			k.Min = min
		}
		if r != k {
			t.Errorf("%s: versions %d to %d, Kafka %d to %d", APIName(r.Key), r.Min, r.Max, k.Min, k.Max)
		}
		if r.Key <= last {
			t.Errorf("%s is not behind key %d", APIName(r.Key), last)
		}
		last = r.Key
	}
}

func TestServedIsACopy(t *testing.T) {
	Served()[0].Max = 99
	if r, _ := Lookup(0); r.Max == 99 {
		t.Error("a caller changed the table")
	}
}

func TestLookup(t *testing.T) {
	if r, ok := Lookup(18); !ok || r != (VersionRange{18, 0, 3}) || !r.Contains(3) || r.Contains(4) || r.Contains(-1) {
		t.Errorf("ApiVersions: %+v %v", r, ok)
	}
	for _, key := range []int16{-1, 26, 52, 58, 999} {
		if r, ok := Lookup(key); ok {
			t.Errorf("key %d is served: %+v", key, r)
		}
	}
}

// Ref: the "flexibleVersions" of Kafka 2.8's message definitions.
func TestFlexible(t *testing.T) {
	for key, first := range map[int16]int16{0: 9, 1: 12, 2: 6, 3: 9, 4: 4, 5: 2, 6: 6, 7: 3, 8: 8, 9: 6, 10: 3, 11: 6, 12: 4, 13: 4, 14: 4, 15: 5, 16: 3, 18: 3, 19: 5, 23: 4, 32: 4, 37: 2, 42: 2, 60: 0} {
		if flexible(key, first-1) || !flexible(key, first) || !flexible(key, first+100) {
			t.Errorf("%s is not flexible from version %d", APIName(key), first)
		}
	}
	if flexible(17, 1) || flexible(47, 0) {
		t.Error("SaslHandshake or OffsetDelete is flexible in some version")
	}
}

func TestNames(t *testing.T) {
	if APIName(1) != "Fetch" || APIName(-7) != "api key -7" || APIName(32767) != "api key 32767" {
		t.Error(APIName(1), APIName(-7), APIName(32767))
	}
	if key, ok := KeyForName("leaderandisr"); key != 4 || !ok {
		t.Error(key, ok)
	}
	if key, ok := KeyForName("Unknown"); ok {
		t.Error(key)
	}
}

// The request types of kmsg must know every version we advertise.
func TestKmsgKnowsEveryServedVersion(t *testing.T) {
	for _, r := range Served() {
		if req := kmsg.RequestForKey(r.Key); req == nil || req.MaxVersion() < r.Max {
			t.Errorf("kmsg does not know %s up to %d", APIName(r.Key), r.Max)
		}
	}
}

func TestDropFor(t *testing.T) {
	for in, want := range map[string]link.Drop{
		"FetchResponse":       {Key: 1, API: "Fetch", Answer: true, Count: 3},
		"LeaderAndIsrRequest": {Key: 4, API: "LeaderAndIsr", Count: 3},
		"fetchRequest":        {Key: 1, API: "Fetch", Count: 3},
	} {
		if got, err := DropFor(in, 3); err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "Fetch", "Response", "FetchAnswer", "FrobnicateRequest"} {
		if got, err := DropFor(bad, 1); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
