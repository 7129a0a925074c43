package zkrelay

import (
	"bufio"
	"io"
	"net"
	"slices"
	"sync"
)

// Relay stands before one server.
type Relay struct {
	server string
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows, and the doors' fields
	doors  map[string]*door
	calls  []*Call
	open   map[answerKey]*Call // sent, not yet answered
	who    map[int64]string    // session -> door
	conns  map[net.Conn]bool
	closed bool
}

// answerKey is what an answer is found by: a session's xids do not repeat while they wait.
type answerKey struct {
	session int64
	xid     int32
}

type door struct {
	who     string
	l       net.Listener
	held    bool // what the server says waits
	holdAt  func(Call) bool
	shut    bool          // nothing passes, new connections wait
	changed chan struct{} // closed and made anew when held or shut change
}

// New makes a relay before the server at addr.
func New(addr string) *Relay {
	return &Relay{server: addr, doors: map[string]*door{}, open: map[answerKey]*Call{}, who: map[int64]string{}, conns: map[net.Conn]bool{}}
}

// Door is the address of who's door, opened at the first call.
func (r *Relay) Door(who string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.doors[who]; ok {
		return d.l.Addr().String(), nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d := &door{who: who, l: l, changed: make(chan struct{})}
	r.doors[who] = d
	r.wg.Go(func() { r.accept(d) })
	return l.Addr().String(), nil
}

// Hold keeps back what the server says to who, who may go on asking, until Release.
func (r *Relay) Hold(who string) { r.set(who, true, false) }

// HoldAt is Hold from the first call on that at accepts: its answer is kept back, the call itself
// reaches the server. at must not call the relay.
func (r *Relay) HoldAt(who string, at func(Call) bool) {
	r.set(who, false, false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doors[who].holdAt = at
}

// Shut lets nothing pass in either direction, and no new connection reach the server, until Release.
// Connections stay open and silent.
func (r *Relay) Shut(who string) { r.set(who, false, true) }

// Release lets everything pass, what was kept back first.
func (r *Relay) Release(who string) { r.set(who, false, false) }

func (r *Relay) set(who string, held, shut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.doors[who]
	if !ok {
		panic("zkrelay: there is no door of " + who)
	}
	d.held, d.shut, d.holdAt = held, shut, nil
	close(d.changed)
	d.changed = make(chan struct{})
}

// Calls is everything said so far, in the order in which the relay heard the questions.
func (r *Relay) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Call, len(r.calls))
	for i, c := range r.calls {
		out[i] = *c
		out[i].Parts = slices.Clone(c.Parts)
	}
	return out
}

// Who is the door behind which a session was opened; "" for a session that the relay has not seen.
func (r *Relay) Who(session int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.who[session]
}

// Close ends all connections and waits for their goroutines.
func (r *Relay) Close() {
	r.mu.Lock()
	r.closed = true
	for _, d := range r.doors {
		d.l.Close()
		close(d.changed)
		d.changed = make(chan struct{})
	}
	for c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *Relay) accept(d *door) {
	for {
		client, err := d.l.Accept()
		if err != nil {
			return
		}
		if !r.keep(client) {
			return
		}
		r.wg.Go(func() {
			defer r.drop(client)
			if !r.pass(d, func() bool { return d.shut }) {
				return
			}
			server, err := net.Dial("tcp", r.server)
			if err != nil || !r.keep(server) {
				return
			}
			defer r.drop(server)
			p := &pair{relay: r, door: d, client: client, server: server}
			up := make(chan struct{})
			go func() {
				defer close(up)
				p.up()
				server.Close()
			}()
			p.down()
			client.Close()
			<-up
		})
	}
}

func (r *Relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.Close()
		return false
	}
	r.conns[c] = true
	return true
}

func (r *Relay) drop(c net.Conn) {
	c.Close()
	r.mu.Lock()
	delete(r.conns, c)
	r.mu.Unlock()
}

// pass waits while stopped holds; false: the relay was closed.
func (r *Relay) pass(d *door, stopped func() bool) bool {
	for {
		r.mu.Lock()
		closed, wait, changed := r.closed, stopped(), d.changed
		r.mu.Unlock()
		if closed {
			return false
		}
		if !wait {
			return true
		}
		<-changed
	}
}

// A pair is one client's connection and its twin to the server.
type pair struct {
	relay          *Relay
	door           *door
	client, server net.Conn

	session int64 // guarded by relay.mu: known once the server has answered the hello
}

// up carries what the client says. A request is noted before it is sent, so that its answer finds it.
func (p *pair) up() {
	in := bufio.NewReader(p.client)
	for hello := true; ; hello = false {
		frame, err := readFrame(in)
		if err != nil {
			return
		}
		if !hello {
			p.relay.asked(p, frame)
		}
		if !p.relay.pass(p.door, func() bool { return p.door.shut }) || !send(p.server, frame) {
			return
		}
	}
}

// down carries what the server says. What is held back is noted already: the server has said it.
func (p *pair) down() {
	in := bufio.NewReader(p.server)
	for hello := true; ; hello = false {
		frame, err := readFrame(in)
		if err != nil {
			return
		}
		if hello {
			p.relay.greeted(p, frame)
		} else {
			p.relay.answered(p, frame)
		}
		if !p.relay.pass(p.door, func() bool { return p.door.held || p.door.shut }) || !send(p.client, frame) {
			return
		}
	}
}

func send(w io.Writer, frame []byte) bool {
	_, err := w.Write(append(appendInt(make([]byte, 0, 4+len(frame)), int32(len(frame))), frame...))
	return err == nil
}

// greeted reads the server's answer to the hello: protocol, timeout, session, password. Session 0: the
// session that the client wanted to go on with has expired.
func (r *Relay) greeted(p *pair, frame []byte) {
	j := &jute{b: frame}
	j.int()
	j.int()
	session := j.long()
	r.mu.Lock()
	defer r.mu.Unlock()
	p.session = session
	if session != 0 {
		r.who[session] = p.door.who
	}
}

func (r *Relay) asked(p *pair, frame []byte) {
	j := &jute{b: frame}
	c := &Call{Who: p.door.who, Xid: j.int()}
	code := j.int()
	if code == opPing {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Session = p.session
	c.request(code, j)
	r.calls = append(r.calls, c)
	r.open[answerKey{c.Session, c.Xid}] = c
	if at := p.door.holdAt; at != nil && at(*c) {
		p.door.held, p.door.holdAt = true, nil
	}
}

// watchXid is the xid of the events that the server sends unasked.
const watchXid = -1

func (r *Relay) answered(p *pair, frame []byte) {
	j := &jute{b: frame}
	xid, zxid, code := j.int(), j.long(), j.int()
	r.mu.Lock()
	defer r.mu.Unlock()
	if xid == watchXid {
		kind := j.int()
		j.int() // the connection's state
		r.calls = append(r.calls, &Call{Who: p.door.who, Session: p.session, Xid: xid, Op: "event", Event: eventNames[kind], Path: j.string(), Answered: true, Zxid: zxid})
		return
	}
	key := answerKey{p.session, xid}
	if c, ok := r.open[key]; ok {
		c.answer(zxid, code, j)
		delete(r.open, key)
	}
}
