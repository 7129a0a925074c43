package znodes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// An op is one operation on a znode: a write of its own, or a part of a multi. The JSON is that of the
// captures.
type op struct {
	Op         string  `json:"op"` // create, setData, delete, check; of a write also multi, createSession, closeSession
	Path       string  `json:"path"`
	Data       *string `json:"data"` // nil: null
	Ephemeral  bool    `json:"ephemeral"`
	Sequential bool    `json:"sequential"`
	Expected   *int32  `json:"expected"` // the version demanded, -1 for any
	Version    *int32  `json:"version"`  // setData that succeeded: the version after it
	Error      string  `json:"error"`
	ACL        string  `json:"acl"` // "" is world:anyone:cdrwa
}

// A write is one transaction of ZooKeeper, failed ones included.
type write struct {
	op
	Who     string   `json:"who"`        // broker-N, tool:NAME
	Parts   []op     `json:"parts"`      // multi
	By      string   `json:"by"`         // closeSession: "client", or the server after the timeout
	Removes []string `json:"removes"`    // closeSession: the ephemeral nodes that went with it
	Timeout int32    `json:"timeout_ms"` // createSession
}

// A znode as it is after a step.
type znode struct {
	Path      string  `json:"znode"`
	Data      *string `json:"data"`
	Version   int32   `json:"version"`
	Ephemeral bool    `json:"ephemeral"`
	ACL       string  `json:"acl"`
}

// A capture is what one step wrote and left.
type capture struct {
	writes []write
	tree   []znode
}

// load reads testdata/<name>.jsonl: the capture's writes.jsonl, then its tree.jsonl, without what is
// never compared (times, cversions, the number of children) and without the ACL where it is everybody's.
func load(t *testing.T, name string) capture {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c capture
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if strings.HasPrefix(in.Text(), `{"znode"`) {
			var z znode
			if err := json.Unmarshal(in.Bytes(), &z); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c.tree = append(c.tree, z)
			continue
		}
		var w write
		if err := json.Unmarshal(in.Bytes(), &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.writes = append(c.writes, w)
	}
	if err := in.Err(); err != nil || len(c.tree) == 0 {
		t.Fatalf("%s: %d znodes, %v", name, len(c.tree), err)
	}
	return c
}

func (o op) String() string {
	var b strings.Builder
	b.WriteString(o.Op + " " + o.Path)
	switch {
	case o.Expected == nil:
	case *o.Expected < 0:
		b.WriteString(" any version")
	default:
		fmt.Fprintf(&b, " v%d", *o.Expected)
	}
	if o.Version != nil {
		fmt.Fprintf(&b, " -> v%d", *o.Version)
	}
	if o.Ephemeral {
		b.WriteString(" (ephemeral)")
	}
	if o.Sequential {
		b.WriteString(" (sequential)")
	}
	if o.Op == "create" || o.Op == "setData" {
		b.WriteString(" = " + text(o.Data))
	}
	if o.ACL != "" {
		b.WriteString(" acl " + o.ACL)
	}
	if o.Error != "" {
		b.WriteString(" FAILS " + o.Error)
	}
	return b.String()
}

func (w write) String() string {
	switch w.Op {
	case "multi":
		var parts []string
		for _, p := range w.Parts {
			parts = append(parts, p.String())
		}
		return "[" + strings.Join(parts, "; ") + "]"
	case "createSession":
		return fmt.Sprintf("session opened, timeout %d ms", w.Timeout)
	case "closeSession":
		return fmt.Sprintf("session closed by %s, which removes %v", w.By, w.Removes)
	}
	return w.op.String()
}

func (z znode) String() string {
	s := fmt.Sprintf("%s v%d = %s", z.Path, z.Version, text(z.Data))
	if z.Ephemeral {
		s += " (ephemeral)"
	}
	if z.ACL != "" {
		s += " acl " + z.ACL
	}
	return s
}

func text(data *string) string {
	if data == nil {
		return "null"
	}
	return `"` + *data + `"`
}

// ops is every operation of the write.
func (w *write) ops() []*op {
	if w.Op != "multi" {
		return []*op{&w.op}
	}
	var out []*op
	for i := range w.Parts {
		out = append(out, &w.Parts[i])
	}
	return out
}
