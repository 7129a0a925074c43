package zkserver

import (
	"slices"

	"kz/internal/journal"
)

// txn is one write while it is decided: a zxid, a time, and what it has changed so far.
// A multi that fails half-way takes all of it back.
type txn struct {
	zxid, time int64
	by         int64 // the session that asked; 0 is the server itself
	changes    []change
}

// change is one applied mutation with what watches, journal and undo need of it.
type change struct {
	mutation
	node   *node
	before int32 // the node's version before; -1: it was not there
	after  int32 // the same after; -1: it is gone
	undo   func()
}

// begin takes the next zxid. A write that fails has used it up.
func (s *Server) begin(by int64) *txn {
	s.zxid++
	return &txn{zxid: s.zxid, time: wallClock(), by: by}
}

// do changes the state at once: later operations of a multi see it.
func (s *Server) do(t *txn, m mutation) *node {
	before := version(s.tree.nodes[m.path])
	n, undo := s.apply(m, t.zxid, t.time)
	t.changes = append(t.changes, change{m, n, before, version(s.tree.nodes[m.path]), undo})
	return n
}

func version(n *node) int32 {
	if n == nil {
		return -1
	}
	return n.version
}

// rollback takes everything back, last change first.
func (s *Server) rollback(t *txn) {
	for i := len(t.changes) - 1; i >= 0; i-- {
		t.changes[i].undo()
	}
	t.changes = nil
}

// commit tells the watches, then the log. Nothing leaves the process before the log is
// on disk (flush).
func (s *Server) commit(t *txn) {
	s.noteCommit(t)
	for _, c := range t.changes {
		s.fire(c)
	}
	if t.changed() {
		s.logged = t.zxid
		s.log.append(t)
	}
}

// changed says whether there is anything to keep: checks alone leave no trace.
func (t *txn) changed() bool {
	return slices.ContainsFunc(t.changes, func(c change) bool { return c.op != opCheck })
}

// fire tells who watches what a change touched. The order is ZooKeeper's: the node, then
// its parent.
func (s *Server) fire(c change) {
	switch c.op {
	case opCreate:
		dir, _ := splitPath(c.path)
		s.tell(s.dataWatches, nodeCreated, c.path, c.node, nil)
		s.tell(s.childWatches, nodeChildrenChanged, orRoot(dir), s.tree.nodes[dir], nil)
	case opDelete:
		dir, _ := splitPath(c.path)
		told := s.tell(s.dataWatches, nodeDeleted, c.path, c.node, nil)
		s.tell(s.childWatches, nodeDeleted, c.path, c.node, told)
		s.tell(s.childWatches, nodeChildrenChanged, orRoot(dir), s.tree.nodes[dir], nil)
	case opSetData:
		s.tell(s.dataWatches, nodeDataChanged, c.path, c.node, nil)
	}
}

func orRoot(dir string) string {
	if dir == "" {
		return "/"
	}
	return dir
}

// noteCommit keeps the journal's events of a write until it is on disk.
func (s *Server) noteCommit(t *txn) {
	if !s.cfg.Journal.On() {
		return
	}
	for _, c := range t.changes {
		switch c.op {
		case opCreateSession, opCloseSession: // told by who opened or ended it
		case opCheck:
		default:
			s.note(journal.Event{Kind: journal.ZnodeWrite, Path: c.path, Session: sessionName(t.by), VersionBefore: c.before, VersionAfter: c.after,
				Zxid: t.zxid, Result: ok.String(), Text: c.op.String()})
		}
	}
}

// noteFailure is the journal's event of a write that was refused.
func (s *Server) noteFailure(t *txn, o operation, e code) {
	if !s.cfg.Journal.On() {
		return
	}
	path := pathOf(o)
	v := version(s.tree.nodes[path])
	s.note(journal.Event{Kind: journal.ZnodeWrite, Path: path, Session: sessionName(t.by), VersionBefore: v, VersionAfter: v,
		Zxid: t.zxid, Result: e.String(), Text: o.code().String()})
}

func pathOf(o operation) string {
	switch o := o.(type) {
	case createOp:
		return o.path
	case deleteOp:
		return o.path
	case setDataOp:
		return o.path
	case setACLOp:
		return o.path
	case checkOp:
		return o.path
	}
	return ""
}

// note keeps an event for the end of the batch: what the journal says is on disk.
func (s *Server) note(ev journal.Event) {
	ev.Source = "zookeeper"
	s.events = append(s.events, ev)
}

// emit tells the journal what the batch did. What happened under one zxid was caused by
// the first event of it: a session's end by the session, a watch by the write.
func (s *Server) emit() {
	var first int64
	for i, ev := range s.events {
		if i > 0 && ev.Zxid != 0 && ev.Zxid == s.events[i-1].Zxid {
			ev.Cause = first
		}
		seq := s.cfg.Journal.Emit(ev)
		if ev.Cause == 0 {
			first = seq
		}
	}
	clear(s.events)
	s.events = s.events[:0]
}
