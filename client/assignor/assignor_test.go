package assignor

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"kz/internal/topic"
)

// show prints an assignment as "a: t0 t1 | b: t2", topics of one letter.
func show(a Assigned) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(a)) {
		line := id + ":"
		for _, p := range a[id] {
			line += fmt.Sprintf(" %s%d", p.Topic, p.Partition)
		}
		out = append(out, line)
	}
	return strings.Join(out, " | ")
}

// parse is show's inverse for one member: "t0 u1".
func parse(s string) (out []topic.Partition) {
	for _, f := range strings.Fields(s) {
		var n int32
		fmt.Sscan(f[1:], &n)
		out = append(out, topic.Partition{Topic: f[:1], Partition: n})
	}
	return out
}

func wants(topics ...string) Subscription { return Subscription{Topics: topics} }

func static(instance string, topics ...string) Subscription {
	return Subscription{Topics: topics, InstanceID: instance}
}

// Ref: Kafka 2.8 RangeAssignor.assign, RoundRobinAssignor.assign.
func TestTheSimpleRules(t *testing.T) {
	for _, tt := range []struct {
		name              string
		members           Members
		counts            Counts
		byRange, byRobins string
	}{
		{"the first members get the one more", Members{"a": wants("t"), "b": wants("t")}, Counts{"t": 5},
			"a: t0 t1 t2 | b: t3 t4", "a: t0 t2 t4 | b: t1 t3"},
		{"range treats each topic alone and so skews", Members{"a": wants("t", "u"), "b": wants("t", "u")}, Counts{"t": 1, "u": 1},
			"a: t0 u0 | b:", "a: t0 | b: u0"},
		{"more members than partitions", Members{"a": wants("t"), "b": wants("t"), "c": wants("t")}, Counts{"t": 2},
			"a: t0 | b: t1 | c:", "a: t0 | b: t1 | c:"},
		{"who does not want the topic is passed over", Members{"a": wants("t"), "b": wants("t", "u"), "c": wants("u")}, Counts{"t": 2, "u": 2},
			"a: t0 | b: t1 u0 | c: u1", "a: t0 | b: t1 u1 | c: u0"},
		{"a topic that does not exist gives nothing", Members{"a": wants("t", "x")}, Counts{"t": 1},
			"a: t0", "a: t0"},
		{"static members come first, by instance", Members{"a": wants("t"), "z": static("1", "t"), "y": static("2", "t")}, Counts{"t": 3},
			"a: t2 | y: t1 | z: t0", "a: t2 | y: t1 | z: t0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(Range.Assign(tt.members, tt.counts)); got != tt.byRange {
				t.Errorf("range:\n got %s\nwant %s", got, tt.byRange)
			}
			if got := show(RoundRobin.Assign(tt.members, tt.counts)); got != tt.byRobins {
				t.Errorf("roundrobin:\n got %s\nwant %s", got, tt.byRobins)
			}
		})
	}
}

// owning is a member that takes part in both sticky rules.
func owning(generation int32, parts string, topics ...string) [2]Subscription {
	owned := parse(parts)
	return [2]Subscription{
		{Topics: topics, UserData: stickyUserData(owned, generation)},
		{Topics: topics, Owned: owned, UserData: cooperativeUserData(generation)},
	}
}

// Ref: Kafka 2.8 AbstractStickyAssignor, CooperativeStickyAssignor.
func TestTheStickyRules(t *testing.T) {
	for _, tt := range []struct {
		name                string
		members             map[string][2]Subscription
		counts              Counts
		sticky, cooperative string
	}{
		{"a newcomer gets a share; the rest stays; cooperative withholds what moves",
			map[string][2]Subscription{"a": owning(3, "t0 t1 t2 t3", "t"), "b": owning(-1, "", "t")}, Counts{"t": 4},
			"a: t0 t1 | b: t2 t3", "a: t0 t1 | b:"},
		{"the second round gives what was withheld",
			map[string][2]Subscription{"a": owning(4, "t0 t1", "t"), "b": owning(4, "", "t")}, Counts{"t": 4},
			"a: t0 t1 | b: t2 t3", "a: t0 t1 | b: t2 t3"},
		{"a member that left is inherited from, nothing else moves",
			map[string][2]Subscription{"a": owning(2, "t0 t3", "t"), "c": owning(2, "t2 t5", "t")}, Counts{"t": 6},
			"a: t0 t1 t3 | c: t2 t4 t5", "a: t0 t1 t3 | c: t2 t4 t5"},
		{"the newest generation wins a conflict",
			map[string][2]Subscription{"a": owning(1, "t0", "t"), "b": owning(2, "t0", "t")}, Counts{"t": 2},
			"a: t1 | b: t0", "a: t1 | b:"},
		{"two claims of one generation are both void",
			map[string][2]Subscription{"a": owning(2, "t0 t1", "t"), "b": owning(2, "t0", "t")}, Counts{"t": 2},
			"a: t1 | b: t0", "a: t1 | b:"},
		{"what is no longer wanted or gone is not kept",
			map[string][2]Subscription{"a": owning(2, "t0 t7 u0", "t")}, Counts{"t": 1, "u": 1},
			"a: t0", "a: t0"},
		{"different subscriptions: moved until no move helps",
			map[string][2]Subscription{"a": owning(2, "t0 t1 t2", "t", "u"), "b": owning(-1, "", "t"), "c": owning(-1, "", "u")}, Counts{"t": 3, "u": 2},
			"a: t0 t1 | b: t2 | c: u0 u1", "a: t0 t1 | b: | c: u0 u1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, rule := range []struct {
				Assignor
				want string
			}{{Sticky, tt.sticky}, {CooperativeSticky, tt.cooperative}} {
				members := Members{}
				for id, both := range tt.members {
					members[id] = both[i]
				}
				if got := show(rule.Assign(members, tt.counts)); got != rule.want {
					t.Errorf("%s:\n got %s\nwant %s", rule.Name, got, rule.want)
				}
			}
		})
	}
}

