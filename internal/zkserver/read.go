package zkserver

import (
	"maps"
	"slices"
	"strings"
)

// The reads. They see the state after all writes before them; a watch that comes with a
// read is armed by it.

// read answers one read into out.
func (s *Server) read(c *conn, o operation, out *encoder) code {
	switch o := o.(type) {
	case readOp:
		return s.readNode(c, o, out)
	case pathOp:
		return s.readPath(c, o, out)
	case multiOp:
		s.multiRead(c, o.ops, out)
	case setWatchesOp:
		s.setWatches(c, o)
	case watchOp:
		if o.op != opAddWatch {
			return s.removeWatches(c, o)
		}
		mode := watchAlways
		if o.mode == 1 {
			mode = watchBelow
		}
		s.watchAll(o.path, c, mode)
		out.int(0)
	case bareOp: // whoAmI
		out.int(int32(len(c.identities)))
		for _, id := range c.identities {
			user, _, _ := strings.Cut(id.id, ":")
			out.string(id.scheme)
			out.string(user)
		}
	}
	return ok
}

// readNode is exists, getData and getChildren.
func (s *Server) readNode(c *conn, o readOp, out *encoder) code {
	if o.op == opExists { // needs no permission, and arms its watch also on nothing
		if strings.IndexByte(o.path, 0) >= 0 {
			return badArguments
		}
		if o.watch {
			s.dataWatches.add(o.path, c, watchOnce)
		}
		n := s.tree.nodes[o.path]
		if n == nil {
			return noNode
		}
		out.stat(n.stat())
		return ok
	}
	n, e := s.readable(c, o.path, permRead)
	if e != ok {
		return e
	}
	switch o.op {
	case opGetData:
		if o.watch {
			s.dataWatches.add(o.path, c, watchOnce)
		}
		out.buffer(n.data)
		out.stat(n.stat())
	case opGetChildren, opGetChildren2:
		if o.watch {
			s.childWatches.add(o.path, c, watchOnce)
		}
		out.strings(n.names())
		if o.op == opGetChildren2 {
			out.stat(n.stat())
		}
	}
	return ok
}

// readable finds a node of which the client has one of the permissions. Unlike writes,
// reads do not look at the form of a path: what is not there is not there.
func (s *Server) readable(c *conn, path string, perm int32) (*node, code) {
	n := s.tree.nodes[path]
	switch {
	case n == nil:
		return nil, noNode
	case !allows(n.acl, perm, c.identities):
		return nil, noAuth
	}
	return n, ok
}

func (s *Server) readPath(c *conn, o pathOp, out *encoder) code {
	switch o.op {
	case opSync: // one process has nothing to catch up with
		out.string(o.path)
	case opGetACL:
		n, e := s.readable(c, o.path, permRead|permAdmin)
		if e != ok {
			return e
		}
		list := n.acl
		if !allows(list, permAdmin, c.identities) {
			list = withoutHashes(list)
		}
		out.acls(list)
		out.stat(n.stat())
	case opGetAllChildrenNumber:
		if _, e := s.readable(c, o.path, permRead); e != ok {
			return e
		}
		out.int(s.descendants(o.path))
	case opGetEphemerals:
		prefix := o.path
		all := strings.TrimSpace(prefix) == "" || strings.TrimSpace(prefix) == "/"
		list := []string{}
		for _, path := range slices.Sorted(maps.Keys(c.session.ephemerals)) {
			if all || strings.HasPrefix(path, prefix) {
				list = append(list, path)
			}
		}
		out.strings(list)
	}
	return ok
}

// descendants counts the nodes below a path. It looks at all nodes, as the real one does.
func (s *Server) descendants(path string) int32 {
	if path == "/" || path == "" {
		return int32(len(s.tree.nodes) - 2) // without "/" and ""
	}
	n := int32(0)
	for p := range s.tree.nodes {
		if strings.HasPrefix(p, path+"/") {
			n++
		}
	}
	return n
}

// multiRead answers each of its reads, also when others fail. Their watch flags mean
// nothing; the real server ignores them, too.
func (s *Server) multiRead(c *conn, ops []operation, out *encoder) {
	for _, o := range ops {
		r := o.(readOp)
		r.watch = false
		var one encoder
		if e := s.readNode(c, r, &one); e != ok {
			multiError(out, e)
			continue
		}
		multiHeader(out, r.op, ok)
		out.b = append(out.b, one.b...)
	}
	multiEnd(out)
}
