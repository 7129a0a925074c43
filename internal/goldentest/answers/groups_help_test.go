package answers

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// coordinator connects to the broker that coordinates key: a group (kind 0) or a transactional id (1).
func (t *T) coordinator(key string, kind int8) *conn {
	c := t.conn(fmt.Sprint("broker ", t.coordinatorOf(key, kind)))
	c.to = "coordinator"
	return c
}

// notCoordinator connects to a broker that does not coordinate key.
func (t *T) notCoordinator(key string, kind int8) *conn {
	c := t.conn(fmt.Sprint("broker ", t.coordinatorOf(key, kind)%3+1))
	c.to = "not the coordinator"
	return c
}

// coordinatorOf waits until the coordinator is known and has loaded.
func (t *T) coordinatorOf(key string, kind int8) (id int32) {
	t.until("the coordinator of "+key, func() bool {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorKey, r.CoordinatorType = key, kind
		resp, err := t.env.ask(1, r, 2)
		if err != nil {
			t.tb.Fatal(err)
		}
		f := resp.(*kmsg.FindCoordinatorResponse)
		id = f.NodeID
		return f.ErrorCode == 0 && (kind != 0 || t.describe(id, key).ErrorCode == 0)
	})
	return id
}

// describe asks a broker about a group, without recording it.
func (t *T) describe(broker int32, group string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Groups = []string{group}
	resp, err := t.env.ask(broker, r, 4)
	if err != nil {
		t.tb.Fatal(err)
	}
	return resp.(*kmsg.DescribeGroupsResponse).Groups[0]
}

// untilState waits until $g is in a state and has so many members.
func (t *T) untilState(state string, members int) {
	t.tb.Helper()
	id := t.coordinatorOf(t.vars["g"], 0)
	t.until(fmt.Sprintf("the group to be %s with %d members", state, members), func() bool {
		g := t.describe(id, t.vars["g"])
		return g.State == state && len(g.Members) == members
	})
}

const groupMetadata = `"ProtocolType":"consumer","Protocols":[{"Name":"range","Metadata":"meta"},{"Name":"roundrobin","Metadata":"meta"}]`

func joinText(member, more string) string {
	return `{"Group":"$g","SessionTimeoutMillis":30000,"RebalanceTimeoutMillis":10000,"MemberID":"` + member + `",` + groupMetadata + more + `}`
}

// joinNew joins a new dynamic member (v3: no second round trip) without recording it, and names it $key.
func (t *T) joinNew(c *conn, key string) *kmsg.JoinGroupResponse {
	r := c.send("JoinGroup", 3, joinText("", "")).quiet().(*kmsg.JoinGroupResponse)
	if r.ErrorCode != 0 {
		t.stop("joining: " + errorName(r.ErrorCode))
	}
	t.vars[key] = r.MemberID
	return r
}

// sibling names a second, unknown group $key with the same coordinator as $g.
func (t *T) sibling(key string) {
	want := t.coordinatorOf(t.vars["g"], 0)
	for t.coordinatorOf(t.unique(key), 0) != want {
	}
}

// keepGroups records a ListGroups answer reduced to this case's own group.
func (p *pending) keepGroups(t *T) {
	r := p.quiet().(*kmsg.ListGroupsResponse)
	var own []kmsg.ListGroupsResponseGroup
	for _, g := range r.Groups {
		if g.Group == t.vars["g"] {
			own = append(own, g)
		}
	}
	r.Groups = own
	p.record(append(t.dump(r), kv{"(note)", "only the group of this case is shown"}))
}

// subscription is a consumer's metadata, version 0.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 0, topics
	return m.AppendTo(nil)
}
