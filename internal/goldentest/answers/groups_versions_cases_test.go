package answers

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// registerGroupVersions asks every version of the group APIs, and of those of SASL, the same.
func registerGroupVersions() {
	versions("SaslHandshake", 1, func(t *T, v int16) { t.conn("leader").do("SaslHandshake", v, `{"Mechanism":"PLAIN"}`) })
	versions("SaslAuthenticate", 2, func(t *T, v int16) { t.conn("leader").do("SaslAuthenticate", v, `{"SASLAuthBytes":"x"}`) })
	versions("OffsetCommit", 8, func(t *T, v int16) {
		t.topic("t", nil)
		c := t.coordinator(t.unique("g"), 0)
		c.do("OffsetCommit", v, `{"Group":"$g","Generation":-1,"MemberID":"","RetentionTimeMillis":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":42,"Timestamp":-1,"LeaderEpoch":3,"Metadata":"note"}]}]}`)
		c.do("OffsetFetch", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
	})
	versions("OffsetFetch", 7, func(t *T, v int16) {
		t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}})
		c := t.coordinator(t.unique("g"), 0)
		c.send("OffsetCommit", 7, `{"Group":"$g","Generation":-1,"MemberID":"","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":42,"LeaderEpoch":3,"Metadata":"note"}]}]}`).quiet()
		c.do("OffsetFetch", v, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0,1,7]}]}`)
		if v >= 2 {
			c.do("OffsetFetch", v, `{"Group":"$g","Topics":null}`)
		}
	})
	versions("FindCoordinator", 3, func(t *T, v int16) {
		t.unique("g")
		c := t.conn("leader")
		c.do("FindCoordinator", v, `{"CoordinatorKey":"$g","CoordinatorType":0}`)
		if v >= 1 {
			c.do("FindCoordinator", v, `{"CoordinatorKey":"$g","CoordinatorType":1}`)
		}
	})
	versions("JoinGroup", 7, func(t *T, v int16) {
		c := t.coordinator(t.unique("g"), 0)
		text := `{"Group":"$g","SessionTimeoutMillis":10000,"RebalanceTimeoutMillis":10000,"MemberID":"$m1","ProtocolType":"consumer","Protocols":[{"Name":"range","Metadata":"meta"}]}`
		t.vars["m1"] = ""
		r := c.do("JoinGroup", v, text).(*kmsg.JoinGroupResponse)
		if r.ErrorCode != 0 {
			t.vars["m1"] = r.MemberID
			c.do("JoinGroup", v, text)
		}
	})
	member := func(t *T) (*conn, string) {
		c := t.coordinator(t.unique("g"), 0)
		r := c.send("JoinGroup", 3, `{"Group":"$g","SessionTimeoutMillis":10000,"RebalanceTimeoutMillis":10000,"MemberID":"","ProtocolType":"consumer","Protocols":[{"Name":"range","Metadata":"meta"}]}`).quiet().(*kmsg.JoinGroupResponse)
		t.vars["m1"] = r.MemberID
		return c, r.MemberID
	}
	sync := func(c *conn) {
		c.send("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"assignment"}]}`).quiet()
	}
	versions("SyncGroup", 5, func(t *T, v int16) {
		c, _ := member(t)
		c.do("SyncGroup", v, `{"Group":"$g","Generation":1,"MemberID":"$m1","ProtocolType":"consumer","Protocol":"range","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"assignment"}]}`)
	})
	versions("Heartbeat", 4, func(t *T, v int16) {
		c, _ := member(t)
		sync(c)
		c.do("Heartbeat", v, `{"Group":"$g","Generation":1,"MemberID":"$m1"}`)
	})
	versions("LeaveGroup", 4, func(t *T, v int16) {
		c, _ := member(t)
		sync(c)
		c.do("LeaveGroup", v, `{"Group":"$g","MemberID":"$m1","Members":[{"MemberID":"$m1"}]}`)
	})
	versions("DescribeGroups", 5, func(t *T, v int16) {
		c, _ := member(t)
		sync(c)
		c.do("DescribeGroups", v, `{"Groups":["$g"],"IncludeAuthorizedOperations":true}`)
	})
	versions("ListGroups", 4, func(t *T, v int16) {
		c, _ := member(t)
		sync(c)
		c.send("ListGroups", v, `{}`).keepGroups(t)
	})
	versions("DeleteGroups", 2, func(t *T, v int16) {
		t.topic("t", nil)
		c := t.coordinator(t.unique("g"), 0)
		c.send("OffsetCommit", 2, `{"Group":"$g","Generation":-1,"RetentionTimeMillis":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`).quiet()
		c.do("DeleteGroups", v, `{"Groups":["$g"]}`)
	})
	versions("OffsetDelete", 0, func(t *T, v int16) {
		t.topic("t", nil)
		c := t.coordinator(t.unique("g"), 0)
		c.send("OffsetCommit", 2, `{"Group":"$g","Generation":-1,"RetentionTimeMillis":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`).quiet()
		c.do("OffsetDelete", v, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0}]}]}`)
	})
}
