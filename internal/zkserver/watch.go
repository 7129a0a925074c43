package zkserver

import (
	"cmp"
	"slices"

	"kz/internal/journal"
)

// eventType is what a watch reports, as on the wire.
type eventType int32

const (
	nodeCreated         eventType = 1
	nodeDeleted         eventType = 2
	nodeDataChanged     eventType = 3
	nodeChildrenChanged eventType = 4
)

var eventNames = map[eventType]string{nodeCreated: "NodeCreated", nodeDeleted: "NodeDeleted",
	nodeDataChanged: "NodeDataChanged", nodeChildrenChanged: "NodeChildrenChanged"}

// watchMode is how one connection watches one path. It may do so in several ways at once.
type watchMode uint8

const (
	watchOnce   watchMode = 1 << iota // a standard watch: its event uses it up
	watchAlways                       // persistent
	watchBelow                        // persistent and recursive: the path and all below it

	watchAnyMode = watchOnce | watchAlways | watchBelow
)

// watchTable is who watches what. There are two: one for a node's existence and data, one
// for its children. Mirrors WatchManager.
//
// Invariant: byPath and byConn hold the same pairs; no mode is 0.
type watchTable struct {
	byPath map[string]map[*conn]watchMode
	byConn map[*conn]map[string]struct{}
	below  int // how many pairs are recursive: without any, no parent needs to be looked at
}

func newWatchTable() *watchTable {
	return &watchTable{byPath: map[string]map[*conn]watchMode{}, byConn: map[*conn]map[string]struct{}{}}
}

func (w *watchTable) add(path string, c *conn, mode watchMode) {
	watchers := w.byPath[path]
	if watchers == nil {
		watchers = map[*conn]watchMode{}
		w.byPath[path] = watchers
	}
	if mode&watchBelow != 0 && watchers[c]&watchBelow == 0 {
		w.below++
	}
	watchers[c] |= mode
	paths := w.byConn[c]
	if paths == nil {
		paths = map[string]struct{}{}
		w.byConn[c] = paths
	}
	paths[path] = struct{}{}
}

// remove takes modes away and says whether there was one.
func (w *watchTable) remove(path string, c *conn, mode watchMode) bool {
	watchers := w.byPath[path]
	had := watchers[c]
	if had&mode == 0 {
		return false
	}
	if had&mode&watchBelow != 0 {
		w.below--
	}
	if left := had &^ mode; left != 0 {
		watchers[c] = left
		return true
	}
	if delete(watchers, c); len(watchers) == 0 {
		delete(w.byPath, path)
	}
	if delete(w.byConn[c], path); len(w.byConn[c]) == 0 {
		delete(w.byConn, c)
	}
	return true
}

// forget removes all watches of a connection: they belong to it, not to its session.
func (w *watchTable) forget(c *conn) {
	for path := range w.byConn[c] {
		w.remove(path, c, watchAnyMode)
	}
}

// take returns who is to hear of an event on a path, in order of connection, and uses up
// the standard watches among them.
func (w *watchTable) take(typ eventType, path string) []*conn {
	var told []*conn
	for c, mode := range w.byPath[path] {
		// A recursive watch hears of each child itself, so not of "children changed".
		if typ != nodeChildrenChanged || mode&(watchOnce|watchAlways) != 0 {
			told = append(told, c)
		}
	}
	for _, c := range told {
		w.remove(path, c, watchOnce)
	}
	if w.below > 0 && typ != nodeChildrenChanged {
		for up := path; up != "/"; {
			dir, _ := splitPath(up)
			up = orRoot(dir)
			for c, mode := range w.byPath[up] {
				if mode&watchBelow != 0 && !slices.Contains(told, c) {
					told = append(told, c)
				}
			}
		}
	}
	slices.SortFunc(told, func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
	return told
}

// tell sends an event to those who watch a path, except to those who heard it already,
// and returns who watched. Who may not read the node does not hear of it (CVE-2024-23944).
func (s *Server) tell(w *watchTable, typ eventType, path string, n *node, except []*conn) []*conn {
	if len(w.byPath) == 0 {
		return nil
	}
	watched := w.take(typ, path)
	for _, c := range watched {
		if slices.Contains(except, c) || n != nil && !allows(n.acl, permRead, c.identities) {
			continue
		}
		s.event(c, typ, path)
		s.noteWatch(c, typ, path, s.zxid)
	}
	return watched
}

func (s *Server) noteWatch(c *conn, typ eventType, path string, zxid int64) {
	if s.cfg.Journal.On() {
		s.note(journal.Event{Kind: journal.WatchFired, Path: path, Session: sessionName(c.sessionID()), Zxid: zxid, Text: eventNames[typ]})
	}
}

// setWatches arms what a client watched on its last connection, or tells it at once what
// it missed since.
func (s *Server) setWatches(c *conn, o setWatchesOp) {
	missed := func(typ eventType, path string) {
		s.event(c, typ, path)
		s.noteWatch(c, typ, path, 0)
	}
	for _, path := range o.data {
		switch n := s.tree.nodes[path]; {
		case n == nil:
			missed(nodeDeleted, path)
		case n.mzxid > o.since:
			missed(nodeDataChanged, path)
		default:
			s.dataWatches.add(path, c, watchOnce)
		}
	}
	for _, path := range o.exist {
		if s.tree.nodes[path] != nil {
			missed(nodeCreated, path)
		} else {
			s.dataWatches.add(path, c, watchOnce)
		}
	}
	for _, path := range o.child {
		switch n := s.tree.nodes[path]; {
		case n == nil:
			missed(nodeDeleted, path)
		case n.pzxid > o.since:
			missed(nodeChildrenChanged, path)
		default:
			s.childWatches.add(path, c, watchOnce)
		}
	}
	for _, path := range o.persistent {
		s.watchAll(path, c, watchAlways)
	}
	for _, path := range o.persistentRecurs {
		s.watchAll(path, c, watchBelow)
	}
}

func (s *Server) watchAll(path string, c *conn, mode watchMode) {
	s.dataWatches.add(path, c, mode)
	s.childWatches.add(path, c, mode)
}

// kindsOfWatch are the tables that removeWatches and checkWatches mean by a number.
func (s *Server) kindsOfWatch(kind int32) []*watchTable {
	switch kind {
	case 1:
		return []*watchTable{s.childWatches}
	case 2:
		return []*watchTable{s.dataWatches}
	}
	return []*watchTable{s.childWatches, s.dataWatches}
}

func (s *Server) removeWatches(c *conn, o watchOp) code {
	found := false
	for _, w := range s.kindsOfWatch(o.mode) {
		if o.op == opCheckWatches {
			found = found || w.byPath[o.path][c] != 0
		} else {
			found = w.remove(o.path, c, watchAnyMode) || found
		}
	}
	if !found {
		return noWatcher
	}
	return ok
}
