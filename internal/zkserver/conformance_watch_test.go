package zkserver

import (
	"errors"
	"io"
	"slices"

	"kz/internal/link"
)

// The second half of the table of scenes: watches, access, connections.

// Ref: ZooKeeper 3.8 WatchManager, DataTree.processTxn
func playWatches(n *narrator, root string) {
	w := root + "/w"
	n.all(0, create(w, ""), watching(get(w)), watching(list(w)), watching(exists(root+"/x")), watching(get(root+"/none")), watching(list(root+"/none")))
	n.all(1, set(w, "1"), set(w, "2"), create(w+"/kid", ""), create(w+"/kid2", ""), create(root+"/x", ""), create(root+"/none", ""), remove(root+"/none"))
	n.all(0, watching(exists(root+"/x")), watching(exists(root+"/x")))
	n.all(1, setACLOp{root + "/x", openACL, anyVersion}, create(root+"/x/kid", ""), remove(root+"/x/kid"), set(root+"/x", "v"))
	n.all(0, watching(list(w)))
	n.all(1, set(w+"/kid", ""), create(w+"/kid/grand", ""), remove(w+"/kid/grand"), remove(w+"/kid"))
	// Watched in two ways: one NodeDeleted. Watched for children only: one, too.
	n.all(1, create(w+"/z", ""), create(w+"/zz", ""))
	n.all(0, watching(get(w+"/z")), watching(list(w+"/z")), watching(list(w)), watching(list(w+"/zz")))
	n.all(1, remove(w+"/z"), remove(w+"/zz"), set(w, ""))
}

func playEventOrder(n *narrator, root string) {
	a := root + "/a"
	n.all(1, create(a, ""), watching(get(a)), set(a, "mine"))
	n.all(0, watching(exists(root+"/m")), watching(list(root)), watching(get(a)))
	n.all(1, multi(create(root+"/m", ""), set(a, "x"), remove(root+"/m"), create(root+"/m2", "")))
	n.all(0, watching(list(root)), watching(get(a)))
	n.all(1, multi(set(a, "y"), create(root+"/m", ""), remove(root+"/none")), multi(set(a, "z")))
	n.all(1, createAs(root+"/own", 1), watching(get(root+"/own")), bareOp{opCloseSession})
}

// Only on paths without standard watches: 3.8.0 lets one replace the other (ZOOKEEPER-4466).
func playPersistentWatches(n *narrator, root string) {
	p, r := root+"/p", root+"/r"
	n.all(0, watchOp{opAddWatch, p, 0}, watchOp{opAddWatch, r, 1}, watchOp{opAddWatch, root + "/x", 2})
	for range 2 {
		n.all(1, create(p, ""), set(p, "1"), create(p+"/kid", ""), set(p+"/kid", ""), remove(p+"/kid"), remove(p),
			create(r, ""), set(r, "1"), create(r+"/kid", ""), create(r+"/kid/grand", ""), set(r+"/kid/grand", ""), remove(r+"/kid/grand"), remove(r+"/kid"), remove(r))
	}
	n.all(0, watchOp{opRemoveWatches, p, 3}, watchOp{opRemoveWatches, r, 3}, watchOp{opRemoveWatches, r, 3})
	n.all(1, create(p, ""), create(r, ""), create(r+"/kid", ""))
}

func playRemoveWatches(n *narrator, root string) {
	n.all(0, watchOp{opRemoveWatches, root, 3}, watchOp{opCheckWatches, root, 1}, watchOp{opRemoveWatches, root, 0}, watchOp{opRemoveWatches, root, 4},
		watching(get(root)), watchOp{opCheckWatches, root, 2}, watchOp{opRemoveWatches, root, 1}, watchOp{opRemoveWatches, root, 2}, watchOp{opRemoveWatches, root, 2},
		watching(list(root)), watching(get(root)), watchOp{opRemoveWatches, root, 1})
	n.all(1, create(root+"/a", ""), set(root, "x"), set(root, "y"))
	n.all(0, watching(list(root)), watching(get(root)), watchOp{opRemoveWatches, root, 3})
	n.all(1, create(root+"/b", ""), set(root, "z"))
}

