package controller

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"kz/internal/zk"
	"kz/zkpaths"
)

// fakeTree is a ZooKeeper in memory: nodes, versions, sessions, watches and a record of
// every write in the notation of golden/znodes/timeline.md. fakeClient is what one broker
// has of it. Only what a controller needs; the real thing is tested against a real server.
type fakeTree struct {
	mu       sync.Mutex // guards everything, also of the clients
	nodes    map[string]*fakeNode
	zxid     int64
	sessions int64
	clients  map[*fakeClient]bool
	writes   []string
}

type fakeNode struct {
	data  []byte
	stat  zk.Stat
	count int // sequential children so far
}

func newFakeTree() *fakeTree {
	t := &fakeTree{nodes: map[string]*fakeNode{"": {}, "/": {}}, clients: map[*fakeClient]bool{}}
	for _, path := range []string{
		"/consumers", "/brokers", "/brokers/ids", "/brokers/topics", "/config", "/config/changes", "/config/topics",
		"/admin", "/admin/delete_topics", "/isr_change_notification", "/log_dir_event_notification",
	} {
		t.nodes[path] = &fakeNode{}
	}
	return t
}

// fakeClient mirrors *zk.Client as far as zooKeeper goes.
type fakeClient struct {
	tree    *fakeTree
	name    string
	session int64
	data    map[string]func(zk.EventType)
	child   map[string]func(zk.EventType)
	armed   map[string]bool // "d/path" and "c/path"
	before  func()
	after   func()
	expired bool

	// loseAnswer, when it says so, makes the answer to an op get lost: the op is applied
	// and then sent again.
	loseAnswer func(op zk.Op) bool
	// loseRead fails a read.
	loseRead func(op zk.Op) error
	// beforeWrite runs before a write is applied, without the lock: others may write first.
	beforeWrite func(op zk.Op)

	holding bool // events are held back
	held    []func()
	events  *queue[func()]
	rounds  int // calls of Do
}

func (t *fakeTree) connect(name string) *fakeClient {
	c := &fakeClient{
		tree: t, name: name, data: map[string]func(zk.EventType){}, child: map[string]func(zk.EventType){},
		armed: map[string]bool{}, events: newQueue[func()](),
	}
	t.mu.Lock()
	t.sessions++
	c.session = t.sessions
	t.clients[c] = true
	t.mu.Unlock()
	go func() {
		for f, ok := c.events.take(); ok; f, ok = c.events.take() {
			f()
		}
	}()
	return c
}

// close ends the event goroutine; the session goes on.
func (c *fakeClient) close() { c.events.close() }

func (c *fakeClient) RegisterData(path string, f func(zk.EventType)) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.data[path] = f
}

func (c *fakeClient) UnregisterData(path string) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	delete(c.data, path)
}

func (c *fakeClient) RegisterChild(path string, f func(zk.EventType)) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.child[path] = f
}

func (c *fakeClient) UnregisterChild(path string) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	delete(c.child, path)
}

func (c *fakeClient) RegisterSession(_ string, before, after func()) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.before, c.after = before, after
}

func (c *fakeClient) UnregisterSession(string) { c.RegisterSession("", nil, nil) }

// Do applies the ops one after the other.
func (c *fakeClient) Do(ctx context.Context, ops ...zk.Op) []zk.Result {
	results := make([]zk.Result, len(ops))
	c.tree.mu.Lock()
	c.rounds++
	c.tree.mu.Unlock()
	for i, op := range ops {
		if ctx.Err() != nil {
			results[i].Err = ctx.Err()
			continue
		}
		isWrite := op.Kind == zk.OpCreate || op.Kind == zk.OpSet || op.Kind == zk.OpDelete
		if isWrite && c.beforeWrite != nil {
			c.beforeWrite(op)
		}
		c.tree.mu.Lock()
		switch {
		case c.expired:
			results[i].Err = zk.SessionExpired
		case op.Fence >= 0:
			results[i] = c.one(op)
			if isWrite && c.loseAnswer != nil && c.loseAnswer(op) {
				results[i] = c.one(op)
				results[i].Retried = true
			}
		case isWrite:
			results[i] = c.tree.transaction(c, []zk.Op{op})[0]
		default:
			if results[i] = c.read(op); c.loseRead != nil {
				if err := c.loseRead(op); err != nil {
					results[i] = zk.Result{Err: err}
				}
			}
		}
		c.tree.mu.Unlock()
	}
	return results
}

