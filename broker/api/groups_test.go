package api

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/group"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"
)

// groups is group.Coordinator with its answers laid down; it keeps what it was asked.
type groups struct {
	asked     any
	code      kafkaerr.Code
	join      group.JoinResult
	sync      group.SyncResult
	members   []kafkaerr.Code
	fetched   map[topic.Partition]group.Fetched
	described group.Description
	listed    []group.Listed
	deleted   []topic.Partition
}

func (g *groups) PartitionFor(id string) int32 { return group.PartitionFor(id, 50) }
func (g *groups) Join(r group.JoinRequest, respond func(group.JoinResult)) {
	g.asked = r
	respond(g.join)
}
func (g *groups) Sync(r group.SyncRequest, respond func(group.SyncResult)) {
	g.asked = r
	respond(g.sync)
}
func (g *groups) Heartbeat(r group.Caller) kafkaerr.Code { g.asked = r; return g.code }
func (g *groups) Leave(id string, leaving []group.Leaving) (kafkaerr.Code, []kafkaerr.Code) {
	g.asked = leaving
	if g.members == nil {
		g.members = make([]kafkaerr.Code, len(leaving))
	}
	return g.code, g.members
}
func (g *groups) CommitOffsets(r group.Commit, respond func(map[topic.Partition]kafkaerr.Code)) {
	g.asked = r
	out := map[topic.Partition]kafkaerr.Code{}
	for p := range r.Offsets {
		out[p] = g.code
	}
	respond(out)
}
func (g *groups) FetchOffsets(id string, stable bool, ps []topic.Partition) (map[topic.Partition]group.Fetched, kafkaerr.Code) {
	g.asked = ps
	if g.code != kafkaerr.None {
		return nil, g.code
	}
	return g.fetched, kafkaerr.None
}
func (g *groups) DeleteOffsets(id string, ps []topic.Partition) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code) {
	out := map[topic.Partition]kafkaerr.Code{}
	for _, p := range ps {
		out[p] = kafkaerr.GroupSubscribedToTopic
	}
	return out, g.code
}
func (g *groups) DeleteGroups(ids []string) map[string]kafkaerr.Code {
	out := map[string]kafkaerr.Code{}
	for _, id := range ids {
		out[id] = kafkaerr.NonEmptyGroup
	}
	return out
}
func (g *groups) Describe(string) group.Description { return g.described }
func (g *groups) List(states []string) ([]group.Listed, kafkaerr.Code) {
	g.asked = states
	return g.listed, g.code
}
func (g *groups) TopicsDeleted(ps []topic.Partition) { g.deleted = ps }

func TestJoinGroup(t *testing.T) {
	everyVersion(t, keyJoinGroup, func(t *testing.T, version int16) {
		b := newBench(t)
		kind, protocol := "consumer", "range"
		b.groups.join = group.JoinResult{Generation: 3, ProtocolType: &kind, Protocol: &protocol, Leader: "m", MemberID: "m",
			Members: []group.JoinedMember{{ID: "m", Metadata: []byte("meta")}}}
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = "g", 7000, 9000, "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("meta")}}
		resp := b.ask(t, req, version).(*kmsg.JoinGroupResponse)
		asked := b.groups.asked.(group.JoinRequest)
		patience := int32(9000)
		if version == 0 {
			patience = 7000 // has no rebalance timeout: the session's
		}
		want := group.JoinRequest{Group: "g", RequireKnownID: version >= 4, ClientID: "c", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: patience,
			SessionTimeoutMs: 7000, ProtocolType: "consumer", Protocols: []group.Protocol{{Name: "range", Metadata: []byte("meta")}}}
		if !reflect.DeepEqual(asked, want) {
			t.Errorf("asked %+v", asked)
		}
		if resp.Generation != 3 || resp.LeaderID != "m" || *resp.Protocol != "range" || string(resp.Members[0].ProtocolMetadata) != "meta" {
			t.Errorf("answered %+v", resp)
		}
		b.groups.join = group.JoinResult{Code: kafkaerr.UnknownMemberID, Generation: -1, MemberID: "x"}
		resp = b.ask(t, req, version).(*kmsg.JoinGroupResponse)
		if resp.ErrorCode != 25 || (resp.Protocol == nil) != (version >= 7) {
			t.Errorf("refused with %+v", resp)
		}
	})
}

