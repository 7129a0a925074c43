package up

import (
	"slices"
	"strconv"
	"sync"

	"kz/internal/journal"
	"kz/internal/link"
)

// A book holds what is wrong with the cluster at the moment: links with rules, moments
// that are armed, nodes that are paused. What is over is in the journal.
type book struct {
	mu   sync.Mutex // guards what follows; after merged.mu
	last int        // the last id given
	list []*entry   // by id
}

// An entry is a fault and what it takes to end it.
type entry struct {
	Fault
	rules []link.Rule // of a link; Count of a drop is what is left
	node  string      // of an armed moment, or a pause
	at    bool        // it waits for a moment, or stands there
}

// add gives a fault its id; it is in the book from now on.
func (b *book) add(e *entry) *entry {
	e.ID = b.nextID()
	for i := range e.rules {
		e.rules[i].ID = e.ID
	}
	b.put(e)
	return e
}

func (b *book) put(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, e)
}

// nextID is for a fault that is over as soon as it is done, too.
func (b *book) nextID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	return strconv.Itoa(b.last)
}

// since says with which event a fault began.
func (b *book) since(e *entry, ev Event) Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Since == 0 { // or its moment has come already
		e.Since, e.AtMs = ev.Seq, ev.At
	}
	return e.Fault
}

// faults lists what is in the book.
func (b *book) faults() []Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := []Fault{}
	for _, e := range b.list {
		all = append(all, e.Fault)
	}
	return all
}

// takeOut removes the entries for which over says so, and returns them.
func (b *book) takeOut(over func(*entry) bool) (out []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = slices.DeleteFunc(b.list, func(e *entry) bool {
		if !over(e) {
			return false
		}
		out = append(out, e)
		return true
	})
	return out
}

// heal removes the rules of one direction and the faults that have none left.
func (b *book) heal(from, to string) (out []Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = slices.DeleteFunc(b.list, func(e *entry) bool {
		had := len(e.rules)
		e.rules = slices.DeleteFunc(e.rules, func(r link.Rule) bool { return r.From == from && r.To == to })
		if len(e.rules) == 0 && had > 0 {
			e.State = Healed
			out = append(out, e.Fault)
			return true
		}
		return false
	})
	return out
}

// rules are those that a node has to know: all of its directions, but a drop only where
// the frames can be told apart, at the end that dialed.
func (b *book) rules(node string) []link.Rule {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := []link.Rule{}
	for _, e := range b.list {
		for _, r := range e.rules {
			switch {
			case r.Drop == nil && (r.From == node || r.To == node),
				r.Drop != nil && !r.Drop.Answer && r.From == node,
				r.Drop != nil && r.Drop.Answer && r.To == node:
				if r.Drop != nil {
					left := *r.Drop
					r.Drop = &left
				}
				all = append(all, r)
			}
		}
	}
	return all
}

// saw follows what brokers tell of faults: a message dropped, a moment reached. It returns
// the faults whose moment has come.
func (b *book) saw(events []Event) (reached []Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ev := range events {
		if ev.Kind != journal.Fault || ev.FaultID == "" || ev.Src == SourceSupervisor {
			continue
		}
		for i, e := range b.list {
			if e.ID != ev.FaultID {
				continue
			}
			switch ev.Result {
			case resultReached:
				e.State, e.Since, e.AtMs = InForce, ev.Seq, ev.At
				reached = append(reached, e.Fault)
			case resultDropped:
				if e.dropped(ev) {
					b.list = slices.Delete(b.list, i, i+1)
				}
			}
			break
		}
	}
	return reached
}

// dropped counts a message and says whether it was the last.
func (e *entry) dropped(ev Event) bool {
	left := 0
	for _, r := range e.rules {
		if r.From == ev.From && r.To == ev.To && r.Drop.Count > 0 {
			r.Drop.Count--
		}
		left += r.Drop.Count
	}
	if left == 0 {
		e.State = UsedUp
	}
	return left == 0
}