// randomGroup draws members over up to three topics; with alike all want the same.
func randomGroup(t *rapid.T, alike bool) (Members, Counts) {
	counts := Counts{}
	names := []string{"t", "u", "v"}[:rapid.IntRange(1, 3).Draw(t, "topics")]
	for _, n := range names {
		counts[n] = rapid.IntRange(0, 9).Draw(t, "partitions")
	}
	members := Members{}
	for i := range rapid.IntRange(1, 6).Draw(t, "members") {
		s := Subscription{Topics: slices.Clone(names)}
		if !alike {
			s.Topics = slices.DeleteFunc(s.Topics, func(string) bool { return rapid.Bool().Draw(t, "leaves out") })
		}
		if rapid.Bool().Draw(t, "static") {
			s.InstanceID = fmt.Sprint("i", 9-i)
		}
		members[fmt.Sprint("m", i)] = s
	}
	return members, counts
}

// remember makes the members say what they own, in the words of the rule.
func remember(members Members, a Assignor, owned Assigned, generation int32) Members {
	out := Members{}
	for id, s := range members {
		s.Owned, s.UserData = nil, nil
		if a.UserData != nil {
			s.UserData = a.UserData(owned[id], generation)
		}
		if a.Cooperative {
			s.Owned = owned[id]
		}
		out[id] = s
	}
	return out
}

// settled runs the rule until nothing is withheld. When all want the same the second
// round is the last; otherwise a member's gain may make room for another move.
func settled(a Assignor, members Members, counts Counts) Assigned {
	out := a.Assign(members, counts)
	for round := int32(0); a.Cooperative && round < 8; round++ {
		next := a.Assign(remember(members, a, out, 99+round), counts)
		if reflect.DeepEqual(next, out) {
			break
		}
		out = next
	}
	return out
}

// Every rule, whatever the members own: each wanted partition has exactly one owner,
// who wants its topic.
func TestEveryPartitionHasOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, counts := randomGroup(t, false)
		a := rapid.SampledFrom(all).Draw(t, "rule")
		before := Assigned{}
		for _, p := range members.partitions(counts) {
			for id := range members {
				if rapid.IntRange(0, 3).Draw(t, "owned by "+id) == 0 { // perhaps by several, perhaps by nobody
					before[id] = append(before[id], p)
				}
			}
		}
		got := settled(a, remember(members, a, before, 5), counts)
		owner := map[topic.Partition]string{}
		for id, parts := range got {
			for _, p := range parts {
				if other, twice := owner[p]; twice {
					t.Fatalf("%v belongs to %s and %s", p, other, id)
				}
				if owner[p] = id; !members.wants(id, p.Topic) {
					t.Fatalf("%s got %v, which it does not want", id, p)
				}
			}
		}
		if len(got) != len(members) || len(owner) != len(members.partitions(counts)) {
			t.Fatalf("%d of %d members, %d of %d partitions: %s", len(got), len(members), len(owner), len(members.partitions(counts)), show(got))
		}
	})
}

// roundrobin, sticky and cooperative-sticky are balanced when all want the same.
func TestEvenWhenAllWantTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, counts := randomGroup(t, true)
		a := rapid.SampledFrom(all[1:]).Draw(t, "rule")
		least, most := 1<<30, 0
		for _, parts := range settled(a, remember(members, a, nil, -1), counts) {
			least, most = min(least, len(parts)), max(most, len(parts))
		}
		if most > least+1 {
			t.Fatalf("%s: between %d and %d partitions", a.Name, least, most)
		}
	})
}

// With different subscriptions no single move makes a sticky result more even.
func TestNoMoveHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, counts := randomGroup(t, false)
		got := Sticky.Assign(members, counts)
		for from, parts := range got {
			for _, p := range parts {
				for to := range members {
					if members.wants(to, p.Topic) && len(got[to])+2 <= len(parts) {
						t.Fatalf("%v should go from %s to %s: %s", p, from, to, show(got))
					}
				}
			}
		}
	})
}

