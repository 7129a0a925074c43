package up

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"kz/internal/journal"
	"kz/internal/link"
)

// An obedient is a Subject and the two ends of its pipes.
type obedient struct {
	t       *testing.T
	subject *Subject
	orders  *json.Encoder
	answers *json.Decoder
	hangUp  func() error
	ended   chan struct{}
}

func newObedient(t *testing.T, rules ...link.Rule) *obedient {
	t.Helper()
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	j := journal.New(1)
	o := &obedient{t: t, subject: &Subject{Journal: j, Faults: link.NewFaults(j), Flush: func() {}},
		orders: json.NewEncoder(orders), answers: json.NewDecoder(answers), hangUp: orders.Close, ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		r := bufio.NewReader(in)
		if _, err := o.subject.Name(r, out, link.NewMemory()); err != nil {
			t.Error(err)
		}
		o.subject.Obey(r, out)
	}()
	o.give(Order{Do: orderNames, Self: "broker-1", Names: map[string][]string{"broker-2": {"127.0.0.1:9093"}}, Rules: rules})
	t.Cleanup(func() {
		_ = orders.Close()
		<-o.ended
	})
	return o
}

func (o *obedient) give(order Order) answer {
	o.t.Helper()
	var a answer
	if err := o.orders.Encode(order); err != nil {
		o.t.Fatal(err)
	}
	if err := o.answers.Decode(&a); err != nil {
		o.t.Fatal(err)
	}
	return a
}

// The faults of the first order are in force before anything is dialed.
func TestTheFirstOrderBringsTheFaults(t *testing.T) {
	o := newObedient(t, link.Rule{ID: "1", From: "broker-1", To: "broker-2", Refuse: true})
	if l := o.subject.Faults.Links(); len(l) != 1 || !l[0].Refuse {
		t.Errorf("after the first order: %+v", l)
	}
	o.give(Order{Do: orderRules})
	if l := o.subject.Faults.Links(); len(l) != 0 {
		t.Errorf("after no rules: %+v", l)
	}
	if a := o.give(Order{Do: "dance"}); !strings.Contains(a.Error, "dance") {
		t.Errorf("an unknown order: %+v", a)
	}
}

func TestAFirstOrderThatNamesNobodyIsRefused(t *testing.T) {
	s := &Subject{Faults: link.NewFaults(nil)}
	for _, line := range []string{"", "{}\n", "no json\n", `{"do":"rules"}` + "\n"} {
		if _, err := s.Name(bufio.NewReader(strings.NewReader(line)), io.Discard, link.TCP{}); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

// A disarmed moment lets go of nobody and holds nobody; the end of the pipe lets all go.
func TestMomentsEndWithTheirOrders(t *testing.T) {
	o := newObedient(t)
	j := o.subject.Journal
	o.give(Order{Do: orderArm, Arm: &armed{Fault: "1", Act: Pause, Moment: string(journal.MomentLeaderAppend), Detail: "orders-0"}})
	j.At(journal.MomentLeaderAppend, "orders-1") // another partition passes
	o.give(Order{Do: orderDisarm, Fault: "1"})
	j.At(journal.MomentLeaderAppend, "orders-0")
	o.give(Order{Do: orderArm, Arm: &armed{Fault: "2", Act: Pause, Moment: string(journal.MomentLogRoll), Detail: "never"}})
	if err := o.hangUp(); err != nil {
		t.Fatal(err)
	}
	<-o.ended
	if len(o.subject.armed) != 0 {
		t.Errorf("still armed: %v", o.subject.armed)
	}
}

func TestDetails(t *testing.T) {
	for _, c := range []struct {
		want, detail string
		match        bool
	}{
		{"", "orders-0", true}, {"orders-0", "orders-0", true}, {"orders-0", "orders-01", false},
		{"orders-*", "orders-12", true}, {"orders-*", "others-1", false}, {"*", "", true},
	} {
		if got := matches(c.want, c.detail); got != c.match {
			t.Errorf("%q for %q: %v", c.want, c.detail, got)
		}
	}
}

// What does not exist is refused with what was probably meant, and as the asker's mistake;
// what is not possible now is not.
func TestRefusals(t *testing.T) {
	c, err := New(Config{Exe: "never-run", Dir: t.TempDir(), Ports: Brokers(3, 1), ZooPort: 1})
	if err != nil {
		t.Fatal(err)
	}
	node := func(act, node, at string) error {
		_, err := c.Node(context.Background(), NodeFault{ID: act + node + at, Act: act, Node: node, At: at})
		return err
	}
	link := func(f LinkFault) error {
		f.ID = f.Act + f.A + f.B + f.Message
		_, err := c.Link(context.Background(), f)
		return err
	}
	for _, r := range []struct {
		rule  string
		err   error
		usage bool
		want  string
	}{
		{"a node", node(Kill, "brokr-1", ""), true, `Did you mean "broker-1"?`},
		{"an id", node(Kill, "9", ""), true, "There are zookeeper, broker-1"},
		{"an act", node("kil", "1", ""), true, `Did you mean "kill"?`},
		{"a moment", node(Kill, "1", "leader.apend"), true, `Did you mean "leader.append"?`},
		{"a moment like none", node(Kill, "1", "when-i-say-so"), true, "controller.elected, "},
		{"what the controller sends", node(Pause, "1", "controller.send:LeaderAndIs"), true, `Did you mean "LeaderAndIsr"?`},
		{"stop waits for nothing", node(Stop, "1", "leader.append"), true, "cannot wait"},
		{"ZooKeeper has no moments", node(Kill, "zookeeper", "leader.append"), true, "no moments"},
		{"a dead node", node(Kill, "1", ""), false, "broker-1 does not run. Start it: kz node start 1"},
		{"a link of dead nodes", link(LinkFault{Act: Cut, A: "1", B: "2"}), false, "does not run"},
		{"a link with itself", link(LinkFault{Act: Cut, A: "1", B: "broker-1"}), true, "one node"},
		{"a message", link(LinkFault{Act: Drop, A: "1", B: "2", Message: "FechResponse", Count: 1}), true, `Did you mean "FetchResponse"?`},
		{"a count", link(LinkFault{Act: Drop, A: "1", B: "2", Message: "FetchResponse"}), true, "must be 1 to"},
		{"a delay", link(LinkFault{Act: Delay, A: "1", B: "2"}), true, "must be above 0"},
		{"ZooKeeper does not speak Kafka", link(LinkFault{Act: Drop, A: "1", B: "zookeeper", Message: "FetchResponse", Count: 1}), true, "between brokers only"},
	} {
		refused, ok := r.err.(*Refusal)
		if !ok || refused.Usage != r.usage || !strings.Contains(refused.Text, r.want) {
			t.Errorf("%s: %#v, want %q", r.rule, r.err, r.want)
		}
	}
}