// The request's memory is reused after the handler: what waits must not alias it.
func TestWaitingGroupRequestsKeepTheirOwnBytes(t *testing.T) {
	b := newBench(t)
	join, sync := kmsg.NewPtrJoinGroupRequest(), kmsg.NewPtrSyncGroupRequest()
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "p", Metadata: []byte("meta")}}
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: []byte("meta")}}
	for _, req := range []kmsg.Request{join, sync} {
		body := req.AppendTo(nil)
		b.send(t, wire.RequestHeader{Key: req.Key()}, body)
		clear(body)
	}
	if got := b.groups.asked.(group.SyncRequest).Assignment["m"]; string(got) != "meta" {
		t.Errorf("the assignment became %q", got)
	}
	body := join.AppendTo(nil)
	b.send(t, wire.RequestHeader{Key: join.Key()}, body)
	clear(body)
	if got := b.groups.asked.(group.JoinRequest).Protocols[0].Metadata; string(got) != "meta" {
		t.Errorf("the metadata became %q", got)
	}
}

func TestLeaveGroup(t *testing.T) {
	everyVersion(t, keyLeaveGroup, func(t *testing.T, version int16) {
		b := newBench(t)
		b.groups.members = []kafkaerr.Code{kafkaerr.FencedInstanceID}
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = "g", "m"
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
		resp := b.ask(t, req, version).(*kmsg.LeaveGroupResponse)
		if version <= 2 && resp.ErrorCode != 82 || version > 2 && (resp.ErrorCode != 0 || resp.Members[0].ErrorCode != 82) {
			t.Errorf("%+v", resp)
		}
		if got := b.groups.asked.([]group.Leaving); len(got) != 1 || got[0].MemberID != "m" {
			t.Errorf("asked %+v", got)
		}
	})
}

func TestOffsetCommit(t *testing.T) {
	everyVersion(t, keyOffsetCommit, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.RetentionTimeMillis = "g", 1000
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		part.Offset, part.Timestamp, part.LeaderEpoch, part.Metadata = 42, 77, 5, kmsg.StringPtr("note")
		other := part
		other.Partition = 9
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{part, other, part}}}
		resp := b.ask(t, req, version).(*kmsg.OffsetCommitResponse)
		if ps := resp.Topics[0].Partitions; len(ps) != 2 || ps[0].ErrorCode != 0 || ps[1].ErrorCode != 3 {
			t.Errorf("answered %+v", ps)
		}
		stored := string(b.store.nodes["/consumers/g/offsets/t/0"])
		if version == 0 {
			if stored != "42" || b.groups.asked != nil {
				t.Errorf("ZooKeeper holds %q, the coordinator was asked %+v", stored, b.groups.asked)
			}
			return
		}
		o := b.groups.asked.(group.Commit).Offsets[topic.Partition{Topic: "t"}]
		if stored != "" || o.Offset != 42 || o.Metadata != "note" || (o.CommitTimestamp == 77) != (version == 1) ||
			(o.ExpireTimestamp >= 0) != (version >= 2 && version <= 4) || (o.LeaderEpoch == 5) != (version >= 6) {
			t.Errorf("ZooKeeper holds %q, the coordinator was asked %+v", stored, o)
		}
	})
}

// kz.offsets.dual.commit: what the coordinator took is in ZooKeeper before the answer; what it refused is not.
func TestDualCommit(t *testing.T) {
	for _, code := range []kafkaerr.Code{kafkaerr.None, kafkaerr.UnknownMemberID} {
		b := newBench(t)
		own := *b.d.Config
		own.DualCommit = true
		b.d.Config = &own
		b.groups.code = code
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group = "g"
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 42}}}}
		resp := b.ask(t, req, 7).(*kmsg.OffsetCommitResponse)
		if got := resp.Topics[0].Partitions[0].ErrorCode; got != int16(code) {
			t.Errorf("%v: answered %d", code, got)
		}
		if _, there := b.store.nodes["/consumers/g/offsets/t/0"]; there != (code == kafkaerr.None) {
			t.Errorf("%v: in ZooKeeper: %v", code, there)
		}
	}
}

func TestOffsetFetch(t *testing.T) {
	everyVersion(t, keyOffsetFetch, func(t *testing.T, version int16) {
		b := newBench(t)
		b.store.nodes["/consumers/g/offsets/t/0"] = []byte("42")
		b.groups.fetched = map[topic.Partition]group.Fetched{{Topic: "t"}: {Offset: 42, LeaderEpoch: 3, Metadata: "note"}}
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = "g"
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		resp := b.ask(t, req, version).(*kmsg.OffsetFetchResponse)
		if p := resp.Topics[0].Partitions[0]; p.Offset != 42 || (*p.Metadata == "note") != (version > 0) {
			t.Errorf("answered %+v", p)
		}
		if version >= 2 {
			req.Topics = nil
			b.ask(t, req, version)
			if b.groups.asked.([]topic.Partition) != nil {
				t.Errorf("all partitions asked for as %v", b.groups.asked)
			}
			req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
		}
		b.groups.code = kafkaerr.NotCoordinator
		resp = b.ask(t, req, version).(*kmsg.OffsetFetchResponse)
		switch {
		case version == 1 && resp.Topics[0].Partitions[0].ErrorCode != 16, version >= 2 && (resp.ErrorCode != 16 || len(resp.Topics) != 0):
			t.Errorf("refused with %+v", resp)
		}
	})
}

