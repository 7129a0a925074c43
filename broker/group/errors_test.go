package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// situation brings a group g into a state, with p as somebody who may be its member.
type situation struct {
	name  string
	bring func(b *bench, p *person)
}

var situations = []situation{
	{"not the coordinator", func(b *bench, p *person) { b.settled(p); b.follow(0) }},
	{"stopped", func(b *bench, p *person) { b.settled(p); b.active.Store(false) }},
	{"unknown", func(b *bench, p *person) { p.id, p.generation = "m", 1 }},
	{"dead", func(b *bench, p *person) {
		b.settled(p)
		g := b.lookup("g")
		g.act(func() { g.to(Dead, "for the test") })
	}},
	{"empty", func(b *bench, p *person) { b.settled(p); b.Leave("g", []Leaving{{MemberID: p.id}}) }},
	{"rebalancing", func(b *bench, p *person) { b.settled(p); b.join(&person{name: "other"}) }},
	{"completing", func(b *bench, p *person) { b.join(p); pass(4 * time.Second) }},
	{"stable", func(b *bench, p *person) { b.settled(p) }},
}

// ask sends one request of each kind and names the codes; "waits" where no answer comes.
func ask(b *bench, p *person) map[string]string {
	out := map[string]string{}
	name := func(c kafkaerr.Code) string { return c.Name() }
	out["Heartbeat"] = name(b.beat(p))
	commit := b.commit(p.caller(), 1)
	out["OffsetCommit"] = name(commit.answer()[t0])
	_, code := b.FetchOffsets("g", false, nil)
	out["OffsetFetch"] = name(code)
	d := b.Describe("g")
	out["DescribeGroups"] = name(d.Code) + " " + d.State
	_, code = b.DeleteOffsets("g", []topic.Partition{{Topic: "unread"}})
	out["OffsetDelete"] = name(code)
	who := *p
	sync := b.sync(&who, nil)
	out["SyncGroup"] = "waits"
	if pass(time.Second); sync.done {
		out["SyncGroup"] = name(sync.result.Code)
	}
	return out
}

// Every request in every situation, by a member. Who is not one and who comes from another
// generation is asked of three brokers of this kind in internal/goldentest/answers.
func TestErrorsBySituation(t *testing.T) {
	const none, unknown = "NONE", "UNKNOWN_MEMBER_ID"
	want := map[string]map[string]string{
		"not the coordinator": {"Heartbeat": "NOT_COORDINATOR", "OffsetCommit": "NOT_COORDINATOR", "OffsetFetch": "NOT_COORDINATOR", "DescribeGroups": "NOT_COORDINATOR ", "OffsetDelete": "NOT_COORDINATOR", "SyncGroup": "NOT_COORDINATOR"},
		"stopped":             {"Heartbeat": "COORDINATOR_NOT_AVAILABLE", "OffsetCommit": "COORDINATOR_NOT_AVAILABLE", "OffsetFetch": "COORDINATOR_NOT_AVAILABLE", "DescribeGroups": "COORDINATOR_NOT_AVAILABLE ", "OffsetDelete": "COORDINATOR_NOT_AVAILABLE", "SyncGroup": "COORDINATOR_NOT_AVAILABLE"},
		"unknown":             {"Heartbeat": unknown, "OffsetCommit": "ILLEGAL_GENERATION", "OffsetFetch": none, "DescribeGroups": "NONE Dead", "OffsetDelete": "GROUP_ID_NOT_FOUND", "SyncGroup": unknown},
		"dead":                {"Heartbeat": "COORDINATOR_NOT_AVAILABLE", "OffsetCommit": "COORDINATOR_NOT_AVAILABLE", "OffsetFetch": none, "DescribeGroups": "NONE Dead", "OffsetDelete": "GROUP_ID_NOT_FOUND", "SyncGroup": "COORDINATOR_NOT_AVAILABLE"},
		"empty":               {"Heartbeat": unknown, "OffsetCommit": unknown, "OffsetFetch": none, "DescribeGroups": "NONE Empty", "OffsetDelete": none, "SyncGroup": unknown},
		"rebalancing":         {"Heartbeat": "REBALANCE_IN_PROGRESS", "OffsetCommit": none, "OffsetFetch": none, "DescribeGroups": "NONE PreparingRebalance", "OffsetDelete": none, "SyncGroup": "REBALANCE_IN_PROGRESS"},
		"completing":          {"Heartbeat": none, "OffsetCommit": "REBALANCE_IN_PROGRESS", "OffsetFetch": none, "DescribeGroups": "NONE CompletingRebalance", "OffsetDelete": none, "SyncGroup": none},
		"stable":              {"Heartbeat": none, "OffsetCommit": none, "OffsetFetch": none, "DescribeGroups": "NONE Stable", "OffsetDelete": none, "SyncGroup": none},
	}
	for _, s := range situations {
		inBubble(t, func(b *bench) {
			p := &person{name: "p"}
			s.bring(b, p)
			got := ask(b, p)
			for api, w := range want[s.name] {
				if got[api] != w {
					t.Errorf("%s, %s: %s, want %s", s.name, api, got[api], w)
				}
			}
			b.active.Store(true)
		})
	}
}