// Sticky: what is balanced stays as it is. When a member leaves, what the others have
// stays; when one joins, only it gets anything.
func TestNothingMovesThatNeedNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, counts := randomGroup(t, true)
		a := rapid.SampledFrom(all[2:]).Draw(t, "rule")
		before := settled(a, remember(members, a, nil, -1), counts)
		if after := settled(a, remember(members, a, before, 1), counts); show(after) != show(before) {
			t.Fatalf("%s, asked again:\n%s\n%s", a.Name, show(before), show(after))
		}
		joined := maps.Clone(members)
		joined["new"] = Subscription{Topics: members["m0"].Topics}
		after := settled(a, remember(joined, a, before, 1), counts)
		for id := range members {
			for _, p := range after[id] {
				if !slices.Contains(before[id], p) {
					t.Fatalf("%s: a newcomer made %v move to %s:\n%s\n%s", a.Name, p, id, show(before), show(after))
				}
			}
		}
		if len(members) == 1 {
			return
		}
		left := maps.Clone(members)
		delete(left, "m0")
		after = settled(a, remember(left, a, before, 1), counts)
		for id := range left {
			for _, p := range before[id] {
				if !slices.Contains(after[id], p) {
					t.Fatalf("%s: a leaver made %v move away from %s:\n%s\n%s", a.Name, p, id, show(before), show(after))
				}
			}
		}
	})
}

// Cooperative: in no round does a partition go to one member while another owns it.
func TestCooperativeNeverGivesWhatIsOwned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, counts := randomGroup(t, false)
		before := RoundRobin.Assign(members, counts)
		delete(before, "m0") // it has just joined
		for id, parts := range CooperativeSticky.Assign(remember(members, CooperativeSticky, before, 1), counts) {
			for _, p := range parts {
				for other := range before {
					if other != id && slices.Contains(before[other], p) {
						t.Fatalf("%v given to %s while %s owns it", p, id, other)
					}
				}
			}
		}
	})
}

// The bytes, as Java's ConsumerProtocol writes them.
func TestBytes(t *testing.T) {
	sub := Subscription{Topics: []string{"t"}, UserData: []byte{0, 0, 0, 7}, Owned: parse("t2 t0")}
	want := []byte{0, 1, // version
		0, 0, 0, 1, 0, 1, 't', // topics
		0, 0, 0, 4, 0, 0, 0, 7, // user data: generation 7
		0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2} // owned
	if got := sub.Encode(); !bytes.Equal(got, want) {
		t.Errorf("subscription\n got %x\nwant %x", got, want)
	}
	got, err := DecodeSubscription(append(bytes.Clone(want), 1, 2, 3)) // a newer version has more at its end
	if err != nil || !slices.Equal(got.Owned, parse("t0 t2")) || cooperativeClaim(got).generation != 7 {
		t.Errorf("read back %+v, %v", got, err)
	}
	wantA := []byte{0, 1, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff}
	if got := EncodeAssignment(parse("t2 t0")); !bytes.Equal(got, wantA) {
		t.Errorf("assignment\n got %x\nwant %x", got, wantA)
	}
	wantA[1] = 9 // a version of the future
	parts, err := DecodeAssignment(wantA)
	if err != nil || !slices.Equal(parts, parse("t0 t2")) {
		t.Errorf("read back %v, %v", parts, err)
	}
}

func TestBadBytes(t *testing.T) {
	for name, b := range map[string][]byte{"one byte": {0}, "negative version": {0xff, 0xff, 0, 0}, "cut": {0, 1, 0, 0, 0, 1}} {
		if _, err := DecodeSubscription(b); err == nil {
			t.Errorf("%s: subscription was read", name)
		}
		if _, err := DecodeAssignment(b); err == nil {
			t.Errorf("%s: assignment was read", name)
		}
	}
	if parts, err := DecodeAssignment(nil); err != nil || parts != nil {
		t.Errorf("no bytes are no partitions; got %v, %v", parts, err)
	}
	if c := stickyClaim(Subscription{UserData: []byte{1, 2, 3}}); c.parts != nil || c.generation != noGeneration {
		t.Errorf("bad user data claims %+v", c)
	}
	old := kmsg.NewStickyMemberMetadata() // version 0 has no generation
	old.CurrentAssignment = []kmsg.StickyMemberMetadataCurrentAssignment{{Topic: "t", Partitions: []int32{1}}}
	old.Generation = -1
	if c := stickyClaim(Subscription{UserData: old.AppendTo(nil)}); !slices.Equal(c.parts, parse("t1")) {
		t.Errorf("old user data claims %+v", c)
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("cooperative-sticky, org.apache.kafka.clients.consumer.RangeAssignor,range")
	if err != nil || len(got) != 2 || got[0].Name != "cooperative-sticky" || got[1].Name != "range" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Parse("rnage"); err == nil || !strings.Contains(err.Error(), `"rnage"`) {
		t.Errorf("a rule that does not exist: %v", err)
	}
}

func ExampleAssignor() {
	members := Members{
		"anna": {Topics: []string{"t"}},
		"bob":  {Topics: []string{"t"}},
	}
	for _, a := range []Assignor{Range, RoundRobin} {
		fmt.Println(a.Name, show(a.Assign(members, Counts{"t": 5})))
	}
	// Output:
	// range anna: t0 t1 t2 | bob: t3 t4
	// roundrobin anna: t0 t2 t4 | bob: t1 t3
}
