package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
)

// A snapshot is the whole state at one zxid, in a file snap.<zxid>:
//
//	magic "KZZKSNP1"; long zxid, long logged, long lastSession
//	int count, sessions: long id, int timeout (ms), buffer password
//	int count, nodes by path, parents first:
//	    string path, buffer data, ACL, long czxid, mzxid, pzxid, ctime, mtime, owner,
//	    int version, aversion, creates, kind
//	int CRC-32C of all before it
//
// It is written beside the old ones under another name, made durable, then renamed: a
// snapshot is whole or not there.

const snapshotMagic = "KZZKSNP1"

func (st *state) encodeSnapshot() []byte {
	e := encoder{make([]byte, 0, st.tree.bytes+int64(len(st.tree.nodes))*120+1024)}
	e.b = append(e.b, snapshotMagic...)
	e.long(st.zxid)
	e.long(st.logged)
	e.long(st.lastSession)
	e.int(int32(len(st.sessions)))
	for _, ss := range st.sortedSessions() {
		e.long(ss.id)
		e.int(ss.timeout)
		e.buffer(ss.password)
	}
	e.int(int32(len(st.tree.nodes) - 1)) // "" is "/" again
	for _, path := range slices.Sorted(maps.Keys(st.tree.nodes)) {
		if path != "" {
			encodeNode(&e, path, st.tree.nodes[path])
		}
	}
	e.int(int32(crc32.Checksum(e.b, castagnoli)))
	return e.b
}

func encodeNode(e *encoder, path string, n *node) {
	e.string(path)
	e.buffer(n.data)
	e.acls(n.acl)
	for _, v := range []int64{n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime, n.owner} {
		e.long(v)
	}
	for _, v := range []int32{n.version, n.aversion, n.creates, int32(n.kind)} {
		e.int(v)
	}
}

func decodeNode(d *decoder) (string, *node) {
	path := d.string()
	n := &node{data: d.buffer(), acl: shareACL(d.acls())}
	for _, v := range []*int64{&n.czxid, &n.mzxid, &n.pzxid, &n.ctime, &n.mtime, &n.owner} {
		*v = d.long()
	}
	for _, v := range []*int32{&n.version, &n.aversion, &n.creates} {
		*v = d.int()
	}
	n.kind = nodeKind(d.int())
	return path, n
}

// smallestNode and smallestSession bound what a count may ask for.
const (
	smallestNode    = 4 + 4 + 4 + 6*8 + 4*4
	smallestSession = 8 + 4 + 4
)

// decodeSnapshot reads a snapshot, and checks that what it says hangs together.
func decodeSnapshot(b []byte) (*state, error) {
	if len(b) < len(snapshotMagic)+4 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("it is not a snapshot")
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("its checksum is wrong")
	}
	d := &decoder{b: body[len(snapshotMagic):]}
	st := newState()
	st.tree = &tree{nodes: map[string]*node{}}
	st.zxid, st.logged, st.lastSession = d.long(), d.long(), d.long()
	for range d.count(smallestSession) {
		ss := newSession(d.long(), d.int(), d.buffer())
		st.sessions[ss.id] = ss
	}
	for range d.count(smallestNode) {
		path, n := decodeNode(d)
		if err := st.restore(path, n); d.bad || err != nil {
			return nil, cmpError(err, "it ends too early")
		}
	}
	if d.bad || len(d.b) > 0 || st.tree.nodes["/"] == nil {
		return nil, errors.New("its counts are wrong")
	}
	return st, nil
}

func cmpError(err error, otherwise string) error {
	if err != nil {
		return err
	}
	return errors.New(otherwise)
}

// restore puts a node of a snapshot in place. Its parent came before it.
func (st *state) restore(path string, n *node) error {
	if n.kind < persistent || n.kind > timeToLive || !validPath(path) {
		return fmt.Errorf("it has an impossible node %q", path)
	}
	if path == "/" {
		st.tree.nodes["/"], st.tree.nodes[""] = n, n
		st.tree.bytes += size(path, n)
		return nil
	}
	dir, name := splitPath(path)
	parent := st.tree.nodes[dir]
	if parent == nil || st.tree.nodes[path] != nil {
		return fmt.Errorf("the node %q has no parent, or is there twice", path)
	}
	parent.addChild(name)
	st.tree.nodes[path] = n
	st.tree.bytes += size(path, n)
	st.noteKind(path, n)
	return nil
}
