package up

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
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

// A Supervisor holds a cluster and answers for it on the loopback address:
//
//	GET  /v1/cluster   the snapshot
//	POST /v1/stop      asks for the end
//
// Because it can end processes, a request needs the token of this run, which only who may
// read the directory knows, and none that comes from a web page is served.
type Supervisor struct {
	*Cluster
	contact contact
	server  *http.Server
	served  chan struct{} // closed when the server has ended
	state   atomic.Value  // string: "starting", "running", "stopping"
	asked   chan struct{} // closed when somebody asks for the end
	ask     sync.Once
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
	s := &Supervisor{Cluster: cluster, served: make(chan struct{}), asked: make(chan struct{})}
	s.state.Store("starting")
	s.contact = contact{API: l.Addr().String(), Token: rand.Text(), PID: os.Getpid()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/cluster", s.serveSnapshot)
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

// claim writes the contact file, which one supervisor only can: it must not exist. One
// whose supervisor does not answer was left by a kill, and goes.
func (s *Supervisor) claim() error {
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
		if _, err := Find(s.cfg.Dir); err == nil {
			return ErrRunning
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// guard lets in who knows the token and is no web page.
func (s *Supervisor) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.contact.Token)) == 1
		if !known || r.Header.Get("Origin") != "" {
			http.Error(w, "the token of this run is missing, or the request comes from a web page", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Supervisor) serveSnapshot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.Snapshot()) // fails when the asker has gone
}

func (s *Supervisor) serveStop(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	s.ask.Do(func() { close(s.asked) })
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
	s.endServer()
	return os.Remove(filepath.Join(s.cfg.Dir, contactFile))
}

func (s *Supervisor) endServer() {
	_ = s.server.Close()
	<-s.served
}
