package up

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/nearest"
	"kz/internal/wire"
)

const (
	ruleWait = 10 * time.Second // for brokers to say that a rule is in force
	maxDelay = 10 * time.Minute
	maxDrops = 1 << 20
)

// Link has something done to a link, and waits until it is in force at both ends.
func (c *Cluster) Link(ctx context.Context, f LinkFault) (Fault, error) {
	return c.done.once(f.ID, f, func() (Fault, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ruleWait+askWait)
		defer cancel()
		return c.doLink(ctx, f)
	})
}

func (c *Cluster) doLink(ctx context.Context, f LinkFault) (Fault, error) {
	rule, err := ruleOf(f)
	if err != nil {
		return Fault{}, err
	}
	a, err := c.resolve(ctx, f.A)
	if err != nil {
		return Fault{}, err
	}
	b, err := c.resolve(ctx, f.B)
	if err != nil {
		return Fault{}, err
	}
	switch {
	case a == b:
		return Fault{}, wrongUsage("%s and %s are one node; a link has two.", f.A, f.B)
	case f.Act == Drop && (a == zooName || b == zooName):
		return Fault{}, wrongUsage("messages can be dropped between brokers only: ZooKeeper does not speak Kafka's protocol.")
	case f.Act == Reset && f.OneWay:
		return Fault{}, wrongUsage("a connection breaks in both directions: reset has no one way.")
	}
	if f.Act != Heal {
		for _, node := range []string{a, b} {
			if err := c.aliveNode(node); err != nil {
				return Fault{}, err
			}
		}
	}
	if err := c.ruling.take(ctx); err != nil {
		return Fault{}, err
	}
	defer c.ruling.give()
	switch f.Act {
	case Heal:
		return c.healLink(ctx, a, b, f.OneWay)
	case Reset:
		return c.resetLink(ctx, a, b)
	}
	return c.addRules(ctx, f, rule, a, b)
}

// ruleOf is the rule without its ends.
func ruleOf(f LinkFault) (r link.Rule, err error) {
	switch f.Act {
	case Cut:
		r.Cut = true
	case Refuse:
		r.Refuse = true
	case Delay:
		if r.Delay = f.Delay; f.Delay <= 0 || f.Delay > maxDelay {
			return r, wrongUsage("a delay must be above 0 and at most %v, such as 200ms.", maxDelay)
		}
	case Drop:
		if f.Count < 1 || f.Count > maxDrops {
			return r, wrongUsage("the count of messages to drop must be 1 to %d.", maxDrops)
		}
		d, err := wire.DropFor(f.Message, f.Count)
		if err != nil {
			if near := nearest.To(f.Message, messages()); near != "" {
				return r, wrongUsage("there is no message %q. Did you mean %q?", f.Message, near)
			}
			return r, wrongUsage("%v.", err)
		}
		r.Drop = &d
	case Reset, Heal:
	default:
		return r, unknownAct(f.Act, Cut, Reset, Refuse, Delay, Drop, Heal)
	}
	return r, nil
}

// messages are all that can be dropped.
func messages() []string {
	var all []string
	for _, v := range wire.Served() {
		name := wire.APIName(v.Key)
		all = append(all, name+"Request", name+"Response")
	}
	return all
}

// aliveNode also knows a ZooKeeper that is not ours.
func (c *Cluster) aliveNode(node string) error {
	if node == zooName && c.cfg.ZooKeeper != "" {
		if !answers(firstServer(c.cfg.ZooKeeper)) {
			return notNow("nothing answers at %s, where ZooKeeper should be.", firstServer(c.cfg.ZooKeeper))
		}
		return nil
	}
	return alive(node, c.process(node))
}

func (c *Cluster) addRules(ctx context.Context, f LinkFault, rule link.Rule, a, b string) (Fault, error) {
	ways := [][2]string{{a, b}, {b, a}}
	arrow := "and"
	if f.OneWay {
		ways, arrow = ways[:1], "to"
	}
	e := &entry{Fault: Fault{Act: f.Act, Nodes: []string{a, b}, State: InForce}}
	for _, w := range ways {
		r := rule
		r.From, r.To = w[0], w[1]
		if rule.Drop != nil {
			d := *rule.Drop
			r.Drop = &d
		}
		e.rules = append(e.rules, r)
	}
	e.Text = linkText(f, a, arrow, b)
	e = c.book.add(e)
	ev := c.events.record(journal.Event{Kind: journal.Fault, From: a, To: b, FaultID: e.ID, Result: InForce, Text: e.Text})
	fault := c.book.since(e, ev)
	return fault, c.ruleBoth(ctx, a, b)
}

func linkText(f LinkFault, a, arrow, b string) string {
	switch f.Act {
	case Cut:
		return fmt.Sprintf("cut %s %s %s: nothing arrives, nobody is told", a, arrow, b)
	case Refuse:
		return fmt.Sprintf("refuse %s %s %s: no new connections", a, arrow, b)
	case Delay:
		return fmt.Sprintf("delay %s %s %s: everything arrives %v later", a, arrow, b, f.Delay)
	}
	each := ""
	if !f.OneWay && f.Count > 1 {
		each = " in each direction"
	}
	return fmt.Sprintf("drop %s %s %s: the next %d %s%s", a, arrow, b, f.Count, f.Message, each)
}