// The order of the checks, where more than one thing is wrong.
func TestPrecedence(t *testing.T) {
	inBubble(t, func(b *bench) {
		p := &person{name: "p", instance: instance("i")}
		b.settled(p)
		for i, c := range []struct {
			why  string
			got  kafkaerr.Code
			want kafkaerr.Code
		}{
			{"an empty name comes before all", b.Heartbeat(Caller{MemberID: "x", Generation: 9}), kafkaerr.InvalidGroupID},
			{"fenced before unknown", b.Heartbeat(Caller{Group: "g", MemberID: "x", InstanceID: p.instance, Generation: 9}), kafkaerr.FencedInstanceID},
			{"unknown before the generation", b.Heartbeat(Caller{Group: "g", MemberID: "x", Generation: 9}), kafkaerr.UnknownMemberID},
			{"the generation", b.Heartbeat(Caller{Group: "g", MemberID: p.id, Generation: 9}), kafkaerr.IllegalGeneration},
		} {
			if c.got != c.want {
				t.Errorf("%d, %s: %s, want %s", i, c.why, c.got.Name(), c.want.Name())
			}
		}
		bad := func(change func(*JoinRequest)) kafkaerr.Code {
			r := JoinRequest{Group: "g", SessionTimeoutMs: 10000, ProtocolType: "consumer", Protocols: []Protocol{{Name: "range"}}}
			change(&r)
			c := &call[JoinResult]{t: t}
			b.Join(r, c.respond)
			return c.answer().Code
		}
		for _, c := range []struct {
			why    string
			change func(*JoinRequest)
			want   kafkaerr.Code
		}{
			{"no name", func(r *JoinRequest) { r.Group, r.SessionTimeoutMs = "", 1 }, kafkaerr.InvalidGroupID},
			{"too short a session before the member", func(r *JoinRequest) { r.MemberID, r.SessionTimeoutMs = "x", 5999 }, kafkaerr.InvalidSessionTimeout},
			{"a name that no record can hold", func(r *JoinRequest) { r.Group = strings.Repeat("g", 32768) }, kafkaerr.InvalidGroupID},
			{"an instance that no record can hold", func(r *JoinRequest) { r.InstanceID = instance(strings.Repeat("i", 32740)) }, kafkaerr.InvalidRequest},
			{"a protocol that no record can hold", func(r *JoinRequest) { r.Protocols = []Protocol{{Name: strings.Repeat("p", 32768)}} }, kafkaerr.InvalidRequest},
			{"too long a session", func(r *JoinRequest) { r.SessionTimeoutMs = 1800001 }, kafkaerr.InvalidSessionTimeout},
			{"a member of no group", func(r *JoinRequest) { r.Group, r.MemberID = "other", "x" }, kafkaerr.UnknownMemberID},
			{"protocols before the member", func(r *JoinRequest) { r.MemberID, r.Protocols = "x", nil }, kafkaerr.InconsistentGroupProtocol},
			{"another type", func(r *JoinRequest) { r.ProtocolType = "connect" }, kafkaerr.InconsistentGroupProtocol},
			{"a new group without a type", func(r *JoinRequest) { r.Group, r.ProtocolType = "other", "" }, kafkaerr.InconsistentGroupProtocol},
			{"a known member under an unknown instance", func(r *JoinRequest) { r.MemberID, r.InstanceID = p.id, instance("j") }, kafkaerr.UnknownMemberID},
		} {
			if got := bad(c.change); got != c.want {
				t.Errorf("%s: %s, want %s", c.why, got.Name(), c.want.Name())
			}
		}
		for _, c := range []struct {
			kind, protocol string
			want           kafkaerr.Code
		}{{"consumer", "range", 0}, {"connect", "range", kafkaerr.InconsistentGroupProtocol}, {"consumer", "sticky", kafkaerr.InconsistentGroupProtocol}} {
			s := &call[SyncResult]{t: t}
			b.Sync(SyncRequest{Caller: p.caller(), ProtocolType: &c.kind, Protocol: &c.protocol}, s.respond)
			if got := s.answer().Code; got != c.want {
				t.Errorf("SyncGroup %s: %s, want %s", fmt.Sprint(c), got.Name(), c.want.Name())
			}
		}
	})
}
