package up

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"kz/internal/journal"
)

// startZoo starts the embedded ZooKeeper and waits until it answers.
func (c *Cluster) startZoo(ctx context.Context) error {
	if err := c.events.follow(zooName, -1, c.JournalFile(zooName)); err != nil {
		return err
	}
	zoo, err := startChild(childSpec{
		name: zooName, exe: c.cfg.Exe, logFile: c.LogFile(zooName), journalFile: c.JournalFile(zooName),
		args: []string{"zookeeper", "--port", strconv.Itoa(c.cfg.ZooPort), "--data-dir", filepath.Join(c.cfg.Dir, zooName),
			"--tick", c.cfg.Profile.tick, "--min-session-timeout", "500ms", "--max-session-timeout", "1m"},
		ended: func(how error) { c.childEnded(zooName, how) },
	})
	if err != nil {
		return err
	}
	if err := c.adopt(zoo, func() { c.zoo = zoo }); err != nil {
		return err
	}
	c.events.record(journal.Event{Kind: journal.NodeStarted, To: zooName, Text: fmt.Sprintf("process %d", zoo.pid())})
	return zoo.ready(ctx, func(*child) bool { return answers(c.ZooKeeper()) })
}

// adopt puts a process in its place, unless the cluster is ending.
func (c *Cluster) adopt(p *child, put func()) error {
	c.mu.Lock()
	closing := c.closing
	put()
	c.mu.Unlock()
	if closing {
		p.kill()
		return notNow("the cluster stops.")
	}
	return nil
}

// launch starts a broker's process, tells it the faults before it dials anybody, and does
// not wait until it serves.
func (c *Cluster) launch(ctx context.Context, id int32) error {
	name := BrokerName(id)
	if err := c.events.follow(name, id, c.JournalFile(name)); err != nil {
		return err
	}
	args := []string{"broker"}
	for _, s := range append([]Setting{
		{Key: "broker.id", Value: fmt.Sprint(id)},
		{Key: "listeners", Value: "PLAINTEXT://" + c.Addr(id)},
		{Key: "log.dirs", Value: c.logDir(id)},
		{Key: "zookeeper.connect", Value: c.ZooKeeper()},
	}, c.settings()...) {
		args = append(args, "--override", s.Key+"="+s.Value)
	}
	if err := c.ruling.take(ctx); err != nil {
		return err
	}
	defer c.ruling.give()
	b, err := startChild(childSpec{
		name: name, exe: c.cfg.Exe, logFile: c.LogFile(name), journalFile: c.JournalFile(name), args: args,
		obeys: true, ended: func(how error) { c.childEnded(name, how) },
	})
	if err != nil {
		return err
	}
	if err := c.adopt(b, func() { c.brokers[id] = b }); err != nil {
		return err
	}
	c.events.record(journal.Event{Kind: journal.NodeStarted, To: name, Text: fmt.Sprintf("process %d", b.pid())})
	_, err = b.order(Order{Do: orderNames, Self: name, Names: c.addresses(), Rules: c.book.rules(name)})
	if err != nil && !b.running() {
		err = nil // who waits until it is ready will tell its last words
	}
	return err
}

func (c *Cluster) logDir(id int32) string { return filepath.Join(c.cfg.Dir, BrokerName(id)) }

// addresses are where each node is reached; several servers of one ZooKeeper are one node.
func (c *Cluster) addresses() map[string][]string {
	servers, _, _ := strings.Cut(c.ZooKeeper(), "/")
	all := map[string][]string{zooName: strings.Split(servers, ",")}
	for _, id := range c.IDs() {
		all[BrokerName(id)] = []string{c.Addr(id)}
	}
	return all
}

// childEnded runs when a process has ended, before anybody else knows.
func (c *Cluster) childEnded(name string, how error) {
	text := "in order"
	if how != nil {
		text = how.Error()
	}
	c.events.record(journal.Event{Kind: journal.NodeEnded, To: name, Text: text})
	for _, e := range c.book.takeOut(func(e *entry) bool { return e.node == name }) {
		switch {
		case e.State == Armed:
			c.events.record(journal.Event{Kind: journal.Fault, To: name, FaultID: e.ID, Result: "void",
				Text: fmt.Sprintf("fault %s waits no longer for its moment: %s has ended", e.ID, name)})
		case e.Act == PowerOff:
			e.State = Done
			_ = c.cutLogs(c.process(name), &e.Fault) // it is told
		}
	}
}

// KillBroker ends a broker as kill -9 does and says which process it was.
func (c *Cluster) KillBroker(id int32) (pid int, err error) {
	b := c.broker(id)
	if b == nil || !b.running() {
		return 0, fmt.Errorf("broker %d does not run", id)
	}
	b.kill()
	return b.pid(), nil
}

// StartBroker starts a broker that has ended and waits until it serves.
func (c *Cluster) StartBroker(ctx context.Context, id int32) error {
	if b := c.broker(id); b != nil && b.running() {
		return fmt.Errorf("broker %d runs already", id)
	}
	if err := c.awaitUnregistered(ctx, id); err != nil {
		return err
	}
	if err := c.launch(ctx, id); err != nil {
		return err
	}
	return c.broker(id).ready(ctx, started)
}
