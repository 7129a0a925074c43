package up

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/internal/journal"
	"kz/internal/nearest"
)

// actWait is how long what is done to a node may take; a start waits until the broker
// serves, after the session of its predecessor has ended.
const actWait = time.Minute

// nodeActs are the acts, and what each does to a process that runs; start has none.
var nodeActs = map[string]func(*Cluster, context.Context, *child, *Fault) error{
	Kill:     (*Cluster).killNode,
	PowerOff: (*Cluster).powerOffNode,
	Stop:     (*Cluster).stopNode,
	Pause:    (*Cluster).pauseNode,
	Resume:   (*Cluster).resumeNode,
	Start:    nil,
}

// Node has something done to a node, and waits until it is done or armed.
func (c *Cluster) Node(ctx context.Context, f NodeFault) (Fault, error) {
	return c.done.once(f.ID, f, func() (Fault, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actWait) // who asked may ask again
		defer cancel()
		return c.doNode(ctx, f)
	})
}

func (c *Cluster) doNode(ctx context.Context, f NodeFault) (Fault, error) {
	if _, ok := nodeActs[f.Act]; !ok {
		return Fault{}, unknownAct(f.Act, Kill, PowerOff, Stop, Pause, Resume, Start)
	}
	name, err := c.resolve(ctx, f.Node)
	if err != nil {
		return Fault{}, err
	}
	if f.At != "" {
		return c.armNode(ctx, name, f)
	}
	if err := c.begin(name, f.Act); err != nil {
		return Fault{}, err
	}
	defer c.end(name)
	p := c.process(name)
	if name == zooName && c.cfg.ZooKeeper != "" {
		return Fault{}, notNow("the ZooKeeper at %s is not ours: nothing can be done to it, only to links to it.", c.cfg.ZooKeeper)
	}
	if f.Act == Start {
		return c.startNode(ctx, name, p)
	}
	if err := alive(name, p); err != nil {
		return Fault{}, err
	}
	done := &Fault{Act: f.Act, Nodes: []string{name}, State: Done}
	err = nodeActs[f.Act](c, ctx, p, done)
	return *done, err
}

func unknownAct(act string, known ...string) error {
	if near := nearest.To(act, known); near != "" {
		return wrongUsage("there is no %q. Did you mean %q?", act, near)
	}
	return wrongUsage("there is no %q. There are %s.", act, strings.Join(known, ", "))
}

// begin keeps two acts on one node apart.
func (c *Cluster) begin(node, act string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.busy[node]; now != "" {
		return notNow("%s: another request is under way: %s.", node, now)
	}
	c.busy[node] = act
	return nil
}

func (c *Cluster) end(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, node)
}

// process is the node's latest process; nil: never started, or not ours.
func (c *Cluster) process(node string) *child {
	if node == zooName {
		return c.zookeeper()
	}
	for _, id := range c.IDs() {
		if BrokerName(id) == node {
			return c.broker(id)
		}
	}
	return nil
}

func alive(node string, p *child) error {
	if p == nil || !p.running() {
		return notNow("%s does not run. Start it: kz node start %s", node, shortName(node))
	}
	return nil
}

// shortName is what one types.
func shortName(node string) string { return strings.TrimPrefix(node, "broker-") }

// tell writes down what is done to a node: before it is done, so that it comes before
// what it leads to.
func (c *Cluster) tell(f *Fault, format string, args ...any) {
	if f.ID == "" { // what is refused before it is told has none
		f.ID = c.book.nextID()
	}
	f.Text = fmt.Sprintf(format, args...)
	ev := c.events.record(journal.Event{Kind: journal.Fault, To: f.Nodes[0], FaultID: f.ID, Result: f.State, Text: f.Text})
	f.Since, f.AtMs = ev.Seq, ev.At
}

func (c *Cluster) killNode(_ context.Context, p *child, f *Fault) error {
	c.tell(f, "kill %s (process %d) with signal 9", p.name, p.pid())
	p.kill()
	return nil
}

// powerOffNode: ZooKeeper has everything on disk before it answers, so it loses nothing more.
func (c *Cluster) powerOffNode(_ context.Context, p *child, f *Fault) error {
	c.tell(f, "cut the power of %s (process %d)", p.name, p.pid())
	p.kill()
	if p.name == zooName {
		f.Text += "; what it has acknowledged was on disk"
		return nil
	}
	return c.cutLogs(p, f)
}

