package up

import (
	"fmt"
	"regexp"
	"strings"

	"kz/internal/journal"
)

// A Narrator tells events in sentences. It remembers whose ZooKeeper session is whose, so
// it should see all events of a cluster, also those that are not to be told.
type Narrator struct {
	sessions map[string]string // session → node
	expired  map[string]bool   // sessions whose ephemerals ZooKeeper removes by itself
}

// NewNarrator knows nobody yet.
func NewNarrator() *Narrator {
	return &Narrator{sessions: map[string]string{}, expired: map[string]bool{}}
}

// sentences tell an event; a kind that is not here is not told. An empty sentence is none.
var sentences = map[journal.Kind]func(*Narrator, Event) string{
	journal.NodeStarted: func(_ *Narrator, e Event) string { return e.To + " starts: " + e.Text },
	journal.NodeEnded:   func(_ *Narrator, e Event) string { return e.To + " has ended: " + e.Text },
	journal.Fault:       (*Narrator).fault,

	journal.BrokerStarted:  says(func(Event) string { return "serves" }),
	journal.BrokerStopping: says(func(Event) string { return "stops" }),
	journal.SessionExpired: (*Narrator).sessionExpired,
	journal.ZnodeWrite:     (*Narrator).write,
	journal.ControllerOn:   says(func(e Event) string { return fmt.Sprintf("is the controller, epoch %d", e.ControllerEpoch) }),
	journal.ControllerOff:  says(func(Event) string { return "is no longer the controller" }),
	journal.Election: says(func(e Event) string {
		return fmt.Sprintf("elected broker %d leader of %s-%d, epoch %d, ISR %v", e.Leader, e.Topic, e.Partition, e.LeaderEpoch, e.ISR)
	}),
	journal.ISRShrink: says(func(e Event) string { return isrChange("shrank", e) }),
	journal.ISRExpand: says(func(e Event) string { return isrChange("grew", e) }),
	journal.Truncation: says(func(e Event) string {
		return fmt.Sprintf("truncated %s-%d to offset %d", e.Topic, e.Partition, e.Offset)
	}),
	journal.GroupState: says(func(e Event) string {
		if e.To == "CompletingRebalance" { // a moment between the two that are told
			return ""
		}
		return fmt.Sprintf("has group %s: %s -> %s, generation %d: %s", e.Group, e.From, e.To, e.Generation, e.Text)
	}),
	journal.LogDirFailed: says(func(e Event) string { return "lost a log directory: " + e.Text }),
}

// says begins with who says it.
func says(what func(Event) string) func(*Narrator, Event) string {
	return func(_ *Narrator, e Event) string {
		if s := what(e); s != "" {
			return e.Src + " " + s
		}
		return ""
	}
}

func isrChange(how string, e Event) string {
	s := fmt.Sprintf("%s the ISR of %s-%d to %v: state znode v%d to v%d", how, e.Topic, e.Partition, e.ISR, e.VersionBefore, e.VersionAfter)
	if e.Result != "ok" && e.Result != "" {
		s = fmt.Sprintf("could not change the ISR of %s-%d to %v: %s", e.Topic, e.Partition, e.ISR, e.Result)
	}
	return s
}

// Tell is the event in a sentence; "" when it is not worth one.
func (n *Narrator) Tell(e Event) string {
	n.learn(e)
	if say := sentences[e.Kind]; say != nil {
		return say(n, e)
	}
	return ""
}

// learn remembers whose session it is.
func (n *Narrator) learn(e Event) {
	if e.Kind == journal.SessionOpened && e.Src != zooName && e.Session != "" {
		n.sessions[e.Session] = e.Src
	}
	if e.Kind == journal.SessionExpired && e.Src == zooName {
		n.expired[e.Session] = true
	}
}

func (n *Narrator) fault(e Event) string {
	switch {
	case e.Src == SourceSupervisor:
		return "fault " + e.FaultID + ": " + e.Text
	case e.Result == resultReached, e.Result == resultDropped:
		return "fault " + e.FaultID + " in " + e.Src + ": " + e.Text
	}
	return "" // what a broker says of its own table, the supervisor has said
}

func (n *Narrator) sessionExpired(e Event) string {
	if e.Src != zooName {
		return fmt.Sprintf("%s has lost its session %s: it expired", e.Src, e.Session)
	}
	return fmt.Sprintf("zookeeper: session %s%s expired: %s", e.Session, n.of(e.Session), e.Text)
}

// of names the owner of a session, if it is known.
func (n *Narrator) of(session string) string {
	if who := n.sessions[session]; who != "" {
		return " (" + who + ")"
	}
	return ""
}

// worthTelling are the znodes that decide: who lives, who rules, who leads.
var worthTelling = regexp.MustCompile(`^(/controller|/controller_epoch|/brokers/ids/\d+|/brokers/topics/[^/]+/partitions/\d+/state)$`)

// write tells ZooKeeper's own word of a write; what its clients say of it is the same.
func (n *Narrator) write(e Event) string {
	if e.Src != zooName || !worthTelling.MatchString(e.Path) {
		return ""
	}
	return "zookeeper: " + e.Path + " " + change(e) + ", by session " + e.Session + n.of(e.Session)
}

// change is what a write did to a znode.
func change(e Event) string {
	switch op := strings.ToLower(e.Text); {
	case e.Result != "ok":
		return fmt.Sprintf("stays v%d: %s is answered %s", e.VersionBefore, op, e.Result)
	case e.VersionAfter < 0:
		return "is gone"
	case strings.HasPrefix(op, "create"):
		return "is created"
	}
	return fmt.Sprintf("v%d to v%d", e.VersionBefore, e.VersionAfter)
}

// A Teller tells what happens in a running cluster, from now on. It is for one goroutine.
type Teller struct {
	*Stream
	narrator *Narrator
	from     int64 // what is older is only learned from
}

// Tell begins now.
func (c *Cluster) Tell() (*Teller, error) {
	m := c.merged()
	if m == nil {
		return nil, errNotStarted
	}
	from := m.last()
	stream, err := c.Stream(m.opened)
	return &Teller{stream, NewNarrator(), from}, err
}

// Next gives the sentences of what has happened since the last call.
func (t *Teller) Next() []string {
	var out []string
	for {
		events, err := t.Stream.Next()
		if err != nil || len(events) == 0 {
			return out
		}
		for _, ev := range events {
			if s := t.narrator.Tell(ev); s != "" && ev.Seq > t.from {
				out = append(out, s)
			}
		}
	}
}
