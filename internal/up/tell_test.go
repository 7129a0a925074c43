package up

import (
	"testing"

	"kz/internal/journal"
)

// What a group goes through is told, but for the moment between a rebalance and its end.
func TestGroupsAreTold(t *testing.T) {
	n := NewNarrator()
	for _, row := range []struct{ from, to, text, want string }{
		{"Empty", "PreparingRebalance", "new member a", "broker-2 has group billing: Empty -> PreparingRebalance, generation 3: new member a"},
		{"PreparingRebalance", "CompletingRebalance", "generation 4, protocol range", ""},
		{"CompletingRebalance", "Stable", "assigned", "broker-2 has group billing: CompletingRebalance -> Stable, generation 3: assigned"},
	} {
		ev := Event{Event: journal.Event{Kind: journal.GroupState, Group: "billing", Generation: 3, From: row.from, To: row.to, Text: row.text}, Src: "broker-2"}
		if got := n.Tell(ev); got != row.want {
			t.Errorf("%s: %q, want %q", row.to, got, row.want)
		}
	}
}
