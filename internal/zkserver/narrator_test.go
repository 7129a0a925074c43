package zkserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// narrator does operations on one server, in several sessions, and writes down what came
// of each, in words that do not depend on the server: zxids count from the beginning,
// owners are session numbers, times are relations, children are sorted. Two servers that
// behave alike get the same story.
type narrator struct {
	t        testing.TB
	addr     string
	sessions []*client
	base     int64 // the last zxid before the story
	story    strings.Builder
}

// narrate opens sessions on the server at addr. Nobody else may write to it meanwhile.
func narrate(t testing.TB, addr string, sessions int) *narrator {
	n := &narrator{t: t, addr: addr}
	for range sessions {
		n.sessions = append(n.sessions, join(t, addr, connectRequest{timeout: 30000, withFlag: true}))
	}
	n.base = n.sessions[0].call(readOp{op: opExists, path: "/"}).zxid
	return n
}

func (n *narrator) end() {
	for _, c := range n.sessions {
		c.await(c.send(opCloseSession, nil))
		c.net.Close()
	}
}

func (n *narrator) sayf(format string, args ...any) { fmt.Fprintf(&n.story, format+"\n", args...) }

// do tells one operation of session who, and the events that every session got of it.
func (n *narrator) do(who int, o operation) {
	c := n.sessions[who]
	events, p, err := c.await(c.send(o.code(), encodeOperation(o)))
	line := fmt.Sprintf("s%d %s -> ", who, describe(o))
	if err != nil {
		n.sayf("%sthe connection ends", line)
		return
	}
	line += fmt.Sprintf("%v %s", p.err, n.zxid(p.zxid))
	if body := n.body(o, p); body != "" {
		line += " " + body
	}
	n.sayf("%s", line)
	if o.code() == opCloseSession {
		slices.Sort(events) // the order of ephemerals is that of a hash table
	}
	n.tell(who, "before it", events)
	n.tellAll(o.code() == opCloseSession)
}

func (n *narrator) tell(who int, when string, events []string) {
	for _, e := range events {
		n.sayf("   s%d %s: %s", who, when, e)
	}
}

func (n *narrator) tellAll(anyOrder bool) {
	for i, c := range n.sessions {
		events, err := c.events()
		if anyOrder {
			slices.Sort(events)
		}
		n.tell(i, "sees", events)
		if err != nil {
			n.sayf("   s%d is closed", i)
			n.sessions[i] = join(n.t, n.addr, connectRequest{timeout: 30000, withFlag: true})
			n.sessions[i].lastZxid = c.lastZxid
		}
	}
}

// reconnect gives session who another connection.
func (n *narrator) reconnect(who int) {
	old := n.sessions[who]
	c := join(n.t, n.addr, connectRequest{timeout: 30000, session: old.id, password: old.password, withFlag: true})
	if c.id != old.id {
		n.sayf("s%d has another session", who)
	}
	c.xid, c.lastZxid = old.xid, old.lastZxid
	n.sessions[who] = c
	old.net.Close()
	n.sayf("s%d reconnects", who)
	n.tellAll(false)
}

func (n *narrator) zxid(z int64) string {
	if z <= 0 {
		return fmt.Sprint("z", z)
	}
	return fmt.Sprintf("z%+d", z-n.base)
}

func (n *narrator) owner(id int64) string {
	for i, c := range n.sessions {
		if c.id == id {
			return fmt.Sprint("s", i)
		}
	}
	return "?"
}

func (n *narrator) stat(s stat) string {
	at := func(z int64) string { // a node may be older than the story
		if z <= n.base {
			return "old"
		}
		return fmt.Sprint(z - n.base)
	}
	owner := ""
	if s.ephemeralOwner != 0 {
		owner = " of " + n.owner(s.ephemeralOwner)
	}
	times := ""
	if s.mtime < s.ctime || s.mzxid == s.czxid && s.mtime != s.ctime {
		times = " strange times"
	}
	return fmt.Sprintf("{c%s m%s p%s v%d cv%d av%d len%d kids%d%s%s}", at(s.czxid), at(s.mzxid), at(s.pzxid),
		s.version, s.cversion, s.aversion, s.dataLength, s.numChildren, owner, times)
}

