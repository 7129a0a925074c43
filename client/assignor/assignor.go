package assignor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kz/internal/topic"
)

// Members is who takes part, by member id.
type Members map[string]Subscription

// Counts says how many partitions each topic has. A topic that does not exist is not in it.
type Counts map[string]int

// Assigned is who gets what, by member id; every member has an entry.
type Assigned map[string][]topic.Partition

// Assignor is one rule. Its functions are pure.
type Assignor struct {
	Name        string // as the broker and other clients know it
	Cooperative bool   // members keep what they own while they join
	// Assign divides the partitions of every topic that somebody subscribes to.
	Assign func(Members, Counts) Assigned
	// UserData is what a member with these partitions adds to its subscription; nil: nothing.
	UserData func(owned []topic.Partition, generation int32) []byte
}

// The four rules.
var (
	Range             = Assignor{Name: "range", Assign: assignRange}
	RoundRobin        = Assignor{Name: "roundrobin", Assign: assignRoundRobin}
	Sticky            = Assignor{Name: "sticky", Assign: assignSticky, UserData: stickyUserData}
	CooperativeSticky = Assignor{Name: "cooperative-sticky", Cooperative: true, Assign: assignCooperative,
		UserData: func(_ []topic.Partition, generation int32) []byte { return cooperativeUserData(generation) }}
)

var all = []Assignor{Range, RoundRobin, Sticky, CooperativeSticky}

// Parse reads partition.assignment.strategy: names, or the Java classes that stand for
// them, separated by commas; the first is liked best.
func Parse(s string) ([]Assignor, error) {
	var out []Assignor
	for _, name := range strings.Split(s, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(all, func(a Assignor) bool { return a.Name == name || javaClass[a.Name] == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is none of range, roundrobin, sticky, cooperative-sticky, nor the Java class of one", name)
		}
		if !slices.ContainsFunc(out, func(a Assignor) bool { return a.Name == all[i].Name }) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

var javaClass = map[string]string{
	"range":              "org.apache.kafka.clients.consumer.RangeAssignor",
	"roundrobin":         "org.apache.kafka.clients.consumer.RoundRobinAssignor",
	"sticky":             "org.apache.kafka.clients.consumer.StickyAssignor",
	"cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}

// sorted lists the members: static ones by their instance id, then the others by
// member id. So a static member that comes back under a new member id finds its place.
// Mirrors AbstractPartitionAssignor.MemberInfo.compareTo.
func (m Members) sorted() []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		ia, ib := m[a].InstanceID, m[b].InstanceID
		switch {
		case ia != "" && ib != "":
			return cmp.Or(strings.Compare(ia, ib), strings.Compare(a, b))
		case ia != "":
			return -1
		case ib != "":
			return 1
		}
		return strings.Compare(a, b)
	})
}

// topics lists what anybody wants, sorted.
func (m Members) topics() []string {
	wanted := map[string]bool{}
	for _, s := range m {
		for _, t := range s.Topics {
			wanted[t] = true
		}
	}
	return slices.Sorted(maps.Keys(wanted))
}

// partitions lists every partition that somebody wants, by topic, then by number.
func (m Members) partitions(counts Counts) (out []topic.Partition) {
	for _, t := range m.topics() {
		for i := range counts[t] {
			out = append(out, topic.Partition{Topic: t, Partition: int32(i)})
		}
	}
	return out
}

func (m Members) wants(member, name string) bool { return slices.Contains(m[member].Topics, name) }

// nothing is an entry for every member.
func (m Members) nothing() Assigned {
	out := Assigned{}
	for id := range m {
		out[id] = nil
	}
	return out
}
