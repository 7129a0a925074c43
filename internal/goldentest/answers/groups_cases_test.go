package answers

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerGroups: who may join, and what a rebalance looks like from outside.
func registerGroups() {
	add("groups/join-errors", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		j := func(v int16, text string) { c.do("JoinGroup", v, text) }
		for _, v := range []int16{0, 3, 5, 7} {
			j(v, strings.Replace(joinText("", ""), "$g", "", 1))
		}
		for _, s := range []string{"5999", "1800001", "0", "-1"} {
			j(4, strings.Replace(joinText("", ""), `"SessionTimeoutMillis":30000`, `"SessionTimeoutMillis":`+s, 1))
		}
		j(4, joinText("nobody", ""))
		j(0, joinText("nobody", ""))
		j(5, joinText("nobody", `,"InstanceID":"static"`))
		j(3, strings.Replace(joinText("", ""), groupMetadata, `"ProtocolType":"","Protocols":[{"Name":"range","Metadata":"m"}]`, 1))
		j(3, strings.Replace(joinText("", ""), groupMetadata, `"ProtocolType":"consumer","Protocols":[]`, 1))
		j(7, strings.Replace(joinText("", ""), groupMetadata, `"ProtocolType":"consumer","Protocols":[]`, 1))
		c.do("DescribeGroups", 3, `{"Groups":["$g"]}`)
		t.notCoordinator(t.vars["g"], 0).do("JoinGroup", 4, joinText("", ""))
		t.notCoordinator(t.vars["g"], 0).do("JoinGroup", 4, strings.Replace(joinText("", ""), "30000", "1", 1))
		t.notCoordinator(t.vars["g"], 0).do("JoinGroup", 4, strings.Replace(joinText("", ""), "$g", "", 1))
	})
	add("groups/member-id-required", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		r := c.do("JoinGroup", 4, joinText("", "")).(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		c.do("DescribeGroups", 3, `{"Groups":["$g"]}`)
		c.do("Heartbeat", 1, `{"Group":"$g","Generation":0,"MemberID":"$m1"}`)
		c.do("SyncGroup", 1, `{"Group":"$g","Generation":0,"MemberID":"$m1"}`)
		c.do("JoinGroup", 4, joinText("$m1", ""))
		c.do("JoinGroup", 5, joinText("", ""))
		c.do("SyncGroup", 1, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"all"}]}`)
		c.do("LeaveGroup", 1, `{"Group":"$g","MemberID":"$m1"}`)
		c.do("DescribeGroups", 3, `{"Groups":["$g"]}`)
	})
	add("groups/leave-of-pending-member", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		r := c.do("JoinGroup", 4, joinText("", "")).(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		c.do("LeaveGroup", 3, `{"Group":"$g","Members":[{"MemberID":"$m1"}]}`)
		c.do("JoinGroup", 4, joinText("$m1", ""))
	})
	add("groups/two-members", func(t *T) {
		c1 := t.coordinator(t.unique("g"), 0)
		t.joinNew(c1, "m1")
		c1.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"all"}]}`)
		c2 := t.coordinator(t.vars["g"], 0)
		p2 := c2.send("JoinGroup", 3, joinText("", ""))
		t.untilState("PreparingRebalance", 2)
		c1.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1"}`)
		c1.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1"}`)
		c1.do("OffsetCommit", 6, `{"Group":"$g","Generation":1,"MemberID":"$m1","Topics":[]}`)
		c1.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
		p1 := c1.send("JoinGroup", 3, joinText("$m1", ""))
		r1 := p1.quiet().(*kmsg.JoinGroupResponse)
		r2 := p2.quiet().(*kmsg.JoinGroupResponse)
		t.vars["m2"] = r2.MemberID
		t.note("coordinator", "JoinGroup", 3, "first member again", t.dump(r1))
		t.note("coordinator", "JoinGroup", 3, "second member", t.dump(r2))
		s2 := c2.send("SyncGroup", 3, `{"Group":"$g","Generation":2,"MemberID":"$m2"}`)
		c1.do("Heartbeat", 3, `{"Group":"$g","Generation":2,"MemberID":"$m1"}`)
		c1.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
		c1.do("SyncGroup", 3, `{"Group":"$g","Generation":2,"MemberID":"$m1","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"one"}]}`)
		s2.get()
		c1.do("JoinGroup", 3, joinText("$m2", "")) // an unchanged follower of a stable group: answered at once
		c1.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
		c2.do("LeaveGroup", 1, `{"Group":"$g","MemberID":"$m2"}`)
		c1.do("Heartbeat", 3, `{"Group":"$g","Generation":2,"MemberID":"$m1"}`)
		c1.do("JoinGroup", 3, joinText("$m1", ""))
		c1.do("SyncGroup", 3, `{"Group":"$g","Generation":3,"MemberID":"$m1","GroupAssignment":[]}`)
	})
	add("groups/inconsistent-protocols", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		t.joinNew(c, "m1")
		c2 := t.coordinator(t.vars["g"], 0)
		for _, m := range []string{`"ProtocolType":"consumer","Protocols":[{"Name":"sticky","Metadata":"m"}]`, `"ProtocolType":"connect","Protocols":[{"Name":"range","Metadata":"m"}]`, `"ProtocolType":"consumer","Protocols":[]`, `"ProtocolType":"","Protocols":[{"Name":"range","Metadata":"m"}]`} {
			c2.do("JoinGroup", 3, strings.Replace(joinText("", ""), groupMetadata, m, 1))
			c2.do("JoinGroup", 7, strings.Replace(joinText("", ""), groupMetadata, m, 1))
		}
		c.do("JoinGroup", 3, strings.Replace(joinText("$m1", ""), groupMetadata, `"ProtocolType":"connect","Protocols":[{"Name":"range","Metadata":"m"}]`, 1))
		for _, x := range []string{`"ProtocolType":"connect","Protocol":"range"`, `"ProtocolType":"consumer","Protocol":"roundrobin"`, `"ProtocolType":null,"Protocol":"range"`, `"ProtocolType":"consumer","Protocol":null`, `"ProtocolType":null,"Protocol":null`} {
			c.do("SyncGroup", 5, `{"Group":"$g","Generation":1,"MemberID":"$m1",`+x+`}`)
		}
	})
	// group.max.size=4
}