// body tells an answer's body.
func (n *narrator) body(o operation, p packet) string {
	if p.err != ok {
		if len(p.body) > 0 {
			return fmt.Sprintf("with a body %x", p.body)
		}
		return ""
	}
	d := &decoder{b: p.body}
	var text string
	switch o := o.(type) {
	case multiOp:
		text = n.results(d)
	case watchOp:
		if o.op == opAddWatch {
			d.int()
		}
	default:
		text = n.result(d, o.code())
	}
	if d.bad || len(d.b) > 0 {
		text += fmt.Sprintf(" LEFT %x %v", d.b, d.bad)
	}
	return text
}

func (n *narrator) result(d *decoder, op opCode) string {
	switch op {
	case opCreate, opSync:
		return d.string()
	case opCreate2, opCreateContainer, opCreateTTL:
		return d.string() + " " + n.stat(decodeStat(d))
	case opExists, opSetData, opSetACL:
		return n.stat(decodeStat(d))
	case opGetData:
		b := d.buffer()
		if b == nil {
			return "null " + n.stat(decodeStat(d))
		}
		return fmt.Sprintf("%q %s", b, n.stat(decodeStat(d)))
	case opGetChildren, opGetEphemerals:
		return fmt.Sprint(sorted(d.strings()))
	case opGetChildren2:
		return fmt.Sprint(sorted(d.strings())) + " " + n.stat(decodeStat(d))
	case opGetACL:
		list := d.acls()
		slices.SortFunc(list, func(a, b acl) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return fmt.Sprint(list) + " " + n.stat(decodeStat(d))
	case opGetAllChildrenNumber:
		return fmt.Sprint(d.int())
	case opWhoAmI:
		var list []string
		for range d.count(8) {
			list = append(list, d.string()+":"+d.string())
		}
		return fmt.Sprint(sorted(list))
	}
	return ""
}

// results tells what a multi answers, to the last marker.
func (n *narrator) results(d *decoder) string {
	var parts []string
	for !d.bad {
		op, done, e := opCode(d.int()), d.bool(), code(d.int())
		switch {
		case done:
			if op != opError || e != -1 {
				parts = append(parts, fmt.Sprintf("end marked %d %d", op, e))
			}
			return "[" + strings.Join(parts, "; ") + "]"
		case op == opError:
			inner := code(d.int())
			parts = append(parts, e.String())
			if inner != e {
				parts = append(parts, fmt.Sprint("but ", inner))
			}
		default:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", op, n.result(d, op))))
		}
	}
	return "[" + strings.Join(parts, "; ") + " UNFINISHED"
}

// describe is an operation in words.
func describe(o operation) string {
	switch o := o.(type) {
	case createOp:
		return fmt.Sprintf("%v %q flags %d%s", o.op, o.path, o.flags, describeACL(o.acl))
	case multiOp:
		var parts []string
		for _, sub := range o.ops {
			parts = append(parts, describe(sub))
		}
		return fmt.Sprintf("%v(%s)", o.op, strings.Join(parts, "; "))
	case setDataOp:
		return fmt.Sprintf("setData %q %q v%d", o.path, o.data, o.version)
	case setACLOp:
		return fmt.Sprintf("setACL %q v%d%s", o.path, o.version, describeACL(o.acl))
	case deleteOp:
		return fmt.Sprintf("delete %q v%d", o.path, o.version)
	case checkOp:
		return fmt.Sprintf("check %q v%d", o.path, o.version)
	case readOp:
		if o.watch {
			return fmt.Sprintf("%v %q and watch", o.op, o.path)
		}
		return fmt.Sprintf("%v %q", o.op, o.path)
	case pathOp:
		return fmt.Sprintf("%v %q", o.op, o.path)
	case watchOp:
		return fmt.Sprintf("%v %q %d", o.op, o.path, o.mode)
	case setWatchesOp:
		return fmt.Sprintf("%v data%q exist%q child%q", o.op, o.data, o.exist, o.child)
	case authOp:
		return fmt.Sprintf("auth %s %s", o.scheme, o.credential)
	}
	return o.code().String()
}

func describeACL(list []acl) string {
	if slices.Equal(list, openACL) {
		return ""
	}
	return fmt.Sprint(" acl ", list)
}

func sorted(v []string) []string { slices.Sort(v); return v }
