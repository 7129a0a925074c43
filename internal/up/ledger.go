package up

import (
	"encoding/json"
	"sync"
)

// A ledger answers a request that comes twice as it answered it the first time, so that
// who lost the answer may ask again.
type ledger struct {
	mu      sync.Mutex // guards what follows
	answers map[string]*given
	order   []string // ids, the oldest first
}

type given struct {
	request string        // what was asked
	ready   chan struct{} // closed when the rest is there
	fault   Fault
	err     error
}

// maxAnswers bounds how many answers are kept.
const maxAnswers = 1024

// once runs do, unless the id was there before.
func (l *ledger) once(id string, request any, do func() (Fault, error)) (Fault, error) {
	if id == "" || len(id) > 100 {
		return Fault{}, wrongUsage("a request about faults needs an id of at most 100 characters, so that it is not done twice.")
	}
	asked, err := json.Marshal(request)
	if err != nil {
		return Fault{}, err
	}
	l.mu.Lock()
	if g := l.answers[id]; g != nil {
		l.mu.Unlock()
		if g.request != string(asked) {
			return Fault{}, wrongUsage("the id %q was used for another request.", id)
		}
		<-g.ready
		return g.fault, g.err
	}
	g := &given{request: string(asked), ready: make(chan struct{})}
	if l.answers == nil {
		l.answers = map[string]*given{}
	}
	l.answers[id] = g
	if l.order = append(l.order, id); len(l.order) > maxAnswers {
		delete(l.answers, l.order[0])
		l.order = l.order[1:]
	}
	l.mu.Unlock()
	defer close(g.ready)
	g.fault, g.err = do()
	return g.fault, g.err
}