func (c *Cluster) stopNode(ctx context.Context, p *child, f *Fault) error {
	if p.paused.Load() {
		return notNow("%s is paused and cannot hear. Resume or kill it first: kz node resume %s", p.name, shortName(p.name))
	}
	c.tell(f, "stop %s (process %d) in order", p.name, p.pid())
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	p.stop(ctx)
	if ctx.Err() != nil {
		return notNow("%s had not stopped after %v and was killed; what it did is in %s", p.name, stopWait, p.logFile)
	}
	return nil
}

func (c *Cluster) pauseNode(_ context.Context, p *child, f *Fault) error {
	if p.paused.Load() {
		return notNow("%s is paused already.", p.name)
	}
	if err := canPause(); err != nil {
		return notNow("%v.", err)
	}
	f.State = InForce
	c.tell(f, "pause %s (process %d): nothing in it runs", p.name, p.pid())
	if err := p.pause(); err != nil {
		return notNow("%s: %v.", p.name, err)
	}
	c.book.put(&entry{Fault: *f, node: p.name})
	return nil
}

func (c *Cluster) resumeNode(ctx context.Context, p *child, f *Fault) error {
	if !p.paused.Load() {
		return notNow("%s is not paused.", p.name)
	}
	moment := ""
	for _, e := range c.book.takeOut(func(e *entry) bool { return e.node == p.name && e.Act == Pause && e.State == InForce }) {
		if e.at {
			moment = e.ID
		}
	}
	c.tell(f, "resume %s (process %d)", p.name, p.pid())
	return c.wake(ctx, p, moment)
}

// wake lets a process go on and tells it what has become of the links meanwhile.
func (c *Cluster) wake(ctx context.Context, p *child, moment string) error {
	if err := p.resume(ctx, moment); err != nil || p.name == zooName {
		return err
	}
	if err := c.ruling.take(ctx); err != nil {
		return err
	}
	defer c.ruling.give()
	return c.rule(ctx, p.name)
}

func (c *Cluster) startNode(ctx context.Context, name string, p *child) (Fault, error) {
	if p != nil && p.running() {
		return Fault{}, notNow("%s runs already.", name)
	}
	var err error
	if name == zooName {
		err = c.startZoo(ctx)
	} else {
		i := slices.IndexFunc(c.IDs(), func(id int32) bool { return BrokerName(id) == name })
		err = c.StartBroker(ctx, c.IDs()[i])
	}
	if err != nil {
		return Fault{}, notNow("%v", err)
	}
	f := Fault{Act: Start, Nodes: []string{name}, State: Done}
	c.tell(&f, "%s serves again", name)
	return f, nil
}

// armNode arms a moment in a broker.
func (c *Cluster) armNode(ctx context.Context, name string, f NodeFault) (Fault, error) {
	moment, detail, err := parseMoment(f.At)
	switch {
	case err != nil:
		return Fault{}, err
	case f.Act != Kill && f.Act != PowerOff && f.Act != Pause:
		return Fault{}, wrongUsage("%s cannot wait for a moment; kill, power-off and pause can.", f.Act)
	case name == zooName:
		return Fault{}, wrongUsage("zookeeper has no moments; brokers have.")
	case f.Act == Pause && canPause() != nil:
		return Fault{}, notNow("%v.", canPause())
	}
	p := c.process(name)
	if err := alive(name, p); err != nil {
		return Fault{}, err
	}
	if p.paused.Load() {
		return Fault{}, notNow("%s is paused: nothing can be armed in it.", name)
	}
	act := f.Act
	if act == PowerOff {
		act = Kill // what becomes of the logs is ours to do
	}
	e := c.book.add(&entry{node: name, at: true, Fault: Fault{
		Act: f.Act, Nodes: []string{name}, State: Armed, Text: fmt.Sprintf("%s %s when %s comes", f.Act, name, f.At),
	}})
	ev := c.events.record(journal.Event{Kind: journal.Fault, To: name, FaultID: e.ID, From: moment, Result: Armed, Text: e.Text})
	if _, err := p.obeyed(ctx, Order{Do: orderArm, Arm: &armed{Fault: e.ID, Act: act, Moment: moment, Detail: detail}}); err != nil {
		c.book.takeOut(func(x *entry) bool { return x == e })
		return Fault{}, err
	}
	return c.book.since(e, ev), nil
}
