package zkserver

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"kz/internal/journal"
	"kz/internal/link"
)

// History tells every change of every life of a server, and nothing that was refused.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	for life := range 2 {
		bubbled(t, Config{Dir: dir, NoFsync: true}, func(t *testing.T, s *Server, network link.Network, _ *diary) {
			c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
			if life == 0 {
				c.must(create("/a", "x"))
				c.call(create("/a", "refused"))
				c.call(multi(set("/a", "taken back"), checkOp{"/a", 7}))
				c.call(multi(checkOp{"/a", 0})) // alone it leaves no trace
				c.must(multi(checkOp{"/a", 0}, createAs("/e", 1)))
			}
			c.must(set("/a", fmt.Sprint(life)))
		})
	}
	changes, err := History(dir)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	last := int64(0)
	for _, c := range changes {
		if c.Path != "" {
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Op, c.Path, c.Data)))
		}
		if c.Session == 0 || c.Ephemeral != (c.Op == "create" && c.Path == "/e") {
			t.Errorf("%+v", c)
		}
		if c.Zxid < last || c.At.IsZero() {
			t.Errorf("%+v after zxid %#x", c, last)
		}
		last = c.Zxid
	}
	if got, want := strings.Join(told, "; "), "create /a x; check /a; create /e; setData /a 0; setData /a 1"; got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
}

// Expire ends a session at once, with its ephemerals and its connection.
func TestExpire(t *testing.T) {
	bubbled(t, Config{}, func(t *testing.T, s *Server, network link.Network, events *diary) {
		c := joinOver(t, network, s.Addr(), connectRequest{timeout: 40000})
		c.must(createAs("/e", 1))
		if !s.Expire(c.id) || s.Expire(c.id) {
			t.Error("it was to be found once")
		}
		synctest.Wait()
		if events.count(journal.SessionExpired) != 1 || s.tree.nodes["/e"] != nil || !c.closed() {
			t.Error("the session, its node or its connection is still there")
		}
	})
}
