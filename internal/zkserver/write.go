package zkserver

// The writes. Each looks at its conditions in the order of PrepRequestProcessor, because
// the first one that fails is the client's answer, and changes nothing until all hold.

// write does one write and appends its answer's body to out.
func (s *Server) write(t *txn, c *conn, o operation, out *encoder, inMulti bool) code {
	switch o := o.(type) {
	case createOp:
		path, n, e := s.create(t, c, o)
		if e != ok {
			return e
		}
		out.string(path)
		if o.op == opCreateContainer || o.op == opCreateTTL || o.op == opCreate2 && !inMulti {
			out.stat(n.stat())
		}
	case deleteOp:
		return s.delete(t, c, o)
	case setDataOp:
		if _, e := s.lookup(c, o.path, permWrite, o.version); e != ok {
			return e
		}
		out.stat(s.do(t, mutation{op: opSetData, path: o.path, data: o.data}).stat())
	case checkOp:
		if _, e := s.lookup(c, o.path, permRead, o.version); e != ok {
			return e
		}
		s.do(t, mutation{op: opCheck, path: o.path, version: o.version})
	case setACLOp:
		return s.setACL(t, c, o, out)
	}
	return ok
}

// Flags of a create.
const (
	flagEphemeral           = 1
	flagSequential          = 2
	flagEphemeralSequential = 3
	flagContainer           = 4
	flagTTL                 = 5
	flagTTLSequential       = 6
)

// longestTTL is what fits beside the marker in ZooKeeper's own owner field.
const longestTTL = 1<<40 - 1

// Ref: ZooKeeper 3.8 PrepRequestProcessor.pRequest2TxnCreate
func (s *Server) create(t *txn, c *conn, o createOp) (string, *node, code) {
	if o.flags < 0 || o.flags > flagTTLSequential {
		return "", nil, badArguments
	}
	hasTTL := o.flags == flagTTL || o.flags == flagTTLSequential
	switch {
	case hasTTL && !s.cfg.ExtendedTypes:
		return "", nil, unimplemented
	case hasTTL && (o.ttl <= 0 || o.ttl > longestTTL), !hasTTL && o.ttl >= 0, !hasParent(o.path):
		return "", nil, badArguments
	}
	list, e := normalACL(o.acl, c.identities)
	if e != ok {
		return "", nil, e
	}
	dir, _ := splitPath(o.path)
	parent := s.tree.nodes[dir]
	if parent == nil {
		return "", nil, noNode
	}
	if !allows(parent.acl, permCreate, c.identities) {
		return "", nil, noAuth
	}
	path := o.path
	switch o.flags {
	case flagSequential, flagEphemeralSequential, flagTTLSequential:
		path = sequenceName(path, parent.creates)
	}
	switch {
	case !validPath(path):
		return "", nil, badArguments
	case s.tree.nodes[path] != nil:
		return "", nil, nodeExists
	case parent.kind == ephemeral:
		return "", nil, noChildrenForEphemerals
	}
	m := mutation{op: opCreate, path: path, data: o.data, acl: list}
	switch {
	case o.op == opCreateContainer, o.flags == flagContainer:
		m.kind = container
	case hasTTL:
		m.kind, m.owner = timeToLive, o.ttl
	case o.flags == flagEphemeral, o.flags == flagEphemeralSequential:
		m.kind, m.owner = ephemeral, c.sessionID()
	}
	return path, s.do(t, m), ok
}

// Ref: ZooKeeper 3.8 PrepRequestProcessor.pRequest2Txn, case delete
func (s *Server) delete(t *txn, c *conn, o deleteOp) code {
	if !hasParent(o.path) || undeletable(o.path) {
		return badArguments
	}
	dir, _ := splitPath(o.path)
	parent, n := s.tree.nodes[dir], s.tree.nodes[o.path]
	switch {
	case parent == nil:
		return noNode
	case !allows(parent.acl, permDelete, c.identities): // of the parent, not of the node
		return noAuth
	case n == nil:
		return noNode
	case o.version != anyVersion && o.version != n.version:
		return badVersion
	case len(n.children) > 0:
		return notEmpty
	}
	s.do(t, mutation{op: opDelete, path: o.path})
	return ok
}

// lookup finds a node that the client may use, at the version it demands.
func (s *Server) lookup(c *conn, path string, perm, version int32) (*node, code) {
	if !validPath(path) {
		return nil, badArguments
	}
	n := s.tree.nodes[path]
	switch {
	case n == nil:
		return nil, noNode
	case !allows(n.acl, perm, c.identities):
		return nil, noAuth
	case version != anyVersion && version != n.version:
		return nil, badVersion
	}
	return n, ok
}

// Ref: ZooKeeper 3.8 PrepRequestProcessor.pRequest2Txn, case setACL
func (s *Server) setACL(t *txn, c *conn, o setACLOp, out *encoder) code {
	if !validPath(o.path) {
		return badArguments
	}
	list, e := normalACL(o.acl, c.identities)
	if e != ok {
		return e
	}
	n, e := s.lookup(c, o.path, permAdmin, anyVersion)
	switch {
	case e != ok:
		return e
	case o.version != anyVersion && o.version != n.aversion:
		return badVersion
	}
	out.stat(s.do(t, mutation{op: opSetACL, path: o.path, acl: list}).stat())
	return ok
}

// multi does all of its operations under one zxid, or none. Its own result is ok either
// way; what failed stands in the list.
func (s *Server) multi(t *txn, c *conn, ops []operation, out *encoder) (failed operation, e code) {
	for i, o := range ops {
		multiHeader(out, answerType(o), ok)
		if e := s.write(t, c, o, out, true); e != ok {
			s.rollback(t)
			out.b = out.b[:0]
			multiFailure(out, len(ops), i, e)
			return o, e
		}
	}
	multiEnd(out)
	return nil, ok
}

// multiFailure lists a result for every operation: 0 before the one that failed, which
// Kafka reads as "not its fault", and RUNTIMEINCONSISTENCY after it.
func multiFailure(out *encoder, n, failed int, e code) {
	for i := range n {
		result := ok
		switch {
		case i == failed:
			result = e
		case i > failed:
			result = runtimeInconsistency
		}
		multiError(out, result)
	}
	multiEnd(out)
}

func multiHeader(out *encoder, op opCode, e code) {
	out.int(int32(op))
	out.bool(false)
	out.int(int32(e))
}

func multiError(out *encoder, e code) {
	multiHeader(out, opError, e)
	out.int(int32(e))
}

func multiEnd(out *encoder) {
	out.int(int32(opError))
	out.bool(true)
	out.int(-1)
}

// answerType is how a multi's answer names what was done: with a stat or without.
func answerType(o operation) opCode {
	switch op := o.code(); op {
	case opCreateContainer, opCreateTTL:
		return opCreate2
	case opCreate2:
		return opCreate
	default:
		return op
	}
}