func TestFindCoordinator(t *testing.T) {
	everyVersion(t, keyFindCoordinator, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = "g"
		resp := b.ask(t, req, version).(*kmsg.FindCoordinatorResponse)
		if resp.ErrorCode != 15 || resp.NodeID != -1 || resp.Port != -1 {
			t.Errorf("before the topic exists: %+v", resp)
		}
		if version > 0 && *resp.ErrorMessage != coordinatorNotAvailable {
			t.Errorf("message %q", *resp.ErrorMessage)
		}
		if req.CoordinatorType = transactionCoordinator; version > 0 { // nobody is to wait for a coordinator that never comes
			resp := b.ask(t, req, version).(*kmsg.FindCoordinatorResponse)
			if kafkaerr.Code(resp.ErrorCode) != kafkaerr.UnsupportedVersion || *resp.ErrorMessage != noTransactions {
				t.Errorf("a transactional id: %+v", resp)
			}
		}
		req.CoordinatorType = 7
		if version > 0 {
			if resp := b.ask(t, req, version).(*kmsg.FindCoordinatorResponse); resp.ErrorCode != 42 {
				t.Errorf("a strange type: %+v", resp)
			}
		}
	})
}

func TestDescribeListAndDeleteGroups(t *testing.T) {
	b := newBench(t)
	b.groups.described = group.Description{State: "Stable", ProtocolType: "consumer", Protocol: "range", Members: []group.DescribedMember{{ID: "m", ClientHost: "/h"}}}
	b.groups.listed = []group.Listed{{Group: "g", ProtocolType: "consumer", State: "Stable"}}
	everyVersion(t, keyDescribeGroups, func(t *testing.T, version int16) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"g"}, true
		g := b.ask(t, req, version).(*kmsg.DescribeGroupsResponse).Groups[0]
		if g.State != "Stable" || g.Members[0].ClientHost != "/h" || version >= 3 && g.AuthorizedOperations != allGroupOperations {
			t.Errorf("%+v", g)
		}
	})
	everyVersion(t, keyListGroups, func(t *testing.T, version int16) {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter = []string{"Stable"}
		g := b.ask(t, req, version).(*kmsg.ListGroupsResponse).Groups[0]
		if g.Group != "g" || (g.GroupState == "Stable") != (version >= 4) {
			t.Errorf("%+v", g)
		}
	})
	everyVersion(t, keyDeleteGroups, func(t *testing.T, version int16) {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{"g", "h", "g"}
		if gs := b.ask(t, req, version).(*kmsg.DeleteGroupsResponse).Groups; len(gs) != 2 || gs[1].Group != "h" || gs[1].ErrorCode != 68 {
			t.Errorf("%+v", gs)
		}
	})
	everyVersion(t, keyOffsetDelete, func(t *testing.T, version int16) {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 9}}}}
		if ps := b.ask(t, req, version).(*kmsg.OffsetDeleteResponse).Topics[0].Partitions; ps[0].ErrorCode != 86 || ps[1].ErrorCode != 3 {
			t.Errorf("%+v", ps)
		}
	})
}

// Who wants to authenticate is answered, or he would try for ever. Ref: Kafka 2.8.2 on a PLAINTEXT listener.
func TestSaslIsAnswered(t *testing.T) {
	everyVersion(t, keySaslHandshake, func(t *testing.T, version int16) {
		resp := newBench(t).ask(t, kmsg.NewPtrSASLHandshakeRequest(), version).(*kmsg.SASLHandshakeResponse)
		if kafkaerr.Code(resp.ErrorCode) != kafkaerr.IllegalSaslState || len(resp.SupportedMechanisms) != 0 {
			t.Errorf("%+v", resp)
		}
	})
	everyVersion(t, keySaslAuthenticate, func(t *testing.T, version int16) {
		resp := newBench(t).ask(t, kmsg.NewPtrSASLAuthenticateRequest(), version).(*kmsg.SASLAuthenticateResponse)
		if kafkaerr.Code(resp.ErrorCode) != kafkaerr.IllegalSaslState {
			t.Errorf("%+v", resp)
		}
	})
}