// Ref: ZooKeeper 3.8 DataTree.setWatches
func playSetWatches(n *narrator, root string) {
	n.all(1, create(root+"/same", ""), create(root+"/set", ""), create(root+"/kids", ""), create(root+"/gone", ""))
	since := n.sessions[1].lastZxid
	n.all(1, set(root+"/set", "1"), create(root+"/kids/a", ""), remove(root+"/gone"), create(root+"/new", ""))
	paths := func(names ...string) []string {
		for i, name := range names {
			names[i] = root + "/" + name
		}
		return names
	}
	n.all(0, setWatchesOp{op: opSetWatches, since: since, data: paths("same", "set", "gone"), exist: paths("new", "never"), child: paths("same", "kids", "gone")})
	n.all(1, set(root+"/same", "2"), create(root+"/same/kid", ""), create(root+"/never", ""), set(root+"/set", "3"))
	now := n.sessions[1].lastZxid
	n.all(0, setWatchesOp{op: opSetWatches2, since: now, persistent: paths("pers"), persistentRecurs: paths("kids")})
	n.all(1, create(root+"/pers", ""), set(root+"/pers", ""), set(root+"/kids/a", ""), create(root+"/kids/b", ""))
}

func playACL(n *narrator, root string) {
	a, b := root+"/a", root+"/b"
	alice := acl{permAll, "digest", digest("alice", []byte("alice:secret"))}
	n.all(0, authOp{"digest", []byte("alice:secret")}, authOp{"digest", []byte("bob:x")}, authOp{"digest", []byte("alice:secret")}, authOp{"ip", nil}, bareOp{opWhoAmI},
		createOp{opCreate, a, []byte("x"), []acl{{permAll, "auth", ""}}, 0, -1}, pathOp{opGetACL, a},
		createOp{opCreate, b, nil, []acl{alice, {permRead, "world", "anyone"}, alice}, 0, -1}, pathOp{opGetACL, b})
	n.all(1, get(a), exists(a), list(a), set(a, "y"), setDataOp{a, nil, 9}, create(a+"/kid", ""), setACLOp{a, openACL, anyVersion}, multi(checkOp{a, 0}), pathOp{opGetAllChildrenNumber, a}, pathOp{opGetACL, a},
		deleteOp{a, 9}, get(b), set(b, "y"), pathOp{opGetACL, b}, bareOp{opWhoAmI})
	for _, list := range [][]acl{{{permAll, "ip", "127.0.0.1"}}, {{permAll, "ip", "127.0.0.0/8"}}, {{permRead, "ip", "10.1.0.0/16"}}, {{permAll, "ip", "nonsense"}},
		{{permAll, "digest", "no-hash"}}, {{permAll, "digest", "a:b:c"}}, {{permAll, "world", "somebody"}}, {{permAll, "x509", "cn"}}, {{0, "world", "anyone"}}, {{64, "world", "anyone"}}} {
		n.all(0, setACLOp{b, list, anyVersion})
		n.all(1, set(b, "z"), get(b))
		n.all(0, pathOp{opGetACL, b}, setACLOp{b, openACL, anyVersion})
	}
	n.all(1, authOp{"digest", []byte("no-colon")}, bareOp{opWhoAmI}, authOp{"world", []byte("anyone")})
	n.all(2, authOp{"nonsense", nil})
}

// CVE-2024-23944: who may not read a node is not told of it; its watch is used up.
func playFilteredEvents(n *narrator, root string) {
	mine := []acl{{permAll, "auth", ""}}
	a := root + "/a"
	n.all(0, authOp{"digest", []byte("u:p")}, create(a, ""), create(a+"/kid", ""))
	n.all(1, watching(exists(a)), watching(list(a)), watching(exists(a+"/kid")))
	n.all(0, setACLOp{a, mine, anyVersion}, set(a, "x"), create(a+"/kid2", ""), set(a+"/kid", "x"), setACLOp{a, openACL, anyVersion}, set(a, "y"), create(a+"/kid3", ""))
	n.all(1, watching(exists(root+"/later")), watching(list(root)))
	n.all(0, createOp{opCreate, root + "/later", nil, mine, 0, -1}, remove(root+"/later"))
}

func playOtherReads(n *narrator, root string) {
	n.all(0, create(root+"/a", ""), create(root+"/a/b", ""), create(root+"/a/b/c", ""), create(root+"/ab", ""), pathOp{opGetAllChildrenNumber, root + "/a"}, pathOp{opGetAllChildrenNumber, root},
		pathOp{opSync, root}, pathOp{opSync, "/anything"}, pathOp{opSync, ""}, readOp{op: opGetChildren, path: root}, bareOp{opWhoAmI}, exists(root+"\x00"), get(root+"\x00"))
}

