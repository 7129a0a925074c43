package zkserver

import (
	"maps"
	"slices"
)

// nodeKind says when a node goes by itself. The numbers are on disk.
type nodeKind int32

const (
	persistent nodeKind = iota // never
	ephemeral                  // with its session
	container                  // when its last child has gone
	timeToLive                 // when nothing was written for its time, and it has no child
)

// node is one node of the tree. Mirrors DataNode.
type node struct {
	data     []byte // null and empty are different
	acl      []acl  // shared between nodes, never changed in place
	children map[string]struct{}
	inOrder  []string // the children, sorted; nil when they have changed since

	czxid, mzxid, pzxid int64 // written by which zxid: the node, its data, its list of children
	ctime, mtime        int64 // ms since 1970
	version, aversion   int32
	// creates counts the children ever made: it is the next sequence number, and, with
	// the deletes, the visible cversion.
	creates int32
	kind    nodeKind
	owner   int64 // of an ephemeral the session, of a timeToLive its ms; else 0
}

func (n *node) stat() stat {
	s := stat{czxid: n.czxid, mzxid: n.mzxid, ctime: n.ctime, mtime: n.mtime, pzxid: n.pzxid,
		version: n.version, aversion: n.aversion,
		cversion:   2*n.creates - int32(len(n.children)), // creates + deletes
		dataLength: int32(len(n.data)), numChildren: int32(len(n.children))}
	if n.kind == ephemeral {
		s.ephemeralOwner = n.owner
	}
	return s
}

// names are the children in order. ZooKeeper's come in the order of a hash table.
func (n *node) names() []string {
	if n.inOrder == nil {
		n.inOrder = slices.Sorted(maps.Keys(n.children))
	}
	return n.inOrder
}

func (n *node) addChild(name string) {
	if n.children == nil {
		n.children = map[string]struct{}{}
	}
	n.children[name] = struct{}{}
	n.inOrder = nil
}

func (n *node) removeChild(name string) {
	delete(n.children, name)
	n.inOrder = nil
}

// tree is all nodes by path. The root has two: "/" and "", the parent of "/a".
//
// Invariant: the parent of every node is there and has the node among its children.
type tree struct {
	nodes map[string]*node
	bytes int64 // of all paths and data
}

var openACL = []acl{{permAll, "world", "anyone"}}

// newTree is what a new ZooKeeper has.
func newTree() *tree {
	dir := func(acl []acl, children ...string) *node {
		n := &node{data: []byte{}, acl: acl, children: map[string]struct{}{}}
		for _, c := range children {
			n.children[c] = struct{}{}
		}
		return n
	}
	root := dir(openACL, "zookeeper")
	config := dir([]acl{{permRead, "world", "anyone"}})
	config.aversion = -1
	t := &tree{nodes: map[string]*node{
		"/": root, "": root,
		"/zookeeper":        dir(openACL, "config", "quota"),
		"/zookeeper/quota":  dir(openACL),
		"/zookeeper/config": config,
	}}
	for path, n := range t.nodes {
		t.bytes += size(path, n)
	}
	return t
}

// add puts a node in place, below a parent that is there.
func (t *tree) add(path string, n *node, zxid int64) (undo func()) {
	dir, name := splitPath(path)
	parent := t.nodes[dir]
	pzxid := parent.pzxid
	parent.addChild(name)
	parent.creates++
	parent.pzxid = zxid
	t.nodes[path] = n
	t.bytes += size(path, n)
	return func() {
		parent.removeChild(name)
		parent.creates--
		parent.pzxid = pzxid
		delete(t.nodes, path)
		t.bytes -= size(path, n)
	}
}

// remove takes away a node that is there and has no children.
func (t *tree) remove(path string, zxid int64) (undo func()) {
	dir, name := splitPath(path)
	parent, n := t.nodes[dir], t.nodes[path]
	pzxid := parent.pzxid
	parent.removeChild(name)
	parent.pzxid = zxid
	delete(t.nodes, path)
	t.bytes -= size(path, n)
	return func() {
		parent.addChild(name)
		parent.pzxid = pzxid
		t.nodes[path] = n
		t.bytes += size(path, n)
	}
}

func size(path string, n *node) int64 { return int64(len(path) + len(n.data)) }