// one is a fenced op: check and op.
func (c *fakeClient) one(op zk.Op) zk.Result {
	rs := c.tree.transaction(c, []zk.Op{zk.CheckOp(zkpaths.ControllerEpoch, op.Fence), op})
	if rs[0].Err != nil && rs[0].Err != zk.RuntimeInconsistency {
		return zk.Result{Err: zk.ErrControllerMoved}
	}
	return rs[1]
}

func (c *fakeClient) Multi(ctx context.Context, ops ...zk.Op) ([]zk.Result, error) {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if c.expired {
		return nil, zk.SessionExpired
	}
	results := c.tree.transaction(c, ops)
	if c.loseAnswer != nil && c.loseAnswer(ops[0]) {
		results = c.tree.transaction(c, ops)
	}
	for _, r := range results {
		if r.Err != nil && r.Err != zk.RuntimeInconsistency {
			return results, r.Err
		}
	}
	return results, nil
}

func (c *fakeClient) read(op zk.Op) zk.Result {
	n, ok := c.tree.nodes[op.Path]
	switch op.Kind {
	case zk.OpGet, zk.OpExists:
		if c.data[op.Path] != nil && (ok || op.Kind == zk.OpExists) {
			c.armed["d"+op.Path] = true
		}
	case zk.OpChildren:
		if c.child[op.Path] != nil && op.Watch && ok {
			c.armed["c"+op.Path] = true
		}
	}
	if !ok {
		return zk.Result{Err: zk.NoNode}
	}
	r := zk.Result{Data: n.data, Stat: n.stat}
	if op.Kind == zk.OpChildren {
		for path := range c.tree.nodes {
			if parent, name := split(path); parent == op.Path && name != "" {
				r.Children = append(r.Children, name)
			}
		}
		slices.Sort(r.Children)
		slices.Reverse(r.Children) // ZooKeeper promises no order
	}
	return r
}

func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], path[i+1:]
}

// transaction applies all ops or none, and records them.
func (t *fakeTree) transaction(c *fakeClient, ops []zk.Op) []zk.Result {
	t.zxid++
	results := make([]zk.Result, len(ops))
	failed := -1
	for i, op := range ops {
		if err := t.validate(op, ops[:i]); err != nil {
			failed = i
			results[i].Err = err
			break
		}
	}
	if failed < 0 {
		for i, op := range ops {
			results[i] = t.apply(c, op)
		}
	} else {
		for i := failed + 1; i < len(ops); i++ {
			results[i].Err = zk.RuntimeInconsistency
		}
	}
	t.record(c.name, ops, results)
	return results
}

func (t *fakeTree) validate(op zk.Op, earlier []zk.Op) error {
	n, ok := t.nodes[op.Path]
	switch op.Kind {
	case zk.OpCreate:
		parent, _ := split(op.Path)
		if _, has := t.nodes[parent]; !has {
			return zk.NoNode
		}
		if ok && !op.Sequential {
			return zk.NodeExists
		}
		return nil
	}
	for _, e := range earlier {
		if e.Kind == zk.OpCreate && e.Path == op.Path {
			return nil
		}
	}
	if !ok {
		return zk.NoNode
	}
	if op.Version != zk.AnyVersion && op.Version != n.stat.Version {
		return zk.BadVersion
	}
	return nil
}

func (t *fakeTree) apply(c *fakeClient, op zk.Op) zk.Result {
	parent, _ := split(op.Path)
	switch op.Kind {
	case zk.OpCreate:
		path := op.Path
		if op.Sequential {
			path += fmt.Sprintf("%010d", t.nodes[parent].count)
			t.nodes[parent].count++
		}
		n := &fakeNode{data: op.Data, stat: zk.Stat{Czxid: t.zxid, Mzxid: t.zxid}}
		if op.Ephemeral {
			n.stat.EphemeralOwner = c.session
		}
		t.nodes[path] = n
		t.fire(path, zk.Created)
		t.fireChild(parent)
		return zk.Result{Path: path, Stat: n.stat}
	case zk.OpSet:
		n := t.nodes[op.Path]
		n.data = op.Data
		n.stat.Version++
		n.stat.Mzxid = t.zxid
		t.fire(op.Path, zk.DataChanged)
		return zk.Result{Stat: n.stat}
	case zk.OpDelete:
		delete(t.nodes, op.Path)
		t.fire(op.Path, zk.Deleted)
		t.fireChild(parent)
	}
	return zk.Result{}
}

