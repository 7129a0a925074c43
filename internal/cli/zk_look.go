package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kz/internal/zk"
)

// What kz zk ls, get, stat and tree read, and how they print it.

// ---- ls ---------------------------------------------------------------------------

type zkChildren struct {
	Path     string   `json:"path"`
	Children []string `json:"children"`
}

func zkLs(ctx context.Context, c *zk.Client, path string) (zkOutput, error) {
	names, err := c.Children(ctx, path, false)
	slices.Sort(names)
	return zkChildren{path, append([]string{}, names...)}, err
}

func (l zkChildren) text(w io.Writer) {
	for _, name := range l.Children {
		fmt.Fprintln(w, name)
	}
}

// ---- get and stat -----------------------------------------------------------------

type zkNode struct {
	Path string     `json:"path"`
	Data *string    `json:"data"` // null is not the same as ""
	Stat zkStatJSON `json:"stat"`
}

// zkStatJSON has the names and the forms of ZooKeeper's own shell.
type zkStatJSON struct {
	CZxid          string `json:"cZxid"`
	CTime          string `json:"ctime"`
	MZxid          string `json:"mZxid"`
	MTime          string `json:"mtime"`
	PZxid          string `json:"pZxid"`
	CVersion       int32  `json:"cversion"`
	DataVersion    int32  `json:"dataVersion"`
	ACLVersion     int32  `json:"aclVersion"`
	EphemeralOwner string `json:"ephemeralOwner"`
	DataLength     int32  `json:"dataLength"`
	NumChildren    int32  `json:"numChildren"`
}

func statJSON(s zk.Stat) zkStatJSON {
	hex := func(n int64) string { return fmt.Sprintf("0x%x", uint64(n)) }
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	return zkStatJSON{
		CZxid: hex(s.Czxid), CTime: at(s.Ctime), MZxid: hex(s.Mzxid), MTime: at(s.Mtime), PZxid: hex(s.Pzxid),
		CVersion: s.Cversion, DataVersion: s.Version, ACLVersion: s.Aversion,
		EphemeralOwner: hex(s.EphemeralOwner), DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}

func nodeOf(path string, data []byte, stat zk.Stat) zkNode {
	n := zkNode{Path: path, Stat: statJSON(stat)}
	if data != nil {
		s := string(data)
		n.Data = &s
	}
	return n
}

func (n zkNode) data() string {
	if n.Data == nil {
		return "null"
	}
	return *n.Data
}

func zkGet(ctx context.Context, c *zk.Client, path string) (zkOutput, error) {
	data, stat, err := c.Get(ctx, path)
	return nodeOf(path, data, stat), err
}

func (n zkNode) text(w io.Writer) { fmt.Fprintln(w, n.data()) }

type zkStatOutput struct {
	Path string     `json:"path"`
	Stat zkStatJSON `json:"stat"`
}

func zkStat(ctx context.Context, c *zk.Client, path string) (zkOutput, error) {
	stat, found, err := c.Exists(ctx, path)
	if err == nil && !found {
		err = zk.NoNode
	}
	return zkStatOutput{path, statJSON(stat)}, err
}

func (o zkStatOutput) text(w io.Writer) {
	s := o.Stat
	for _, line := range []struct {
		name  string
		value any
	}{
		{"cZxid", s.CZxid}, {"ctime", s.CTime}, {"mZxid", s.MZxid}, {"mtime", s.MTime}, {"pZxid", s.PZxid},
		{"cversion", s.CVersion}, {"dataVersion", s.DataVersion}, {"aclVersion", s.ACLVersion},
		{"ephemeralOwner", s.EphemeralOwner}, {"dataLength", s.DataLength}, {"numChildren", s.NumChildren},
	} {
		fmt.Fprintf(w, "%s = %v\n", line.name, line.value)
	}
}

// ---- tree -------------------------------------------------------------------------

type zkTreeOutput struct {
	Nodes []zkNode `json:"nodes"` // a parent before its children, children in order of name
}

// zkTree reads level by level, each level in one pipelined batch. A node that vanishes
// meanwhile is left out.
func zkTree(ctx context.Context, c *zk.Client, path string) (zkOutput, error) {
	found := map[string]zkNode{}
	level := []string{path}
	for len(level) > 0 {
		ops := make([]zk.Op, 0, 2*len(level))
		for _, p := range level {
			ops = append(ops, zk.GetOp(p), zk.ChildrenOp(p, false))
		}
		results := c.Do(ctx, ops...)
		var next []string
		for i, p := range level {
			get, children := results[2*i], results[2*i+1]
			for _, err := range []error{get.Err, children.Err} {
				if err != nil && (p == path || err != zk.NoNode) {
					return nil, err
				}
			}
			if get.Err != nil || children.Err != nil {
				continue
			}
			found[p] = nodeOf(p, get.Data, get.Stat)
			for _, name := range children.Children {
				next = append(next, strings.TrimSuffix(p, "/")+"/"+name)
			}
		}
		level = next
	}
	paths := make([]string, 0, len(found))
	for p := range found {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	out := zkTreeOutput{}
	for _, p := range paths {
		out.Nodes = append(out.Nodes, found[p])
	}
	return out, nil
}

// text draws one node a line, indented: its name, its data version, whose it is when it
// is ephemeral, its data when it has any.
func (t zkTreeOutput) text(w io.Writer) {
	base := strings.Count(strings.TrimSuffix(t.Nodes[0].Path, "/"), "/")
	for i, n := range t.Nodes {
		name, depth := n.Path, 0
		if i > 0 {
			depth = strings.Count(n.Path, "/") - base
			name = n.Path[strings.LastIndexByte(n.Path, '/')+1:]
		}
		line := strings.Repeat("  ", depth) + name
		if n.Data != nil {
			line += strings.TrimRight(fmt.Sprintf("  v%d  %s", n.Stat.DataVersion, *n.Data), " ")
		}
		if n.Stat.EphemeralOwner != "0x0" {
			line += "  (ephemeral, session " + n.Stat.EphemeralOwner + ")"
		}
		fmt.Fprintln(w, line)
	}
}
