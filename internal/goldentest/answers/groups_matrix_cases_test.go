package answers

import (
	"fmt"
	"time"
)

// The matrix: every group request in every state of the group, by a right and a wrong caller.
func registerGroupMatrix() {
	states := map[string]func(t *T) *conn{}
	order := []string{"unknown", "Empty-offsets-only", "Empty-after-leave", "PreparingRebalance", "CompletingRebalance", "Stable", "deleted"}
	states["unknown"] = func(t *T) *conn { t.vars["m1"] = "ans-no-such-member"; return t.coordinator(t.unique("g"), 0) }
	states["Empty-offsets-only"] = func(t *T) *conn {
		c := states["unknown"](t)
		c.send("OffsetCommit", 2, `{"Group":"$g","Generation":-1,"RetentionTimeMillis":-1,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":1}]}]}`).quiet()
		return c
	}
	states["CompletingRebalance"] = func(t *T) *conn {
		c := t.coordinator(t.unique("g"), 0)
		t.joinNew(c, "m1")
		return c
	}
	states["Stable"] = func(t *T) *conn {
		c := states["CompletingRebalance"](t)
		c.send("SyncGroup", 3, `{"Group":"$g","Generation":1,"MemberID":"$m1","GroupAssignment":[{"MemberID":"$m1","MemberAssignment":"all"}]}`).quiet()
		return c
	}
	states["PreparingRebalance"] = func(t *T) *conn {
		c := states["Stable"](t)
		t.coordinator(t.vars["g"], 0).send("JoinGroup", 3, joinText("", "")) // waits for the first member
		t.untilState("PreparingRebalance", 2)
		return c
	}
	states["Empty-after-leave"] = func(t *T) *conn {
		c := states["Stable"](t)
		c.send("LeaveGroup", 1, `{"Group":"$g","MemberID":"$m1"}`).quiet()
		return c
	}
	states["deleted"] = func(t *T) *conn {
		c := states["Empty-after-leave"](t)
		c.send("DeleteGroups", 1, `{"Groups":["$g"]}`).quiet()
		return c
	}
	topics := `,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Offset":9}]}]`
	type q struct {
		name, api string
		v         int16
		text      string
	}
	var qs []q
	for _, m := range []struct{ name, gen, id string }{{"right", "1", "$m1"}, {"old-generation", "0", "$m1"}, {"newer-generation", "2", "$m1"}, {"no-generation", "-1", "$m1"}, {"unknown-member", "1", "stranger"}, {"empty-member", "1", ""}, {"outside", "-1", ""}} {
		who := fmt.Sprintf(`"Group":"$g","Generation":%s,"MemberID":"%s"`, m.gen, m.id)
		qs = append(qs,
			q{m.name, "Heartbeat", 3, `{` + who + `}`},
			q{m.name, "OffsetCommit", 6, `{` + who + topics + `}`},
			q{m.name, "SyncGroup", 3, `{` + who + `,"GroupAssignment":[]}`})
		if m.name == "right" || m.name == "unknown-member" || m.name == "empty-member" {
			qs = append(qs, q{m.name, "LeaveGroup", 3, `{"Group":"$g","Members":[{"MemberID":"` + m.id + `"}]}`},
				q{m.name, "TxnOffsetCommit", 3, fmt.Sprintf(`{"TransactionalID":"x","Group":"$g","ProducerID":900000400,"ProducerEpoch":0,"Generation":%s,"MemberID":"%s"`, m.gen, m.id) + topics + `}`})
		}
		if m.name == "right" || m.name == "unknown-member" {
			qs = append(qs, q{m.name, "JoinGroup", 4, joinText(m.id, "")})
		}
		if m.name == "old-generation" || m.name == "outside" {
			qs = append(qs, q{m.name, "TxnOffsetCommit", 3, fmt.Sprintf(`{"TransactionalID":"x","Group":"$g","ProducerID":900000400,"ProducerEpoch":0,"Generation":%s,"MemberID":"%s"`, m.gen, m.id) + topics + `}`})
		}
	}
	qs = append(qs, q{"any", "DescribeGroups", 4, `{"Groups":["$g"]}`}, q{"any", "DeleteGroups", 1, `{"Groups":["$g"]}`}, q{"any", "OffsetDelete", 0, `{"Group":"$g","Topics":[{"Topic":"$t","Partitions":[{"Partition":0}]}]}`},
		q{"any", "OffsetFetch", 5, `{"Group":"$g","Topics":null}`}, q{"any", "ListGroups", 4, `{}`})
	for _, s := range order {
		add("matrix/"+s, func(t *T) {
			t.topic("t", nil)
			t.goesOn = true // past TxnOffsetCommit
			for _, x := range qs {
				c := states[s](t)
				c.to = "coordinator, " + x.name
				p := c.send(x.api, x.v, x.text)
				if x.api == "ListGroups" {
					p.keepGroups(t)
				} else {
					p.getWithin(1200 * time.Millisecond)
				}
			}
		})
	}
}
