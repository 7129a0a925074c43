package zkserver

import "encoding/binary"

// Jute is ZooKeeper's encoding: integers big-endian; a boolean is one byte; a buffer and
// a string are an int32 length (-1 is null) and bytes; a vector is an int32 count (-1 is
// null) and its items; a record is its fields in order, with no tags.

// encoder appends jute.
type encoder struct{ b []byte }

func (e *encoder) int(v int32)  { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) long(v int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) string(s string) {
	e.int(int32(len(s)))
	e.b = append(e.b, s...)
}

// buffer keeps the difference between null and empty.
func (e *encoder) buffer(p []byte) {
	if p == nil {
		e.int(-1)
		return
	}
	e.int(int32(len(p)))
	e.b = append(e.b, p...)
}

// strings never writes a null vector: go-zookeeper does not survive one.
func (e *encoder) strings(v []string) {
	e.int(int32(len(v)))
	for _, s := range v {
		e.string(s)
	}
}

func (e *encoder) acls(list []acl) {
	e.int(int32(len(list)))
	for _, a := range list {
		e.int(a.perms)
		e.string(a.scheme)
		e.string(a.id)
	}
}

// stat is 68 bytes.
func (e *encoder) stat(s stat) {
	e.long(s.czxid)
	e.long(s.mzxid)
	e.long(s.ctime)
	e.long(s.mtime)
	e.int(s.version)
	e.int(s.cversion)
	e.int(s.aversion)
	e.long(s.ephemeralOwner)
	e.int(s.dataLength)
	e.int(s.numChildren)
	e.long(s.pzxid)
}

// decoder reads jute. After the first field that is not there it is bad, and every
// further field is zero: callers check once, at the end. What it returns is copied, so
// that a stored value does not keep a whole request in memory.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int32) []byte {
	if d.bad || n < 0 || int(n) > len(d.b) {
		d.bad = true
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int() int32 {
	if p := d.take(4); p != nil {
		return int32(binary.BigEndian.Uint32(p))
	}
	return 0
}

func (d *decoder) long() int64 {
	if p := d.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (d *decoder) bool() bool {
	p := d.take(1)
	return p != nil && p[0] != 0
}

func (d *decoder) buffer() []byte {
	n := d.int()
	if n == -1 {
		return nil
	}
	p := d.take(n)
	if d.bad {
		return nil
	}
	return append(make([]byte, 0, n), p...)
}

// string is for fields that may not be null: ZooKeeper answers MARSHALLINGERROR.
func (d *decoder) string() string { return string(d.take(d.int())) }

// stringOrNull is for fields where kazoo sends null for the empty string.
func (d *decoder) stringOrNull() string { return string(d.buffer()) }

// count reads the length of a vector whose items take at least size bytes each, so that
// no count can ask for more memory than the request itself has. Null is none.
func (d *decoder) count(size int) int {
	n := d.int()
	if n == -1 {
		return 0
	}
	if n < 0 || int(n) > len(d.b)/size {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	n := d.count(4)
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) acls() []acl {
	n := d.count(12)
	list := make([]acl, 0, n)
	for range n {
		list = append(list, acl{d.int(), d.stringOrNull(), d.stringOrNull()})
	}
	return list
}
