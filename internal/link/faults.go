package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"kz/internal/journal"
)

// Faults is a table of faults on the links between named nodes. Network gives a node its
// wrapped network. A link has two directions; each is a row:
//
//	cut     silence: bytes stay where they are until the cut is healed, as TCP's
//	        retransmission would have it; a Dial waits
//	refuse  a new Dial is refused; open connections live
//	delay   everything arrives that much later, in order
//	drop    the next n requests, or answers, of one API disappear
//
// and Reset breaks the open connections of a link, once. A node that dials applies the
// rows of both directions to its connections, so it is enough, and needed, that both ends
// of a link dial through a Faults that knows the row; accepted connections are untouched.
// Several processes each keep their own table of the same rows.
type Faults struct {
	journal *journal.Journal // told of every change and every dropped frame; nil: nobody

	mu      sync.Mutex          // guards what follows; before a half's lock
	nodes   map[string]string   // canonical address → name of the node that listens there
	rows    map[direction]row   // directions with faults
	conns   map[*faultConn]bool // open connections
	changed chan struct{}       // closed and replaced when a row changes
}

// direction is the way from one node to another.
type direction struct{ from, to string }

// row is what is wrong with one direction. Rows are values: a change makes a new one.
type row struct {
	cut    bool
	refuse bool
	delay  time.Duration
	drops  []*drop
}

// drop is a Drop on its way to being used up; connections of the link share it.
type drop struct {
	Drop
	id   string // of its Rule, or ""
	left atomic.Int64
}

// Drop says which frames disappear. On a direction A → B, requests are those that A sends
// to B, and answers those that A gives to B.
type Drop struct {
	Key    int16  // the API
	API    string // its name, for people; empty: the key is shown
	Answer bool   // its answers instead of its requests
	Count  int    // how many
}

// NewFaults is a table without faults. j may be nil.
func NewFaults(j *journal.Journal) *Faults {
	return &Faults{
		journal: j,
		nodes:   map[string]string{},
		rows:    map[direction]row{},
		conns:   map[*faultConn]bool{},
		changed: make(chan struct{}),
	}
}

// Name says which node is reached at an address, for nodes that do not listen through
// this table. A node without a name is called by its address.
func (f *Faults) Name(addr, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[canonical(addr)] = node
}

// Cut silences the direction from → to until it is healed.
func (f *Faults) Cut(from, to string) { f.change(from, to, "cut", func(r *row) { r.cut = true }) }

// Refuse lets no new connection be dialed from → to until it is healed.
func (f *Faults) Refuse(from, to string) {
	f.change(from, to, "refuse", func(r *row) { r.refuse = true })
}

// Delay makes everything from → to arrive d later. 0 ends it.
func (f *Faults) Delay(from, to string, d time.Duration) {
	f.change(from, to, fmt.Sprintf("delay %v", d), func(r *row) { r.delay = max(d, 0) })
}

// Drop makes the next frames of one API from → to disappear. Only frames that begin after
// the call count.
func (f *Faults) Drop(from, to string, d Drop) {
	if d.Count <= 0 {
		return
	}
	x := &drop{Drop: d}
	x.left.Store(int64(d.Count))
	f.change(from, to, "drop "+d.String(), func(r *row) { r.drops = append(slices.Clone(r.drops), x) })
}

func (d Drop) String() string {
	return fmt.Sprintf("the next %d of: %s", d.Count, d.frame())
}

// frame is Kafka's name of what is dropped: "FetchResponse".
func (d Drop) frame() string {
	name, kind := d.API, "Request"
	if name == "" {
		name = fmt.Sprintf("api key %d ", d.Key)
	}
	if d.Answer {
		kind = "Response"
	}
	return name + kind
}

// Heal ends all faults of the direction from → to. What was held back arrives; what was
// dropped is gone.
func (f *Faults) Heal(from, to string) { f.change(from, to, "heal", func(r *row) { *r = row{} }) }

// HealAll ends all faults of all links.
func (f *Faults) HealAll() {
	f.mu.Lock()
	var all []direction
	for d := range f.rows {
		all = append(all, d)
	}
	f.mu.Unlock()
	for _, d := range all {
		f.Heal(d.from, d.to)
	}
}

// Reset breaks every open connection between two nodes that one of them dialed through
// this table, and says how many there were.
func (f *Faults) Reset(a, b string) int {
	f.mu.Lock()
	var broken []*faultConn
	for c := range f.conns {
		if c.local == a && c.peer == b || c.local == b && c.peer == a {
			broken = append(broken, c)
		}
	}
	f.mu.Unlock()
	f.tell("%s - %s: reset %d connections", a, b, len(broken))
	for _, c := range broken {
		c.reset()
	}
	return len(broken)
}

