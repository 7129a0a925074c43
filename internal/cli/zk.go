package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"

	"kz/internal/nearest"
	"kz/internal/zk"
)

// zkCommand looks into ZooKeeper, and changes nothing there.
func zkCommand(e *env) *ucli.Command {
	flags := []ucli.Flag{
		&ucli.StringFlag{Name: "zookeeper", Value: "localhost:2181", Usage: "ZooKeeper's `ADDRESS`, as in zookeeper.connect: host:port,host:port/chroot"},
		&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"},
	}
	sub := func(name, args, usage string, run func(context.Context, *zk.Client, string) (zkOutput, error)) *ucli.Command {
		return &ucli.Command{
			Name: name, Usage: usage, ArgsUsage: args,
			UsageText: "kz zk " + name + " [--zookeeper ADDRESS] [-o json] " + args,
			Flags:     flags, OnUsageError: usageError,
			Action: func(c *ucli.Context) error { return runZk(c, e, run) },
		}
	}
	cmd := &ucli.Command{
		Name: "zk", Usage: "look into ZooKeeper: ls, get, stat, tree",
		UsageText: "kz zk ls|get|stat|tree [--zookeeper ADDRESS] [-o json] PATH",
		Subcommands: []*ucli.Command{
			sub("ls", "PATH", "list the children of a znode", zkLs),
			sub("get", "PATH", "print the data of a znode", zkGet),
			sub("stat", "PATH", "print a znode's versions, times and owner", zkStat),
			sub("tree", "[PATH]", "print all znodes below a path, with data and versions", zkTree),
		},
	}
	cmd.Action = func(c *ucli.Context) error {
		if c.NArg() == 0 {
			return ucli.ShowSubcommandHelp(c)
		}
		name, names := c.Args().First(), []string{"ls", "get", "stat", "tree"}
		if near := nearest.To(name, names); near != "" {
			return exitf(exitUsage, "kz zk: no command %q. Did you mean %q?", name, near)
		}
		return exitf(exitUsage, "kz zk: no command %q. There are %s.", name, strings.Join(names, ", "))
	}
	return cmd
}

// zkOutput prints itself as text; its JSON form is its exported fields.
type zkOutput interface{ text(w io.Writer) }

// zkWait is how long kz zk waits for a connection, and then for all answers.
const zkWait = 10 * time.Second

func runZk(c *ucli.Context, e *env, run func(context.Context, *zk.Client, string) (zkOutput, error)) error {
	format := c.String("o")
	if format != "text" && format != "json" {
		return exitf(exitUsage, "kz zk: -o %s: the formats are text and json.", format)
	}
	path := c.Args().First()
	if path == "" && c.Command.Name == "tree" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") || c.NArg() > 1 {
		return exitf(exitUsage, "kz zk %s: needs one PATH that begins with '/', after the flags, such as /brokers/ids.", c.Command.Name)
	}
	if path != "/" {
		path = strings.TrimRight(path, "/")
	}
	client, err := openZk(c.Context, e, c.String("zookeeper"))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.Context, zkWait)
	defer cancel()
	out, err := run(ctx, client, path)
	switch {
	case errors.Is(err, zk.NoNode):
		return exitf(exitFailed, "kz zk: there is no %s (NONODE). What is there: kz zk ls %s", path, parentOf(path))
	case errors.Is(err, context.DeadlineExceeded):
		return exitf(exitUnknown, "kz zk: no answer from ZooKeeper at %s within %v.", client.ConnectString(), zkWait)
	case err != nil:
		return exitf(exitFailed, "kz zk: %s: %v", path, err)
	case format == "json":
		enc := json.NewEncoder(e.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(out)
	}
	out.text(e.stdout)
	return nil
}

// openZk connects for looking. A chroot that is not there is not created.
func openZk(ctx context.Context, e *env, connect string) (*zk.Client, error) {
	servers, chroot, err := zk.ParseConnect(connect)
	if err != nil {
		return nil, exitf(exitUsage, "kz zk: %v.", err)
	}
	cfg := zk.Config{Servers: servers, Chroot: chroot, ExistingChroot: true, SessionTimeout: zkWait, ConnectionTimeout: zkWait, MaxInFlight: 100}
	client, err := zk.Connect(ctx, cfg, e.network, nil, zerolog.Nop())
	if err != nil {
		return nil, exitf(exitNoCluster, "kz zk: %v. Is ZooKeeper running? Say where with --zookeeper host:port.", err)
	}
	return client, nil
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

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
