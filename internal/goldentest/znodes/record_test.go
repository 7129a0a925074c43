package znodes

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/clustertest"
	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zkrelay"
)

func openZk(addr string) (*zk.Client, error) {
	return zk.Connect(context.Background(), zk.Config{Servers: []string{addr}, SessionTimeout: 20 * time.Second, ConnectionTimeout: within},
		link.TCP{}, nil, zerolog.Nop())
}

const (
	stepQuiet = 1200 * time.Millisecond // what was captured is there, and then nothing more may be written for so long
)

// step does a step's acts and compares. The captured writes are waited for; then nothing may follow.
func (c *cluster) step(name string, act func(), rules ...rule) {
	c.t.Helper()
	group := c.t
	c.t.Run(name, func(t *testing.T) {
		c.t = t
		defer func() { c.t = group }()
		all := append(slices.Clone(always), rules...)
		kafka := load(t, name).normalised(all)
		c.settle()
		act()
		if c.compare(kafka, all); !t.Failed() {
			c.account(name, all)
		}
	})
}

// settle waits until the preparation, or the step before, has nothing more to write, and begins a step.
func (c *cluster) settle() {
	c.t.Helper()
	var since time.Time
	clustertest.Eventually(c.t, within, "an end of writes", func() (bool, string) {
		if zxid := c.lastZxid(); zxid != c.mark || since.IsZero() {
			c.mark, since = zxid, time.Now()
		}
		return time.Since(since) > stepQuiet, "still writing"
	})
}

func (c *cluster) compare(kafka capture, rules []rule) {
	c.t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var equalSince time.Time
	var last int64
	for {
		kz, err := c.capture()
		diff := "cannot read"
		if err == nil {
			diff = differences(kafka, kz.normalised(rules))
		}
		if zxid := c.lastZxid(); diff != "" || zxid != last {
			equalSince, last = time.Now(), zxid
		}
		if diff == "" && time.Since(equalSince) > stepQuiet {
			return
		}
		select {
		case <-deadline:
			c.t.Errorf("%v\n%s", err, diff)
			return
		case <-tick.C:
		}
	}
}

// wrote waits until somebody has made, or tried, such a write since the step began.
func (c *cluster) wrote(what string, ok func(write) bool) {
	c.t.Helper()
	clustertest.Eventually(c.t, within, what, func() (bool, string) {
		kz, err := c.capture()
		return err == nil && slices.ContainsFunc(kz.writes, ok), fmt.Sprintf("%d writes, none of them that; %v", len(kz.writes), err)
	})
}

// announced waits until the changes of these ISRs have been announced since settle, and the
// announcements are deleted: Kafka's leaders collect them for some seconds.
func (c *cluster) announced(partitions ...string) {
	c.t.Helper()
	clustertest.Eventually(c.t, within, fmt.Sprintf("the announcement of %v", partitions), func() (bool, string) {
		kz, err := c.capture()
		if err != nil {
			return false, err.Error()
		}
		var named []string
		left := 0
		for _, w := range kz.writes {
			if o := w.ops()[len(w.ops())-1]; strings.HasPrefix(o.Path, noticePrefix) && o.Error == "" {
				if o.Op == "delete" {
					left--
					continue
				}
				left++
				named = append(named, noticed(o.Data)...)
			}
		}
		for _, p := range partitions {
			if !slices.Contains(named, p) {
				return false, fmt.Sprintf("announced: %v", named)
			}
		}
		return left == 0, fmt.Sprintf("%d left", left)
	})
}

func (c *cluster) lastZxid() int64 {
	txns, err := clustertest.ReadTxnLog(c.server.DataDir())
	if err != nil {
		c.t.Fatal(err)
	}
	last := int64(0)
	for _, x := range txns {
		if c.relay.Who(x.Session) != "" {
			last = max(last, x.Zxid)
		}
	}
	return last
}

