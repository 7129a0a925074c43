package zkrelay

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Znode is one node as the server has it.
type Znode struct {
	Path      string
	Data      []byte // nil is null
	Version   int32
	Ephemeral bool
	ACL       string
}

type stat struct {
	version int32
	owner   int64
}

func readStat(j *jute) stat {
	for range 4 { // czxid, mzxid, ctime, mtime
		j.long()
	}
	s := stat{version: j.int()}
	j.int() // cversion
	j.int() // aversion
	s.owner = j.long()
	j.int() // data length
	j.int() // children
	j.long()
	return s
}

// ReadTree reads every node of the server at addr but ZooKeeper's own (/zookeeper), sorted by path. It
// does so in a session of its own, which no door sees; a node that vanishes meanwhile is left out.
func ReadTree(ctx context.Context, addr string) ([]Znode, error) {
	r, err := openReader(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var out []Znode
	var walk func(path string) error
	walk = func(path string) error {
		n, there, err := r.node(path)
		if err != nil || !there {
			return err
		}
		if path != "/" {
			out = append(out, n)
		}
		children, err := r.children(path)
		if err != nil {
			return err
		}
		for _, child := range children {
			p := strings.TrimSuffix(path, "/") + "/" + child
			if p == "/zookeeper" {
				continue
			}
			if err := walk(p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk("/"); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Znode) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// reader is a client that reads: one request at a time.
type reader struct {
	conn net.Conn
	r    *bufio.Reader
	xid  int32
}

func openReader(ctx context.Context, addr string) (*reader, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(30 * time.Second)
	}
	_ = conn.SetDeadline(deadline)
	r := &reader{conn: conn, r: bufio.NewReader(conn)}
	// protocol 0, last zxid 0, timeout, no session, password of 16 zeros, not read-only
	hello := appendLong(appendInt(appendLong(appendInt(nil, 0), 0), 30000), 0)
	hello = append(appendString(hello, string(make([]byte, 16))), 0)
	if err := r.send(hello); err != nil {
		conn.Close()
		return nil, err
	}
	if _, err := readFrame(r.r); err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
}

func (r *reader) send(body []byte) error {
	_, err := r.conn.Write(append(appendInt(nil, int32(len(body))), body...))
	return err
}

func (r *reader) call(op int32, body []byte) (code int32, j *jute, err error) {
	r.xid++
	if err := r.send(append(appendInt(appendInt(nil, r.xid), op), body...)); err != nil {
		return 0, nil, err
	}
	frame, err := readFrame(r.r)
	if err != nil {
		return 0, nil, err
	}
	j = &jute{b: frame}
	j.int()
	j.long()
	code = j.int()
	return code, j, j.err
}

func (r *reader) node(path string) (n Znode, there bool, err error) {
	code, j, err := r.call(opGetData, append(appendString(nil, path), 0))
	if err != nil || code != 0 {
		return n, false, err
	}
	n = Znode{Path: path, Data: j.bytes()}
	s := readStat(j)
	n.Version, n.Ephemeral = s.version, s.owner != 0
	if j.err != nil {
		return n, false, j.err
	}
	code, j, err = r.call(opGetACL, appendString(nil, path))
	if err != nil || code != 0 {
		return n, false, err
	}
	n.ACL = readACL(j)
	return n, true, j.err
}

func (r *reader) children(path string) ([]string, error) {
	code, j, err := r.call(opGetChildren, append(appendString(nil, path), 0))
	if err != nil || code != 0 {
		return nil, err
	}
	return j.strings(), j.err
}

func (r *reader) close() {
	_, _, _ = r.call(opCloseSession, nil)
	r.conn.Close()
}

// maxFrame is above what a server takes (1 MiB) or sends in these tests.
const maxFrame = 16 << 20

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int32(binary.BigEndian.Uint32(head[:]))
	if n < 0 || n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}
