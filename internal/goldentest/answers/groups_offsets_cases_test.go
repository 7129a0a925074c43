package answers

import (
	"strings"
)

func registerGroupOffsets() {
	add("offsets/commit-versions-and-errors", func(t *T) {
		t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}})
		c := t.coordinator(t.unique("g"), 0)
		one := func(extra, part string) string {
			return `{"Group":"$g","Generation":-1,"MemberID":"","RetentionTimeMillis":-1` + extra + `,"Topics":[{"Topic":"$t","Partitions":[` + part + `]}]}`
		}
		p0 := `{"Partition":0,"Offset":5,"Timestamp":-1,"Metadata":"m"}`
		c.do("OffsetFetch", 1, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		c.do("OffsetCommit", 1, one("", `{"Partition":0,"Offset":5,"Timestamp":1600000000000,"Metadata":"v1 with timestamp"}`))
		c.do("OffsetCommit", 2, `{"Group":"$g","Generation":-1,"MemberID":"","RetentionTimeMillis":100000,"Topics":[{"Topic":"$t","Partitions":[`+p0+`]}]}`)
		c.do("OffsetCommit", 4, one("", `{"Partition":7,"Offset":5,"Metadata":"m"},{"Partition":1,"Offset":5,"Metadata":"m"}`))
		c.do("OffsetCommit", 4, strings.Replace(one("", p0), "$t", "$t-missing", 1))
		c.do("OffsetCommit", 4, one("", `{"Partition":0,"Offset":-1,"Metadata":"negative"}`))
		c.do("OffsetCommit", 4, one("", `{"Partition":0,"Offset":-5,"Metadata":"negative"}`))
		c.do("OffsetCommit", 4, one("", `{"Partition":0,"Offset":999999999999,"Metadata":"beyond the log"}`))
		c.do("OffsetCommit", 4, one("", `{"Partition":0,"Offset":5,"Metadata":null}`))
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		t.vars["long"] = strings.Repeat("x", 4096)
		t.vars["longer"] = strings.Repeat("x", 4097)
		c.to = "coordinator ($long is 4096 times x, $longer 4097)"
		c.do("OffsetCommit", 4, one("", `{"Partition":0,"Offset":6,"Metadata":"$long"},{"Partition":1,"Offset":6,"Metadata":"$longer"}`))
		c.to = "coordinator"
		e := t.coordinator("", 0)
		e.do("OffsetCommit", 4, strings.Replace(one("", p0), `"Group":"$g"`, `"Group":""`, 1))
		e.do("OffsetFetch", 5, `{"Group":"","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		c.do("OffsetCommit", 4, strings.Replace(one("", p0), `"Generation":-1`, `"Generation":0`, 1))
		c.do("OffsetCommit", 4, strings.Replace(one("", p0), `"MemberID":""`, `"MemberID":"nobody"`, 1))
		c.do("OffsetCommit", 4, strings.Replace(strings.Replace(one("", p0), `"MemberID":""`, `"MemberID":"nobody"`, 1), `"Generation":-1`, `"Generation":3`, 1))
		c.do("OffsetCommit", 7, strings.Replace(one("", p0), `"MemberID":""`, `"MemberID":"","InstanceID":"nobody"`, 1))
		c.do("OffsetCommit", 4, `{"Group":"$g","Generation":-1,"Topics":[]}`)
		n := t.notCoordinator(t.vars["g"], 0)
		n.do("OffsetCommit", 4, one("", p0))
		n.do("OffsetCommit", 4, strings.Replace(one("", p0), "$t", "$t-missing", 1))
		n.do("OffsetFetch", 1, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		n.do("OffsetFetch", 5, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		n.do("OffsetFetch", 5, `{"Group":"$g","Topics":null}`)
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":[]}`)
		t.sibling("missing")
		c.do("OffsetFetch", 5, `{"Group":"$missing","Topics":null}`)
		c.do("OffsetFetch", 5, `{"Group":"$g","Topics":[{"Topic":"$t-missing","Partitions":[0]},{"Topic":"$t","Partitions":[0,1,9]}]}`)
		c.do("OffsetFetch", 1, `{"Group":"$g","Topics":[{"Topic":"$t-missing","Partitions":[0]},{"Topic":"$t","Partitions":[0,1,9]}]}`)
	})
	add("offsets/zookeeper-v0", func(t *T) {
		t.topic("t", [][]int32{{1, 2, 3}, {1, 2, 3}})
		t.unique("g")
		c := t.conn("leader")
		f := func() {
			c.do("OffsetFetch", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0,1,9]},{"Topic":"$t-missing","Partitions":[0]}]}`)
		}
		f()
		c.do("OffsetCommit", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":42,"Metadata":"note"},{"Partition":9,"Offset":1}]},{"Topic":"$t-missing","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		f()
		t.vars["longer"] = strings.Repeat("x", 4097)
		c.to = "leader ($longer is 4097 times x)"
		c.do("OffsetCommit", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":43,"Metadata":"$longer"}]}]}`)
		c.to = "leader"
		c.do("OffsetCommit", 0, `{"Group":"","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`)
		t.coordinator(t.vars["g"], 0).do("OffsetFetch", 1, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[0]}]}`)
		c.do("OffsetCommit", 0, `{"Group":"a/b","Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`)
	})
}