// capture is what was written since the step began, and what is there.
func (c *cluster) capture() (capture, error) {
	txns, err := clustertest.ReadTxnLog(c.server.DataDir())
	if err != nil {
		return capture{}, err
	}
	var out capture
	out.writes = c.join(txns, c.relay.Calls())
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tree, err := zkrelay.ReadTree(ctx, c.server.Addr)
	if err != nil {
		return capture{}, err
	}
	for _, n := range tree {
		z := znode{Path: n.Path, Data: c.data(n.Data), Version: n.Version, Ephemeral: n.Ephemeral}
		if n.ACL != "world:anyone:cdrwa" {
			z.ACL = n.ACL
		}
		out.tree = append(out.tree, z)
	}
	return out, nil
}

// join puts the requests, which the relay heard, to the transactions, which have the order and the
// outcome. Sessions that the relay has not seen are the test's own.
func (c *cluster) join(txns []clustertest.Txn, calls []zkrelay.Call) []write {
	type key struct {
		session int64
		xid     int32
	}
	asked := map[key]zkrelay.Call{}
	for _, call := range calls {
		asked[key{call.Session, call.Xid}] = call
	}
	owned := map[string]int64{} // ephemeral node -> session
	var out []write
	for len(txns) > 0 {
		n := 1
		for n < len(txns) && txns[n].Zxid == txns[0].Zxid {
			n++
		}
		parts := txns[:n]
		txns = txns[n:]
		first := parts[0]
		who := c.relay.Who(first.Session)
		if who == "" {
			continue
		}
		call, known := asked[key{first.Session, first.Cxid}]
		w := write{Who: who}
		switch {
		case first.Type == "open-session":
			w.Op, w.Timeout = "createSession", first.Timeout
		case first.Type == "close-session":
			w.Op, w.By, w.Removes = "closeSession", "client", removed(owned, first.Session)
			if !known || call.Op != "closeSession" {
				w.By = "server (session expired)"
			}
		case !known:
			w.op = op{Op: "unknown " + first.Type, Path: first.Path}
		case call.Op == "multi":
			w.Op = "multi"
			for i, x := range parts {
				if i < len(call.Parts) {
					w.Parts = append(w.Parts, c.op(x, call.Parts[i]))
				}
				if e := zkrelay.ErrName(x.Err); w.Error == "" && e != "RUNTIMEINCONSISTENCY" {
					w.Error = e
				}
			}
		default:
			w.op = c.op(first, call)
		}
		for _, x := range parts {
			if x.Type == "create" && x.Ephem {
				owned[x.Path] = x.Session
			}
			if x.Type == "delete" {
				delete(owned, x.Path)
			}
		}
		if first.Zxid > c.mark {
			out = append(out, w)
		}
	}
	return out
}

func removed(owned map[string]int64, session int64) []string {
	var out []string
	for path, s := range owned {
		if s == session {
			out = append(out, path)
			delete(owned, path)
		}
	}
	slices.Sort(out)
	return out
}

// op is one operation: as asked for, with the path and the version that came of it.
func (c *cluster) op(x clustertest.Txn, asked zkrelay.Call) op {
	o := op{Op: strings.TrimSuffix(asked.Op, "2"), Path: asked.Path, Ephemeral: asked.Ephemeral, Sequential: asked.Sequential, Error: zkrelay.ErrName(x.Err)}
	if x.Type == "create" {
		o.Path = x.Path // of a sequential node: with its number
	}
	switch o.Op {
	case "create":
		o.Data = c.data(asked.Data)
		if asked.ACL != "world:anyone:cdrwa" {
			o.ACL = asked.ACL
		}
	case "setData":
		o.Data, o.Expected = c.data(asked.Data), &asked.Expected
		if x.Type == "set" {
			o.Version = &x.Version
		}
	case "delete", "check":
		o.Expected = &asked.Expected
	}
	return o
}

var (
	timestamp = regexp.MustCompile(`"timestamp":"\d+"`)
	clusterID = regexp.MustCompile(`"id":"[A-Za-z0-9_-]{22}"`)
)

// data is a node's data as the captures print it.
func (c *cluster) data(b []byte) *string {
	if b == nil {
		return nil
	}
	s := timestamp.ReplaceAllString(string(b), `"timestamp":"TIMESTAMP"`)
	s = clusterID.ReplaceAllString(s, `"id":"CLUSTER_ID"`)
	s = strings.NewReplacer(c.ports...).Replace(s)
	return &s
}
