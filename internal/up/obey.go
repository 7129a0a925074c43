package up

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"kz/internal/journal"
	"kz/internal/link"
)

// A Subject is a broker as orders see it. It obeys the lines of a pipe until the pipe ends.
type Subject struct {
	Journal *journal.Journal
	Faults  *link.Faults
	Flush   func() // writes the journal's file before the process dies or stops

	self string // who it is; set by Name

	mu    sync.Mutex // guards what follows; held while the process stops itself
	armed map[string]*breakpoint
}

// A breakpoint is an armed moment.
type breakpoint struct {
	armed
	subject *Subject
	disarm  func()
	reached bool          // guarded by subject.mu
	over    bool          // guarded by subject.mu: resumed, or disarmed
	hold    chan struct{} // closed when over
}

// Name reads the first order, which says who everybody is. The network that is returned
// is the node's own.
func (s *Subject) Name(in *bufio.Reader, out io.Writer, under link.Network) (link.Network, error) {
	var o Order
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err == nil && (o.Do != orderNames || o.Self == "") {
		err = errors.New("it does not say who this is")
	}
	if err != nil {
		return nil, fmt.Errorf("the first order: %w", err)
	}
	for node, addrs := range o.Names {
		for _, addr := range addrs {
			s.Faults.Name(addr, node)
		}
	}
	s.self = o.Self
	s.Faults.Set(o.Rules)
	return s.Faults.Network(o.Self, under), json.NewEncoder(out).Encode(answer{N: o.N})
}

// Obey follows orders until in ends. Then whatever stands at a moment goes on, because the
// end of the pipe asks the process to stop.
func (s *Subject) Obey(in *bufio.Reader, out io.Writer) {
	answers := json.NewEncoder(out)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			s.release(func(*breakpoint) bool { return true })
			return
		}
		var o Order
		if json.Unmarshal(line, &o) != nil {
			continue // half a line of a supervisor that was killed
		}
		if answers.Encode(s.follow(o)) != nil {
			s.release(func(*breakpoint) bool { return true })
			return
		}
	}
}

func (s *Subject) follow(o Order) answer {
	a := answer{N: o.N}
	switch o.Do {
	case orderRules:
		s.Faults.Set(o.Rules)
	case orderReset:
		a.Count = s.Faults.Reset(s.self, o.Peer)
	case orderArm:
		s.arm(*o.Arm)
	case orderDisarm, orderResume:
		s.release(func(b *breakpoint) bool { return b.Fault == o.Fault })
	default:
		a.Error = "no such order: " + o.Do
	}
	return a
}

func (s *Subject) arm(a armed) {
	b := &breakpoint{armed: a, subject: s, hold: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed == nil {
		s.armed = map[string]*breakpoint{}
	}
	s.armed[a.Fault] = b
	b.disarm = s.Journal.Arm(journal.Moment(a.Moment), b.at)
}

// release ends breakpoints: those that wait, and those at which everything stands.
func (s *Subject) release(which func(*breakpoint) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range s.armed {
		if which(b) && !b.over {
			b.over = true
			b.disarm()
			close(b.hold)
			delete(s.armed, id)
		}
	}
}

// at runs when the moment comes, on the goroutine that came to it. Nobody passes: those
// who come second wait with the first one.
func (b *breakpoint) at(detail string) {
	if !matches(b.Detail, detail) {
		return
	}
	b.subject.reach(b, detail)
	<-b.hold
}

func (s *Subject) reach(b *breakpoint, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.over || b.reached {
		return
	}
	b.reached = true
	if s.Journal.On() {
		where := strings.TrimSuffix(b.Moment+" ("+detail+")", " ()")
		s.Journal.Emit(journal.Event{Kind: journal.Fault, Source: "moment", FaultID: b.Fault, From: b.Moment, Result: resultReached,
			Text: where + " has come: " + b.Act})
	}
	s.Flush()
	var err error
	if b.Act == Pause {
		err = pauseSelf() // returns when somebody resumes the process
	} else {
		err = killSelf() // does not return
	}
	if err != nil && s.Journal.On() {
		s.Journal.Emit(journal.Event{Kind: journal.Fault, Source: "moment", FaultID: b.Fault, Text: err.Error()})
	}
}

// matches says whether a moment's detail is the one that was asked for.
func matches(want, detail string) bool {
	if prefix, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(detail, prefix)
	}
	return want == "" || want == detail
}

// killSelf ends the process as kill -9 does.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {} // until it arrives
}
