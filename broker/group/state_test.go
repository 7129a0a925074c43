package group

import "testing"

// Ref: Kafka 2.8 GroupMetadata.scala, validPreviousStates
func TestStateMachine(t *testing.T) {
	all := []State{Empty, PreparingRebalance, CompletingRebalance, Stable, Dead}
	allowed := map[[2]State]bool{
		{Empty, PreparingRebalance}: true, {Stable, PreparingRebalance}: true, {CompletingRebalance, PreparingRebalance}: true,
		{PreparingRebalance, CompletingRebalance}: true, {CompletingRebalance, Stable}: true, {PreparingRebalance, Empty}: true,
	}
	for _, from := range all {
		for _, to := range all {
			want := allowed[[2]State{from, to}] || to == Dead
			if got := from.canBecome(to); got != want {
				t.Errorf("%v to %v: %v, want %v", from, to, got, want)
			}
		}
	}
}

// Ref: Kafka 2.8 GroupMetadata.selectProtocol
func TestProtocolSelection(t *testing.T) {
	offer := func(names ...string) (out []Protocol) {
		for _, n := range names {
			out = append(out, Protocol{Name: n})
		}
		return out
	}
	for _, c := range []struct {
		rule string
		all  [][]Protocol
		want string
	}{
		{"the only one's first choice", [][]Protocol{offer("range", "sticky")}, "range"},
		{"what not all offer is out", [][]Protocol{offer("sticky", "range"), offer("range")}, "range"},
		{"the most votes win", [][]Protocol{offer("range", "sticky"), offer("sticky", "range"), offer("sticky", "range")}, "sticky"},
		{"a vote goes to the first that all offer", [][]Protocol{offer("x", "sticky", "range"), offer("range", "sticky"), offer("range", "sticky")}, "range"},
	} {
		s := newMembership()
		for i, p := range c.all {
			s.add(&member{id: string(rune('a' + i)), protocols: p}, "consumer")
		}
		if got := s.selectProtocol(); got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
		if s.supports(false, "consumer", offer("nobody")) || s.supports(false, "connect", offer(c.want)) || !s.supports(false, "consumer", offer(c.want)) {
			t.Errorf("%s: who may join is wrong", c.rule)
		}
	}
}

func TestMembershipKeepsALeader(t *testing.T) {
	s := newMembership()
	a, b, c := &member{id: "a"}, &member{id: "b"}, &member{id: "c"}
	for _, m := range []*member{a, b, c} {
		s.add(m, "consumer")
	}
	s.remove(a)
	if s.leader != "b" {
		t.Errorf("the first to have joined of the others should lead, not %q", s.leader)
	}
	c.onJoin = func(JoinResult) {}
	if !s.electJoinedLeader() || s.leader != "c" {
		t.Errorf("who joined should lead, not %q", s.leader)
	}
	s.remove(b)
	s.remove(c)
	if s.leader != "" || s.electJoinedLeader() {
		t.Errorf("nobody is left and %q leads", s.leader)
	}
}

func TestSubscription(t *testing.T) {
	if got, ok := parseSubscription(subscriptionOf("a", "b")); !ok || len(got) != 2 || !got["a"] || !got["b"] {
		t.Errorf("%v %v", got, ok)
	}
	later := append([]byte{0, 9}, subscriptionOf("a")[2:]...)
	if got, ok := parseSubscription(append(later, 1, 2, 3)); !ok || !got["a"] {
		t.Errorf("a later version: %v %v", got, ok)
	}
	for _, bad := range []string{"", "meta", "\x00\x00\x7f\xff\xff\xff", "\x00\x00\x00\x00\x00\x01\x00\x05ab"} {
		if got, ok := parseSubscription([]byte(bad)); ok {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}