// raw sends a body as it is.
func (n *narrator) raw(who int, op opCode, body []byte) {
	c := n.sessions[who]
	_, p, err := c.await(c.send(op, body))
	if err != nil {
		n.sayf("s%d %v %x -> the connection ends", who, op, body)
		n.tellAll(false)
		return
	}
	n.sayf("s%d %v %x -> %v %s", who, op, body, p.err, n.zxid(p.zxid))
	n.tellAll(false)
}

func playMalformed(n *narrator, root string) {
	nullPath := encoder{}
	nullPath.int(-1)
	nullPath.bool(false)
	huge := encoder{}
	huge.string(root)
	huge.int(1 << 30)
	for _, op := range []opCode{opCreate, opCreate2, opDelete, opExists, opGetData, opSetData, opGetACL, opSetACL, opGetChildren, opGetChildren2, opSync, opCheck, opMulti, opMultiRead,
		opCreateContainer, opSetWatches, opGetAllChildrenNumber, opAddWatch, opRemoveWatches, opCheckWatches, opReconfig} {
		n.raw(0, op, nil)
		n.raw(0, op, nullPath.b)
		n.raw(0, op, huge.b)
	}
	n.raw(0, opExists, append(encodeOperation(exists(root))[:4+len(root)], 0, 1, 2, 3)) // more than there should be
	n.do(0, exists(root))
}

func playReconnect(n *narrator, root string) {
	e := root + "/e"
	n.all(0, createAs(e, 1), watching(get(root)), watching(exists(root+"/x")), authOp{"digest", []byte("u:p")})
	n.reconnect(0)
	n.all(1, set(root, "1"), create(root+"/x", ""), exists(e))
	n.all(0, bareOp{opWhoAmI}, pathOp{opGetEphemerals, "/"}, watching(get(root)))
	n.reconnect(1)
	n.all(1, set(root, "2"))
}

func playFatal(n *narrator, root string) {
	n.all(0, createAs(root+"/e", 1), watching(get(root)))
	session, password := n.sessions[0].id, slices.Clone(n.sessions[0].password)
	n.raw(0, 99, nil)
	c := join(n.t, n.addr, connectRequest{timeout: 30000, session: session, password: password})
	n.sayf("the session goes on: %v", c.id == session)
	c.net.Close()
	n.all(1, exists(root+"/e"))
}

// Ref: ZooKeeper 3.8 ZooKeeperServer.processConnectRequest
func playHandshakes(n *narrator, _ string) {
	try := func(what string, r connectRequest) *client {
		c, err := tryJoin(n.t, link.TCP{}, n.addr, r)
		if errors.Is(err, io.EOF) {
			n.sayf("%s: closed without a byte", what)
			return c
		}
		n.sayf("%s: session %v, timeout %d, password of %d, flag %x, %v", what, c.id != 0, c.timeout, len(c.password), c.rest, err)
		return c
	}
	for _, timeout := range []int32{-5, 0, 1, 999, 1000, 1001, 30000, 60000, 60001, 1 << 30} {
		c := try("a timeout", connectRequest{timeout: timeout})
		n.sayf("   of %d", timeout)
		c.await(c.send(opCloseSession, nil))
	}
	try("with the flag", connectRequest{timeout: 5000, withFlag: true})
	try("a long password for a new session", connectRequest{timeout: 5000, password: make([]byte, 40)})
	try("ahead of the server", connectRequest{timeout: 5000, lastZxid: n.sessions[0].lastZxid + 1000000})
	try("a session that never was", connectRequest{timeout: 5000, session: 4711, password: make([]byte, 16), withFlag: true})
	owner := try("a new one", connectRequest{timeout: 5000})
	again := try("it again, with another timeout", connectRequest{timeout: 7000, session: owner.id, password: owner.password})
	n.sayf("   the same: %v; the first connection is closed: %v", again.id == owner.id && slices.Equal(again.password, owner.password), owner.closed())
	_, p, err := again.await(again.send(opCloseSession, nil))
	n.sayf("closing it: %v %v; then %v", p.err, err, again.closed())
	closed := try("a closed session", connectRequest{timeout: 5000, session: owner.id, password: owner.password})
	n.sayf("   and then %v", closed.closed())
}
