package zkserver

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"kz/internal/journal"
)

// Server is one ZooKeeper. Mirrors ZooKeeperServer with its request processors.
type Server struct {
	cfg      Config
	started  time.Time
	listener net.Listener
	lock     *dirLock // of the directory; nil in memory

	requests chan request  // readers → apply
	quit     chan struct{} // closed by Stop
	done     chan struct{} // closed by apply when it has ended
	err      error         // why apply ended; read after done
	wg       sync.WaitGroup
	stopping sync.Once

	mu      sync.Mutex         // guards what follows; held over nothing, last in order
	conns   map[*conn]struct{} // all open connections
	perHost map[string]int     // how many of them per client address
	closed  bool               // no connection is let in any more
	accepts int64              // numbers connections

	// All that follows belongs to apply.
	*state
	dataWatches, childWatches *watchTable
	log                       *wal
	lastBeat                  int64
	touched                   []*conn         // have something to send when the batch is on disk
	events                    []journal.Event // the journal's, likewise
	scratch                   encoder
	stats                     stats
}

// New is a server that is not running.
func New(cfg Config) *Server {
	cfg.setDefaults()
	return &Server{
		cfg:      cfg,
		requests: make(chan request, batchRequests),
		quit:     make(chan struct{}), done: make(chan struct{}),
		conns: map[*conn]struct{}{}, perHost: map[string]int{},
		state:       newState(),
		dataWatches: newWatchTable(), childWatches: newWatchTable(),
	}
}

// Start recovers what the directory holds and serves. A server is started once.
func (s *Server) Start() error {
	if err := s.cfg.Validate(); err != nil {
		return err
	}
	s.started = time.Now()
	if err := s.open(); err != nil {
		return err
	}
	s.lastSession = max(s.lastSession, firstSession(s.started))
	l, err := s.cfg.Network.Listen(s.cfg.Addr)
	if err != nil {
		return errors.Join(err, s.closeFiles())
	}
	s.listener = l
	s.cfg.Log.Info().Msgf("serving ZooKeeper clients on %s: zxid %#x, %d nodes, %d sessions", l.Addr(), s.zxid, len(s.tree.nodes), len(s.sessions))
	s.wg.Go(s.run)
	s.wg.Go(s.accept)
	return nil
}

// Addr is where it listens, once it is started.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Done is closed when the server has ended: after Stop, or by itself, when its log cannot
// be written. Err then says why; nil after Stop.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the server ended by itself. It waits for Done.
func (s *Server) Err() error { <-s.done; return s.err }

// Stop takes no more requests, makes durable and answers what was taken, closes all
// connections and waits for every goroutine. Sessions stay: with a directory they are
// there at the next start, with their timeouts begun anew.
func (s *Server) Stop() {
	s.stopping.Do(func() {
		if s.listener == nil {
			return // never started
		}
		s.listener.Close()
		close(s.quit)
		<-s.done
		s.wg.Wait()
		if err := s.closeFiles(); err != nil {
			s.cfg.Log.Error().Err(err).Msg("closing the log")
		}
	})
}

// farewell lets out what was answered and closes the connections. Runs on apply, last.
func (s *Server) farewell() {
	for _, c := range s.closeDoor() {
		s.hangUp(c)
		c.net.SetWriteDeadline(time.Now().Add(time.Second))
		c.release(s.cfg.MaxUnsent)
	}
}

// abandon is the end when the log cannot be written: nothing more is answered, because
// no answer could be kept. Runs on apply, last.
func (s *Server) abandon(err error) {
	s.err = err
	s.cfg.Log.Error().Err(err).Msg("the log cannot be written: no answer can be kept, so none is given")
	s.listener.Close()
	for _, c := range s.closeDoor() {
		c.kill()
	}
}

// Clients is how many connections are open.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// closeDoor lets nobody in any more and returns who is in.
func (s *Server) closeDoor() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.sortedConns()
}

// sortedConns are the open connections, oldest first. The caller holds mu.
func (s *Server) sortedConns() []*conn {
	list := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
	return list
}

// acceptPause is how long accept rests after an error, such as too many open files.
const acceptPause = 100 * time.Millisecond

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err == nil {
			if c := s.admit(nc); c != nil {
				s.wg.Go(c.write)
				s.wg.Go(func() { s.serve(c) })
			} else {
				nc.Close()
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.cfg.Log.Warn().Err(err).Msg("accept")
		select {
		case <-time.After(acceptPause):
		case <-s.done:
			return
		}
	}
}

// admit makes a connection one of ours, or returns nil when it may not come in.
func (s *Server) admit(nc net.Conn) *conn {
	host, _, err := net.SplitHostPort(nc.RemoteAddr().String())
	if err != nil {
		host = nc.RemoteAddr().String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch limit := s.cfg.MaxClientConns; {
	case s.closed:
		return nil
	case limit > 0 && s.perHost[host] >= limit:
		s.cfg.Log.Warn().Msgf("%s has %d connections already: no more (maxClientCnxns)", host, limit)
		return nil
	}
	s.accepts++
	c := newConn(nc, host, s.accepts, s.clock())
	s.conns[c] = struct{}{}
	s.perHost[host]++
	return c
}

// leave is the end of a connection, for whatever reason. It runs on the reader.
func (s *Server) leave(c *conn) {
	s.submit(request{control: func() { s.drop(c) }})
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.perHost[c.host]--; s.perHost[c.host] == 0 {
		delete(s.perHost, c.host)
	}
}

// submit hands a request to apply, and says whether there still is one.
func (s *Server) submit(r request) bool {
	select {
	case s.requests <- r:
		return true
	case <-s.done:
		return false
	}
}

// hangUp lets a connection end when what was sent to it so far has gone out. The end of
// its reader does the rest. Runs on apply.
func (s *Server) hangUp(c *conn) {
	c.closing = true
	s.touch(c)
}

// touch remembers that a connection has something to send at the end of the batch.
func (s *Server) touch(c *conn) {
	if !c.touched {
		c.touched = true
		s.touched = append(s.touched, c)
	}
}

// clock is the server's own, in ms since its start; microClock the same in µs.
func (s *Server) clock() int64      { return time.Since(s.started).Milliseconds() }
func (s *Server) microClock() int64 { return time.Since(s.started).Microseconds() }

// wallClock is what nodes are stamped with.
func wallClock() int64 { return time.Now().UnixMilli() }