// Link is a direction with its faults, for those who show them.
type Link struct {
	From, To string
	Cut      bool
	Refuse   bool
	Delay    time.Duration
	Drops    []Drop // with what is left of each Count
}

// Links lists the directions that have faults, ordered by name.
func (f *Faults) Links() []Link {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Link
	for d, r := range f.rows {
		l := Link{From: d.from, To: d.to, Cut: r.cut, Refuse: r.refuse, Delay: r.delay}
		for _, x := range r.drops {
			if left := x.left.Load(); left > 0 {
				l.Drops = append(l.Drops, Drop{x.Key, x.API, x.Answer, int(left)})
			}
		}
		if l.Cut || l.Refuse || l.Delay > 0 || len(l.Drops) > 0 {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Link) int {
		return slices.Compare([]string{a.From, a.To}, []string{b.From, b.To})
	})
	return out
}

// change edits one row and tells the connections concerned.
func (f *Faults) change(from, to, what string, edit func(*row)) {
	f.tell("%s -> %s: %s", from, to, what)
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.rows[direction{from, to}]
	edit(&r)
	f.setRow(direction{from, to}, r)
}

// setRow replaces a row. The caller holds mu.
func (f *Faults) setRow(d direction, r row) {
	f.rows[d] = r
	for c := range f.conns {
		if c.local == d.from && c.peer == d.to {
			c.out.setRow(r)
		}
		if c.local == d.to && c.peer == d.from {
			c.in.setRow(r)
		}
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Faults) tell(format string, args ...any) {
	if f.journal.On() {
		f.journal.Emit(journal.Event{Kind: journal.Fault, Source: "link", Text: fmt.Sprintf(format, args...)})
	}
}

// tellDropped says that a frame from → to has disappeared.
func (f *Faults) tellDropped(from, to string, d *drop) {
	if f.journal.On() {
		f.journal.Emit(journal.Event{Kind: journal.Fault, Source: "link", From: from, To: to, FaultID: d.id, Result: "dropped",
			Text: fmt.Sprintf("%s -> %s: dropped a %s", from, to, d.frame())})
	}
}

// Network is under as the node sees it: what it dials has the table's faults, and where
// it listens becomes known as the node's address.
func (f *Faults) Network(node string, under Network) Network {
	return &faultNetwork{faults: f, node: node, under: under}
}

type faultNetwork struct {
	faults *Faults
	node   string
	under  Network
}

func (n *faultNetwork) Listen(addr string) (net.Listener, error) {
	l, err := n.under.Listen(addr)
	if err == nil {
		n.faults.Name(l.Addr().String(), n.node)
	}
	return l, err
}

func (n *faultNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	peer, err := n.faults.waitForLink(ctx, n.node, addr)
	if err != nil {
		return nil, err
	}
	c, err := n.under.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return n.faults.adopt(n.node, peer, c), nil
}

// waitForLink is the handshake: it needs both directions, and takes their delays.
func (f *Faults) waitForLink(ctx context.Context, node, addr string) (peer string, err error) {
	delayed := false
	for {
		f.mu.Lock()
		peer = f.peer(addr)
		out, in, changed := f.rows[direction{node, peer}], f.rows[direction{peer, node}], f.changed
		f.mu.Unlock()
		switch {
		case out.refuse:
			return peer, dialError(namedAddr(addr), os.NewSyscallError("connect", syscall.ECONNREFUSED))
		case out.cut || in.cut:
			select {
			case <-changed:
			case <-ctx.Done():
				return peer, dialError(namedAddr(addr), timeoutOf(ctx))
			}
		case out.delay+in.delay > 0 && !delayed:
			delayed = true
			t := time.NewTimer(out.delay + in.delay)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return peer, dialError(namedAddr(addr), timeoutOf(ctx))
			}
		default:
			return peer, nil
		}
	}
}

// timeoutOf is a dialer's error for a context that ended: a net.Error like TCP's.
func timeoutOf(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return ctx.Err()
}

// peer is the name of the node at addr. The caller holds mu.
func (f *Faults) peer(addr string) string {
	if node, ok := f.nodes[canonical(addr)]; ok {
		return node
	}
	return addr
}

func (f *Faults) adopt(local, peer string, under net.Conn) *faultConn {
	c := newFaultConn(f, local, peer, under)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = true
	c.out.setRow(f.rows[direction{local, peer}])
	c.in.setRow(f.rows[direction{peer, local}])
	return c
}

func (f *Faults) forget(c *faultConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}
