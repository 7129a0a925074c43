package commitlog

import (
	"slices"
	"testing"
)

// Ref: Kafka 2.8 LeaderEpochFileCache.endOffsetFor.
func TestEndOffsetForEpoch(t *testing.T) {
	entries := []EpochEntry{{2, 10}, {4, 20}, {7, 30}}
	for _, tc := range []struct {
		name    string
		entries []EpochEntry
		epoch   int32
		largest int32
		end     int64
		ok      bool
	}{
		{"the latest ends at the log end", entries, 7, 7, 99, true},
		{"above the latest is unknown", entries, 8, -1, -1, false},
		{"a known one ends where the next begins", entries, 4, 4, 30, true},
		{"between two: the lower one", entries, 5, 4, 30, true},
		{"below all: itself, at the first start", entries, 1, 1, 10, true},
		{"undefined", entries, -1, -1, -1, false},
		{"an empty cache knows nothing", nil, 0, -1, -1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			largest, end, ok := endOffsetFor(tc.entries, tc.epoch, 99)
			if largest != tc.largest || end != tc.end || ok != tc.ok {
				t.Errorf("got %d %d %v", largest, end, ok)
			}
		})
	}
}

// Ref: Kafka 2.8 LeaderEpochFileCache.assign.
func TestAssignEpoch(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    EpochEntry
		want []EpochEntry
	}{
		{"a new epoch is added", EpochEntry{5, 30}, []EpochEntry{{2, 10}, {4, 20}, {5, 30}}},
		{"the same at a later start changes nothing", EpochEntry{4, 25}, []EpochEntry{{2, 10}, {4, 20}}},
		{"the same at an earlier start moves it", EpochEntry{4, 15}, []EpochEntry{{2, 10}, {4, 15}}},
		{"one without records vanishes when the next starts there", EpochEntry{6, 20}, []EpochEntry{{2, 10}, {6, 20}}},
		{"a lower epoch drops the higher ones", EpochEntry{3, 40}, []EpochEntry{{2, 10}, {3, 40}}},
		{"negative is ignored", EpochEntry{-1, 40}, []EpochEntry{{2, 10}, {4, 20}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			entries := []EpochEntry{{2, 10}, {4, 20}}
			if assignNeeded(entries, tc.e.Epoch, tc.e.Start) {
				entries = assignEpoch(entries, tc.e.Epoch, tc.e.Start)
			}
			if !slices.Equal(entries, tc.want) {
				t.Errorf("got %v", entries)
			}
		})
	}
}
