package up

import (
	"fmt"

	"kz/internal/journal"
)

// sentences tell an event; a kind that is not here is not told.
var sentences = map[journal.Kind]func(journal.Event) string{
	journal.BrokerStarted:  func(journal.Event) string { return "serves" },
	journal.BrokerStopping: func(journal.Event) string { return "stops" },
	journal.SessionExpired: func(e journal.Event) string { return fmt.Sprintf("session %s expired: %s", e.Session, e.Text) },
	journal.ControllerOn:   func(e journal.Event) string { return fmt.Sprintf("is the controller, epoch %d", e.ControllerEpoch) },
	journal.ControllerOff:  func(journal.Event) string { return "is no longer the controller" },
	journal.Election: func(e journal.Event) string {
		return fmt.Sprintf("elected broker %d leader of %s-%d, epoch %d, ISR %v", e.Leader, e.Topic, e.Partition, e.LeaderEpoch, e.ISR)
	},
	journal.ISRShrink: func(e journal.Event) string {
		return fmt.Sprintf("shrank the ISR of %s-%d to %v", e.Topic, e.Partition, e.ISR)
	},
	journal.ISRExpand: func(e journal.Event) string {
		return fmt.Sprintf("grew the ISR of %s-%d to %v", e.Topic, e.Partition, e.ISR)
	},
	journal.Truncation: func(e journal.Event) string {
		return fmt.Sprintf("truncated %s-%d to offset %d", e.Topic, e.Partition, e.Offset)
	},
	journal.LogDirFailed: func(e journal.Event) string { return "lost a log directory: " + e.Text },
}

// A Teller tells what happens in a cluster in sentences. It is for one goroutine.
type Teller struct {
	cluster *Cluster
	tails   map[string]*Tail
	running map[string]bool
}

// Tell begins now.
func (c *Cluster) Tell() (*Teller, error) {
	t := &Teller{cluster: c, tails: map[string]*Tail{}, running: map[string]bool{}}
	for _, n := range c.Snapshot().Nodes {
		if n.PID == 0 {
			continue
		}
		tail, err := TailFromEnd(n.Journal)
		if err != nil {
			return nil, err
		}
		t.tails[n.Name], t.running[n.Name] = tail, n.Running
	}
	return t, nil
}

// Next gives the sentences of what has happened since the last call. Within a node they
// are in order; between nodes nothing says which came first.
func (t *Teller) Next() []string {
	var out []string
	for _, n := range t.cluster.Snapshot().Nodes {
		tail := t.tails[n.Name]
		if tail == nil {
			continue
		}
		for _, ev := range tail.Next() {
			if say := sentences[ev.Kind]; say != nil {
				out = append(out, n.Name+" "+say(ev))
			}
		}
		if t.running[n.Name] && !n.Running {
			out = append(out, n.Name+" has ended")
		}
		t.running[n.Name] = n.Running
	}
	return out
}