func registerGroupMembers() {
	add("groups/max-size", func(t *T) {
		t.unique("g")
		var ps []*pending
		var cs []*conn
		for i := 0; i < 4; i++ {
			c := t.coordinator(t.vars["g"], 0)
			cs = append(cs, c)
			ps = append(ps, c.send("JoinGroup", 3, joinText("", "")))
			if i == 0 {
				r := ps[0].quiet().(*kmsg.JoinGroupResponse) // alone at first: the rebalance completes
				t.vars["m1"] = r.MemberID
				continue
			}
			t.untilState("PreparingRebalance", i+1)
		}
		// While the rebalance waits only the members waiting in JoinGroup count: m1 does not, so a fifth is let in. The
		// rebalance timeout (10 s) then removes m1.
		c5 := t.coordinator(t.vars["g"], 0)
		r5 := c5.send("JoinGroup", 3, joinText("", "")).quiet().(*kmsg.JoinGroupResponse)
		t.note("coordinator", "JoinGroup", 3, "fifth member, before the first has rejoined", obj{{"ErrorCode", errorName(r5.ErrorCode)}, {"Generation", r5.Generation}})
		c5.do("JoinGroup", 4, joinText("", ""))
		c5.do("JoinGroup", 5, joinText("", `,"InstanceID":"s"`))
		c5.do("DescribeGroups", 0, `{"Groups":["$g"]}`)
		cs[0].send("JoinGroup", 3, joinText("$m1", "")).quiet()
		for i, p := range ps[1:] {
			t.vars[fmt.Sprint("m", i+2)] = p.quiet().(*kmsg.JoinGroupResponse).MemberID
		}
	})
	add("groups/static-members", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		static := `,"InstanceID":"inst"`
		r := c.do("JoinGroup", 5, joinText("", static)).(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		c.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","InstanceID":"inst","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"all"}]}`)
		c.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
		r = c.do("JoinGroup", 5, joinText("", static)).(*kmsg.JoinGroupResponse) // restarted: no rebalance
		t.vars["m2"] = r.MemberID
		c.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m2","InstanceID":"inst"}`)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","InstanceID":"inst"}`)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1"}`)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m2","InstanceID":"other"}`)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m2"}`)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m2","InstanceID":"inst"}`)
		c.do("JoinGroup", 5, joinText("$m1", static))
		c.do("JoinGroup", 5, joinText("$m2", `,"InstanceID":"other"`))
		c.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","InstanceID":"inst"}`)
		c.do("OffsetCommit", 7, `{"Group":"$g","Generation":1,"MemberID":"$m1","InstanceID":"inst","Topics":[{"Topic":"$g","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		c.do("LeaveGroup", 3, `{"Group":"$g","Members":[{"MemberID":"$m1","InstanceID":"inst"},{"MemberID":"","InstanceID":"nobody"},{"MemberID":"nobody"}]}`)
		c.do("LeaveGroup", 3, `{"Group":"$g","Members":[{"MemberID":"","InstanceID":"inst"}]}`)
		c.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
	})
	add("groups/static-member-changes-protocols", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		static := `,"InstanceID":"inst"`
		r := c.do("JoinGroup", 5, joinText("", static)).(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		c.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","InstanceID":"inst","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"all"}]}`)
		r = c.do("JoinGroup", 5, strings.Replace(joinText("", static), groupMetadata, `"ProtocolType":"consumer","Protocols":[{"Name":"roundrobin","Metadata":"other"}]`, 1)).(*kmsg.JoinGroupResponse)
		t.vars["m2"] = r.MemberID
		c.do("SyncGroup", 3, fmt.Sprintf(`{"Group":"$g","Generation":%d,"MemberID":"$m2","InstanceID":"inst","GroupAssignment":[]}`, r.Generation))
	})
	add("groups/session-timeout-removes-member", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		r := c.send("JoinGroup", 3, strings.Replace(joinText("", ""), "30000", "6000", 1)).quiet().(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		c.send("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[]}`).quiet()
		t.untilState("Empty", 0)
		c.do("Heartbeat", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1"}`)
		c.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
	})
}

func registerGroupDeletes() {
	add("groups/list-filters", func(t *T) {
		c := t.coordinator(t.unique("g"), 0)
		t.joinNew(c, "m1")
		for _, f := range []string{`[]`, `["CompletingRebalance"]`, `["Stable"]`, `["stable"]`, `["completingrebalance"]`, `["nonsense"]`, `["Dead","Empty","CompletingRebalance"]`} {
			p := c.send("ListGroups", 4, `{"StatesFilter":`+f+`}`)
			p.keepGroups(t)
		}
		p := t.notCoordinator(t.vars["g"], 0).send("ListGroups", 4, `{}`)
		p.keepGroups(t)
	})
	add("groups/not-coordinator-and-empty-id", func(t *T) {
		t.unique("g")
		t.goesOn = true // past TxnOffsetCommit
		for _, c := range []*conn{t.notCoordinator(t.vars["g"], 0), t.coordinator("", 0)} {
			g := "$g"
			if c.to == "coordinator" {
				g = ""
				c.to = "coordinator of the empty group id"
				c.send("DeleteGroups", 1, `{"Groups":[""]}`).quiet()
			}
			c.do("SyncGroup", 3, `{"Group":"`+g+`","Generation":1,"MemberID":"m"}`)
			c.do("Heartbeat", 3, `{"Group":"`+g+`","Generation":1,"MemberID":"m"}`)
			c.do("LeaveGroup", 1, `{"Group":"`+g+`","MemberID":"m"}`)
			c.do("LeaveGroup", 3, `{"Group":"`+g+`","Members":[{"MemberID":"m"}]}`)
			c.do("DescribeGroups", 3, `{"Groups":["`+g+`"]}`)
			c.do("DeleteGroups", 1, `{"Groups":["`+g+`"]}`)
			c.do("OffsetDelete", 0, `{"Group":"`+g+`","Topics":[{"Topic":"x","Partitions":[{"Partition":0}]}]}`)
			c.do("OffsetFetch", 3, `{"Group":"`+g+`","Topics":[{"Topic":"x","Partitions":[0]}]}`)
			c.do("TxnOffsetCommit", 2, `{"TransactionalID":"x","Group":"`+g+`","ProducerID":1,"ProducerEpoch":0,"Topics":[{"Topic":"x","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		}
		t.conn("leader").do("FindCoordinator", 2, `{"CoordinatorKey":"x","CoordinatorType":2}`)
		r := t.conn("leader").send("FindCoordinator", 2, `{"CoordinatorKey":"","CoordinatorType":0}`)
		r.get()
	})
	add("groups/delete-and-offset-delete", func(t *T) {
		t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}})
		c := t.coordinator(t.unique("g"), 0)
		commit := func() {
			c.send("OffsetCommit", 2, `{"Group":"$g","Generation":-1,"RetentionTimeMillis":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1},{"Partition":1,"Offset":2}]}]}`).quiet()
		}
		commit()
		c.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
		c.do("OffsetDelete", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0},{"Partition":9}]},{"Topic":"$t-missing","Partitions":[{"Partition":0}]}]}`)
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":null}`)
		t.sibling("missing")
		c.do("DeleteGroups", 1, `{"Groups":["$g","$missing"]}`)
		c.do("DeleteGroups", 1, `{"Groups":["$g"]}`)
		c.do("DeleteGroups", 1, `{"Groups":["$g","$g"]}`)
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":null}`)
		c.do("DescribeGroups", 4, `{"Groups":["$g"]}`)
	})
	add("groups/offset-delete-of-live-groups", func(t *T) {
		t.topic("t", nil)
		t.topic("u", nil)
		t.bin["subscription"] = subscription(t.vars["t"])
		for _, typ := range []string{"consumer", "other"} {
			c := t.coordinator(t.unique("g"), 0)
			r := c.send("JoinGroup", 3, `{"Group":"$g","SessionTimeoutMillis":30000,"RebalanceTimeoutMillis":10000,"MemberID":"","ProtocolType":"`+typ+`","Protocols":[{"Name":"range","Metadata":"@subscription"}]}`).quiet().(*kmsg.JoinGroupResponse)
			t.vars["m1"] = r.MemberID
			c.send("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[]}`).quiet()
			c.to = "coordinator, protocol type " + typ
			c.do("OffsetCommit", 6, `{"Group":"$g","Generation":1,"MemberID":"$m1","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]},{"Topic":"$u","Partitions":[{"Partition":0,"Offset":1}]}]}`)
			c.do("OffsetDelete", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0}]},{"Topic":"$u","Partitions":[{"Partition":0}]}]}`)
			c.do("DeleteGroups", 1, `{"Groups":["$g"]}`)
			c.do("LeaveGroup", 1, `{"Group":"$g","MemberID":"$m1"}`)
			c.do("DeleteGroups", 1, `{"Groups":["$g"]}`)
		}
	})
	add("groups/subscription-not-parsable", func(t *T) {
		t.topic("t", nil)
		c := t.coordinator(t.unique("g"), 0)
		t.joinNew(c, "m1") // metadata "meta" is no consumer subscription
		c.do("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[]}`)
		c.do("OffsetCommit", 6, `{"Group":"$g","Generation":1,"MemberID":"$m1","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		c.do("OffsetDelete", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0}]}]}`)
	})
}
