package up

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"kz/internal/journal"
)

// A Diagram draws events as a Mermaid sequence diagram: arrows are what went over a link,
// notes are what was decided, and faults.
//
//	sequenceDiagram
//	    participant ZK as zookeeper
//	    participant B1 as broker-1
//	    Note over B2: kill broker-2 (process 4711) with signal 9
//	    B1->>ZK: set /brokers/topics/orders/partitions/0/state v0 to v1
//	    B1->>B3: LeaderAndIsr v4
type Diagram struct {
	narrator *Narrator
	actors   map[string]bool
	lines    []drawn
	left     int // lines that were left out, the oldest
}

// drawn is a line and how often it came in a row.
type drawn struct {
	text  string
	times int
}

// maxDrawn bounds a diagram: more than a few hundred lines nobody reads.
const maxDrawn = 300

// NewDiagram is empty.
func NewDiagram() *Diagram { return &Diagram{narrator: NewNarrator(), actors: map[string]bool{}} }

// Learn takes an event in that is not to be drawn.
func (d *Diagram) Learn(e Event) { d.narrator.learn(e) }

// Add draws an event; one of a kind that draws nothing is only learned from.
func (d *Diagram) Add(e Event) {
	d.narrator.learn(e)
	text := d.draw(e)
	if text == "" {
		return
	}
	if n := len(d.lines); n > 0 && d.lines[n-1].text == text {
		d.lines[n-1].times++
		return
	}
	if d.lines = append(d.lines, drawn{text, 1}); len(d.lines) > maxDrawn {
		d.lines = slices.Delete(d.lines, 0, 1)
		d.left++
	}
}

// Left is how many of the oldest lines were left out.
func (d *Diagram) Left() int { return d.left }

func (d *Diagram) draw(e Event) string {
	switch e.Kind {
	case journal.ZnodeWrite:
		return d.write(e)
	case journal.WatchFired:
		if who := d.narrator.sessions[e.Session]; e.Src == zooName && who != "" {
			return d.arrow(zooName, "-->>", who, e.Text+" "+e.Path)
		}
	case journal.RequestSent:
		return d.arrow(e.Src, "->>", BrokerName(e.Replica), e.To)
	case journal.BecameLeader:
		return d.note(fmt.Sprintf("leads %s-%d, epoch %d, ISR %v", e.Topic, e.Partition, e.LeaderEpoch, e.ISR), e.Src)
	case journal.Fault:
		if text := d.narrator.fault(e); text != "" {
			return d.note(text, nodesOf(e)...)
		}
	case journal.NodeStarted:
		return d.note("starts", e.To)
	case journal.NodeEnded:
		return d.note("has ended: "+e.Text, e.To)
	default:
		if text := d.narrator.Tell(e); text != "" {
			return d.note(strings.TrimPrefix(strings.TrimPrefix(text, e.Src), ": "), e.Src)
		}
	}
	return ""
}

// nodesOf are the nodes that a fault is about.
func nodesOf(e Event) []string {
	switch {
	case e.Src != SourceSupervisor:
		return []string{e.Src}
	case strings.Contains(e.From, "."), e.From == "": // a moment, or nothing
		return []string{e.To}
	}
	return []string{e.From, e.To}
}

// write is an arrow from who wrote; what ZooKeeper did itself when a session ended is a note.
func (d *Diagram) write(e Event) string {
	if e.Src != zooName || !worthTelling.MatchString(e.Path) {
		return ""
	}
	who := d.narrator.sessions[e.Session]
	text := e.Path + " " + change(e)
	switch {
	case who == "", d.narrator.expired[e.Session]:
		return d.note(text, zooName)
	case e.Result != "ok":
		return d.arrow(who, "-x", zooName, text)
	}
	return d.arrow(who, "->>", zooName, text)
}

func (d *Diagram) arrow(from, arrow, to, text string) string {
	d.actors[from], d.actors[to] = true, true
	return actor(from) + arrow + actor(to) + ": " + plain(text)
}

func (d *Diagram) note(text string, over ...string) string {
	var names []string
	for _, node := range over {
		d.actors[node] = true
		names = append(names, actor(node))
	}
	return "Note over " + strings.Join(names, ",") + ": " + plain(strings.TrimSpace(text))
}

// actor is a name without the dash, which Mermaid would take for an arrow.
func actor(node string) string {
	if node == zooName {
		return "ZK"
	}
	return "B" + shortName(node)
}

// plain leaves out what Mermaid reads as the end of a statement.
func plain(text string) string {
	return strings.NewReplacer(";", ",", "#", "", "\n", " ").Replace(text)
}

// WriteTo prints the diagram.
func (d *Diagram) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	var names []string
	for node := range d.actors {
		names = append(names, node)
	}
	slices.SortFunc(names, func(x, y string) int { // zookeeper, then brokers by id
		switch {
		case x == zooName:
			return -1
		case y == zooName:
			return 1
		case len(x) != len(y):
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	})
	for _, node := range names {
		fmt.Fprintf(&b, "    participant %s as %s\n", actor(node), node)
	}
	for _, l := range d.lines {
		b.WriteString("    " + l.text)
		if l.times > 1 {
			fmt.Fprintf(&b, " (%d times)", l.times)
		}
		b.WriteByte('\n')
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