// ruleBoth brings both ends up to date. The caller has the turn.
func (c *Cluster) ruleBoth(ctx context.Context, a, b string) error {
	return errors.Join(c.rule(ctx, a), c.rule(ctx, b))
}

// rule tells a broker all rules that it has to know. One that does not run is told when it
// starts, one that is paused when it is resumed.
func (c *Cluster) rule(ctx context.Context, node string) error {
	p := c.process(node)
	if node == zooName || p == nil || !p.running() || p.paused.Load() {
		return nil // ZooKeeper dials nobody: the brokers' ends of its links do it all
	}
	ctx, cancel := context.WithTimeout(ctx, ruleWait)
	defer cancel()
	_, err := p.obeyed(ctx, Order{Do: orderRules, Rules: c.book.rules(node)})
	if err != nil && !p.running() {
		return nil
	}
	return err
}

func (c *Cluster) healLink(ctx context.Context, a, b string, oneWay bool) (Fault, error) {
	healed := c.book.heal(a, b)
	if !oneWay {
		healed = append(healed, c.book.heal(b, a)...)
	}
	var ids []string
	for _, f := range healed {
		ids = append(ids, f.ID)
	}
	text := fmt.Sprintf("healed %s and %s: no fault of theirs is left", a, b)
	if oneWay {
		text = fmt.Sprintf("healed %s to %s", a, b)
	}
	if len(ids) > 0 {
		text += " (ended: " + strings.Join(ids, ", ") + ")"
	}
	f := Fault{ID: c.book.nextID(), Act: Heal, Nodes: []string{a, b}, State: Done, Text: text}
	if err := c.ruleBoth(ctx, a, b); err != nil {
		return f, err
	}
	ev := c.events.record(journal.Event{Kind: journal.Fault, From: a, To: b, FaultID: f.ID, Result: Healed, Text: text})
	f.Since, f.AtMs = ev.Seq, ev.At
	return f, nil
}

func (c *Cluster) resetLink(ctx context.Context, a, b string) (Fault, error) {
	ctx, cancel := context.WithTimeout(ctx, ruleWait)
	defer cancel()
	f := Fault{ID: c.book.nextID(), Act: Reset, Nodes: []string{a, b}, State: Done}
	count := 0
	for _, way := range [][2]string{{a, b}, {b, a}} {
		p := c.process(way[0])
		if way[0] == zooName || p.paused.Load() {
			continue
		}
		got, err := p.obeyed(ctx, Order{Do: orderReset, Peer: way[1]})
		if err != nil {
			return f, err
		}
		count += got.Count
	}
	f.Text = fmt.Sprintf("reset %s and %s: %d connections broken", a, b, count)
	ev := c.events.record(journal.Event{Kind: journal.Fault, From: a, To: b, FaultID: f.ID, Result: Done, Text: f.Text})
	f.Since, f.AtMs = ev.Seq, ev.At
	return f, nil
}

// Faults lists what is in force or armed, the oldest first.
func (c *Cluster) Faults() []Fault { return c.book.faults() }

// Heal ends all of that: links carry again, moments are disarmed, the paused go on.
func (c *Cluster) Heal(ctx context.Context) ([]Fault, error) {
	if err := c.ruling.take(ctx); err != nil {
		return nil, err
	}
	healed, err := c.healAll(ctx)
	c.ruling.give()
	all := []Fault{}
	for _, e := range healed {
		if e.node != "" {
			err = errors.Join(err, c.letGo(ctx, e))
		}
		f := e.Fault
		f.State = Healed
		ev := Event{}
		if len(f.Nodes) == 2 {
			ev = c.events.record(journal.Event{Kind: journal.Fault, From: f.Nodes[0], To: f.Nodes[1], FaultID: f.ID, Result: Healed, Text: "healed: " + f.Text})
		} else {
			ev = c.events.record(journal.Event{Kind: journal.Fault, To: f.Nodes[0], FaultID: f.ID, Result: Healed, Text: "healed: " + f.Text})
		}
		f.AtMs = ev.At
		all = append(all, f)
	}
	return all, err
}

// healAll empties the book and tells the links. The caller has the turn.
func (c *Cluster) healAll(ctx context.Context) ([]*entry, error) {
	healed := c.book.takeOut(func(*entry) bool { return true })
	var errs []error
	for _, id := range c.IDs() {
		errs = append(errs, c.rule(ctx, BrokerName(id)))
	}
	return healed, errors.Join(errs...)
}

// letGo disarms a moment, or wakes the node that stands at it or was paused.
func (c *Cluster) letGo(ctx context.Context, e *entry) error {
	p := c.process(e.node)
	switch {
	case p == nil || !p.running():
		return nil
	case e.State == Armed:
		_, err := p.obeyed(ctx, Order{Do: orderDisarm, Fault: e.ID})
		return err
	case e.at:
		return c.wake(ctx, p, e.ID)
	default:
		return c.wake(ctx, p, "")
	}
}
