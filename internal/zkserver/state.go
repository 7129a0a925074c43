package zkserver

import "slices"

// mutation is one change, resolved: it says what becomes of the state, not under which
// conditions. It is what the log holds; the live server and recovery both apply it here.
type mutation struct {
	op   opCode // create, delete, setData, setACL, createSession, closeSession; check changes nothing
	path string
	data []byte
	acl  []acl
	kind nodeKind

	// Of a node its owner (see node.owner); of createSession and closeSession the session.
	owner    int64
	version  int32 // check: the one that was demanded
	timeout  int32 // createSession: ms
	password []byte
}

// state is all that survives a restart.
type state struct {
	tree     *tree
	sessions map[int64]*session
	// perishable are the containers and the nodes with a time to live.
	perishable map[string]struct{}
	// zxid is the last one given away; logged, the last one that is in the log. Failed
	// writes use up a zxid and are not logged, so logged <= zxid.
	zxid, logged int64
	// lastSession is the highest id that a session ever had, so that none is given twice.
	lastSession int64
}

func newState() *state {
	return &state{tree: newTree(), sessions: map[int64]*session{}, perishable: map[string]struct{}{}}
}

// apply makes a change that was found possible. It returns the node that was made,
// changed or removed, if any, and how to take the change back; closeSession, which ends
// a write of its own, cannot be taken back.
func (st *state) apply(m mutation, zxid, time int64) (n *node, undo func()) {
	switch m.op {
	case opCreate:
		n := &node{data: m.data, acl: m.acl, czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: time, mtime: time, kind: m.kind, owner: m.owner}
		unadd := st.tree.add(m.path, n, zxid)
		st.noteKind(m.path, n)
		return n, func() { unadd(); st.forgetKind(m.path, n) }
	case opDelete:
		n := st.tree.nodes[m.path]
		unremove := st.tree.remove(m.path, zxid)
		st.forgetKind(m.path, n)
		return n, func() { unremove(); st.noteKind(m.path, n) }
	case opSetData:
		n := st.tree.nodes[m.path]
		data, version, mzxid, mtime := n.data, n.version, n.mzxid, n.mtime
		grown := int64(len(m.data) - len(n.data))
		st.tree.bytes += grown
		n.data, n.version, n.mzxid, n.mtime = m.data, version+1, zxid, time
		return n, func() {
			st.tree.bytes -= grown
			n.data, n.version, n.mzxid, n.mtime = data, version, mzxid, mtime
		}
	case opSetACL:
		n := st.tree.nodes[m.path]
		list := n.acl
		n.acl = m.acl
		n.aversion++
		return n, func() { n.acl = list; n.aversion-- }
	case opCreateSession:
		st.lastSession = max(st.lastSession, m.owner)
		st.sessions[m.owner] = newSession(m.owner, m.timeout, m.password)
		return nil, func() { delete(st.sessions, m.owner) }
	case opCloseSession:
		delete(st.sessions, m.owner)
	}
	return nil, func() {}
}

// noteKind enters a node where the end of its life is looked for.
func (st *state) noteKind(path string, n *node) {
	switch n.kind {
	case ephemeral:
		if s := st.sessions[n.owner]; s != nil {
			s.ephemerals[path] = struct{}{}
		}
	case container, timeToLive:
		st.perishable[path] = struct{}{}
	}
}

func (st *state) forgetKind(path string, n *node) {
	switch n.kind {
	case ephemeral:
		if s := st.sessions[n.owner]; s != nil {
			delete(s.ephemerals, path)
		}
	case container, timeToLive:
		delete(st.perishable, path)
	}
}

// nextEpoch raises the zxid's upper half, as an election does. A client may have seen the
// zxid of a failed write, or with NoFsync that of one that was lost: all zxids from now
// on are above those, so that the client is not taken for one of another server.
func (st *state) nextEpoch() { st.zxid = (st.zxid>>32 + 1) << 32 }

// applicable says what is wrong with a mutation that a log wants applied. The live
// server asks in its own way, with the codes that clients get (write.go).
func (st *state) applicable(m mutation) string {
	switch m.op {
	case opCreate:
		if !validPath(m.path) || m.path == "/" {
			return "creates an impossible path"
		}
		if dir, _ := splitPath(m.path); st.tree.nodes[m.path] != nil || st.tree.nodes[dir] == nil {
			return "creates a node that is there, or below one that is not"
		}
		if m.kind < persistent || m.kind > timeToLive {
			return "creates a node of unknown kind"
		}
	case opDelete:
		if n := st.tree.nodes[m.path]; n == nil || len(n.children) > 0 || undeletable(m.path) || m.path == "" {
			return "deletes a node that cannot be deleted"
		}
	case opSetData, opSetACL:
		if st.tree.nodes[m.path] == nil {
			return "changes a node that is not there"
		}
	case opCheck: // it held then; what came before it in the same multi has been applied
	case opCreateSession, opCloseSession:
		if (st.sessions[m.owner] != nil) != (m.op == opCloseSession) {
			return "opens a session twice, or closes one that is not open"
		}
	default:
		return "is of unknown kind"
	}
	return ""
}

// sortedSessions are the sessions by id, for output that should not depend on a map.
func (st *state) sortedSessions() []*session {
	list := make([]*session, 0, len(st.sessions))
	for _, s := range st.sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *session) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return list
}