func (t *fakeTree) fire(path string, what zk.EventType) {
	for c := range t.clients {
		if c.armed["d"+path] {
			delete(c.armed, "d"+path)
			c.deliver(func() {
				t.mu.Lock()
				f := c.data[path]
				t.mu.Unlock()
				if f != nil {
					f(what)
				}
			})
		}
	}
}

func (t *fakeTree) fireChild(path string) {
	for c := range t.clients {
		if c.armed["c"+path] {
			delete(c.armed, "c"+path)
			c.deliver(func() {
				t.mu.Lock()
				f := c.child[path]
				t.mu.Unlock()
				if f != nil {
					f(zk.ChildrenChanged)
				}
			})
		}
	}
}

func (c *fakeClient) deliver(f func()) {
	if c.holding {
		c.held = append(c.held, f)
		return
	}
	c.events.put(f)
}

// hold keeps events back until release.
func (c *fakeClient) hold() {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.holding = true
}

func (c *fakeClient) release() {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.holding = false
	for _, f := range c.held {
		c.events.put(f)
	}
	c.held = nil
}

// endSession removes the session's nodes; the client does not know yet.
func (c *fakeClient) endSession() {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	c.tree.zxid++
	var gone []string
	for path, n := range c.tree.nodes {
		if n.stat.EphemeralOwner == c.session && n.stat.EphemeralOwner != 0 {
			gone = append(gone, path)
		}
	}
	slices.Sort(gone)
	for _, path := range gone {
		c.tree.apply(c, zk.DeleteOp(path, zk.AnyVersion))
	}
	c.session = 0
	c.expired = true
	c.armed = map[string]bool{}
	c.held = nil // what was on its way to it is lost
}

// newSession is what the client does once it learns that its session ended.
func (c *fakeClient) newSession() {
	c.tree.mu.Lock()
	before, after := c.before, c.after
	c.tree.mu.Unlock()
	if before != nil {
		before()
	}
	c.tree.mu.Lock()
	c.tree.sessions++
	c.session, c.expired = c.tree.sessions, false
	c.tree.mu.Unlock()
	if after != nil {
		after()
	}
	c.reread()
}

// reread tells every handler that its path may have changed unseen.
func (c *fakeClient) reread() {
	c.tree.mu.Lock()
	defer c.tree.mu.Unlock()
	for _, fs := range []map[string]func(zk.EventType){c.data, c.child} {
		for _, path := range sortedKeys(fs) {
			f := fs[path]
			c.deliver(func() { f(zk.Reread) })
		}
	}
}

// Writes by hand, recorded under a name.
func (t *fakeTree) write(name string, op zk.Op) zk.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.transaction(&fakeClient{name: name}, []zk.Op{op})[0]
}

func (t *fakeTree) get(path string) (data []byte, stat zk.Stat, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.nodes[path]
	if !ok {
		return nil, zk.Stat{}, false
	}
	return n.data, n.stat, true
}

// takeWrites returns what was written since the last call.
func (t *fakeTree) takeWrites() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.writes
	t.writes = nil
	return w
}

var timestamp = regexp.MustCompile(`"timestamp":"[0-9]+"`)

func (t *fakeTree) record(who string, ops []zk.Op, results []zk.Result) {
	parts := make([]string, len(ops))
	for i, op := range ops {
		parts[i] = describe(op, results[i])
	}
	line := strings.Join(parts, "; ")
	if len(ops) > 1 {
		line = "[" + line + "]"
	}
	t.writes = append(t.writes, who+" "+timestamp.ReplaceAllString(line, `"timestamp":"TIMESTAMP"`))
}

// describe is one operation as timeline.md writes it.
func describe(op zk.Op, r zk.Result) string {
	version := fmt.Sprintf("v%d", op.Version)
	if op.Version == zk.AnyVersion {
		version = "any version"
	}
	var s string
	switch op.Kind {
	case zk.OpCheck:
		s = fmt.Sprintf("check %s is %s", op.Path, version)
	case zk.OpCreate:
		s = "create " + op.Path
		if op.Sequential {
			s = "create " + r.Path + " (sequential)"
		}
		if op.Ephemeral {
			s += " (ephemeral)"
		}
		if op.Data != nil {
			s += " = " + string(op.Data)
		}
	case zk.OpSet:
		s = fmt.Sprintf("setData %s %s", op.Path, version)
		if r.Err == nil {
			s += fmt.Sprintf(" -> v%d", r.Stat.Version)
		}
		s += " = " + string(op.Data)
	case zk.OpDelete:
		s = "delete " + op.Path
	}
	if r.Err != nil {
		s += " FAILS " + r.Err.Error()
	}
	return s
}
