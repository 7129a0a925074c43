package up

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// stopWait is how long brokers may take to hand over their partitions and close their logs.
const stopWait = 30 * time.Second

// leaveWait is how long those who follow the events may take to read the last ones.
const leaveWait = 2 * time.Second

// lockName is the file in the cluster's directory that its supervisor keeps locked.
const lockName = "supervisor.lock"

var errLocked = errors.New("another process has the lock")

// A Supervisor holds a cluster and answers for it on the loopback address:
//
//	GET    /v1/cluster         the snapshot
//	GET    /v1/events?since=N  the merged events as server-sent events, for ever
//	GET    /v1/faults          what is in force or armed
//	POST   /v1/faults          {"node":{…}} or {"link":{…}}: see NodeFault, LinkFault
//	DELETE /v1/faults          heals all
//	POST   /v1/stop            asks for the end
//
// Because it can end processes, a request needs the token of this run, which only who may
// read the directory knows, and none that comes from a web page is served.
type Supervisor struct {
	*Cluster
	contact contact
	lock    *os.File // of the directory, held
	server  *http.Server
	served  chan struct{} // closed when the server has ended
	state   atomic.Value  // string: "starting", "running", "stopping"
	asked   chan struct{} // closed when somebody asks for the end
	ask     sync.Once
	leaving chan struct{} // closed when followers of events are to end
	slow    atomic.Int64  // how many of them were too slow
}

// Supervise claims the directory and serves; the cluster does not run yet. ErrRunning
// means that another one has the directory.
func Supervise(cfg Config) (*Supervisor, error) {
	cluster, err := New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Supervisor{Cluster: cluster, served: make(chan struct{}), asked: make(chan struct{}), leaving: make(chan struct{})}
	s.state.Store("starting")
	s.contact = contact{API: l.Addr().String(), Token: rand.Text(), PID: os.Getpid()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/cluster", s.serveSnapshot)
	mux.HandleFunc("GET /v1/events", s.serveEvents)
	mux.HandleFunc("GET /v1/faults", s.serveFaults)
	mux.HandleFunc("POST /v1/faults", s.serveFault)
	mux.HandleFunc("DELETE /v1/faults", s.serveHeal)
	mux.HandleFunc("POST /v1/stop", s.serveStop)
	s.server = &http.Server{Handler: s.guard(mux), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // ErrServerClosed
	}()
	if err := s.claim(); err != nil {
		s.endServer()
		return nil, err
	}
	return s, nil
}

// claim locks the directory for as long as the supervisor lives, then writes the contact
// file. Without the lock, of two that find the file of a killed one, each could remove the
// other's; and a supervisor that is only slow would be taken for dead.
func (s *Supervisor) claim() (err error) {
	if s.lock, err = awaitLock(filepath.Join(s.cfg.Dir, lockName), func() bool {
		_, err := Find(s.cfg.Dir)
		return err == nil
	}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.lock.Close()
		}
	}()
	file := filepath.Join(s.cfg.Dir, contactFile)
	b, err := json.Marshal(s.contact)
	if err != nil {
		return err
	}
	for {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(b)
			return errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err := Find(s.cfg.Dir); err == nil { // where there are no locks
			return ErrRunning
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.bereft = true
	}
}

// awaitLock waits a little for a supervisor that is about to end; one that runs has it.
func awaitLock(file string, runs func() bool) (*os.File, error) {
	for end := time.Now().Add(leaveWait); ; time.Sleep(pollEvery) {
		f, err := lockFile(file)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if runs() || time.Now().After(end) {
			return nil, ErrRunning
		}
	}
}

// Snapshot is the cluster's, and what the supervisor is about.
func (s *Supervisor) Snapshot() Snapshot {
	snap := s.Cluster.Snapshot()
	snap.State, snap.Supervisor = s.state.Load().(string), s.contact.PID
	return snap
}

// Start starts the cluster. An ask for the end, or ctx's, ends a start under way.
func (s *Supervisor) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-s.asked:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.Cluster.Start(ctx)
	cancel()
	<-watching
	if err == nil {
		s.state.Store("running")
	}
	return err
}

// StopAsked is closed when somebody has asked for the end.
func (s *Supervisor) StopAsked() <-chan struct{} { return s.asked }

// Close stops the cluster in order, then gives the directory back. Whoever waits for the
// end waits for the contact file to go, so that is last.
func (s *Supervisor) Close() error {
	s.state.Store("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	s.Stop(ctx)
	close(s.leaving) // those who follow the events see the last ones, and the end
	s.endServer()
	return errors.Join(os.Remove(filepath.Join(s.cfg.Dir, contactFile)), s.lock.Close())
}

func (s *Supervisor) endServer() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.served
}
