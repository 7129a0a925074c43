package link

import (
	"slices"
	"time"
)

// A Rule is one thing that is wrong with one direction, under an id. Who keeps a list of
// them, as the supervisor of a cluster does, sets them all at once instead of editing rows.
type Rule struct {
	ID     string        `json:"id"`
	From   string        `json:"from"`
	To     string        `json:"to"`
	Cut    bool          `json:"cut,omitempty"`
	Refuse bool          `json:"refuse,omitempty"`
	Delay  time.Duration `json:"delay,omitempty"`
	Drop   *Drop         `json:"drop,omitempty"`
}

// Set makes rules everything that is wrong from now on. A drop whose id and direction were
// there before goes on with what is left of its count. Several delays of a direction do not
// add up: the longest counts. Nobody is told, but of every dropped frame.
func (f *Faults) Set(rules []Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := map[direction]row{}
	for d := range f.rows {
		rows[d] = row{} // healed, unless a rule says otherwise
	}
	for _, x := range rules {
		d := direction{x.From, x.To}
		r := rows[d]
		r.cut = r.cut || x.Cut
		r.refuse = r.refuse || x.Refuse
		r.delay = max(r.delay, x.Delay)
		if x.Drop != nil && x.Drop.Count > 0 {
			r.drops = append(r.drops, f.dropOf(d, x))
		}
		rows[d] = r
	}
	for d, r := range rows {
		if !r.equal(f.rows[d]) {
			f.setRow(d, r)
		}
	}
}

// dropOf is the drop that a rule means: the one on its way, or a new one. The caller holds mu.
func (f *Faults) dropOf(d direction, x Rule) *drop {
	for _, old := range f.rows[d].drops {
		if old.id == x.ID {
			return old
		}
	}
	made := &drop{Drop: *x.Drop, id: x.ID}
	made.left.Store(int64(x.Drop.Count))
	return made
}

func (r row) equal(o row) bool {
	return r.cut == o.cut && r.refuse == o.refuse && r.delay == o.delay && slices.Equal(r.drops, o.drops)
}
