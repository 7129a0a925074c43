package network

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
)

// Server is Kafka's SocketServer and RequestChannel. Its life is Listen, Serve,
// StopReading, Stop, in this order; each may be the last one called.
type Server struct {
	cfg     Config
	network link.Network
	log     zerolog.Logger
	quotas  *quotas
	stats   counters

	requests chan *Request // bounded by queued.max.requests
	serving  chan struct{} // closed by Serve
	stopping chan struct{} // closed by StopReading: nobody reads, accepts or enqueues
	stopped  chan struct{} // closed by Stop: nobody waits for an answer

	lastWriteBy time.Time // set before stopped is closed: the end of all writing

	serve, stopReading, stop sync.Once

	mu        sync.Mutex // guards what follows; never held while waiting
	endpoints []Endpoint // bound
	listeners []net.Listener
	conns     map[*conn]struct{}
	refusing  bool // StopReading has begun: no new connection, no new enqueuer

	running   sync.WaitGroup // acceptors and connections
	enqueuing sync.WaitGroup // connections that may be about to put a request on the queue; Add under mu
}

// New makes a server that does nothing yet.
func New(cfg Config, n link.Network, log zerolog.Logger) *Server {
	cfg = cfg.withDefaults()
	return &Server{
		cfg:      cfg,
		network:  n,
		log:      log,
		quotas:   newQuotas(cfg),
		requests: make(chan *Request, cfg.QueuedMaxRequests),
		serving:  make(chan struct{}),
		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
		conns:    map[*conn]struct{}{},
	}
}

// Listen binds all listeners and accepts connections, but reads no request until Serve
// (2.1 step 8). It replaces port 0 by the bound one. On an error nothing is bound.
func (s *Server) Listen() error {
	var listeners []net.Listener
	var endpoints []Endpoint
	for _, e := range s.cfg.Listeners {
		l, err := s.network.Listen(e.addr())
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return fmt.Errorf("listener %s: %w", e, err)
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			e.Port = int32(a.Port)
		}
		listeners = append(listeners, l)
		endpoints = append(endpoints, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners, s.endpoints = listeners, endpoints
	for i, l := range listeners {
		s.log.Info().Str("listener", endpoints[i].String()).Msg("awaiting connections")
		s.running.Go(func() { s.accept(l, endpoints[i].Listener) })
	}
	return nil
}

// Endpoints are the bound listeners.
func (s *Server) Endpoints() []Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Endpoint(nil), s.endpoints...)
}

// Serve lets connections read; requests appear in Requests.
func (s *Server) Serve() { s.serve.Do(func() { close(s.serving) }) }

// Requests is the bounded request queue; it is closed by StopReading after the readers
// ended.
func (s *Server) Requests() <-chan *Request { return s.requests }

// StopReading ends reading and accepting: no new request enters the queue, which is
// closed. Connections whose request is inside the broker wait for its answer, send it,
// and end; the others end at once.
func (s *Server) StopReading() {
	s.stopReading.Do(func() {
		s.mu.Lock()
		s.refusing = true
		close(s.stopping)
		for _, l := range s.listeners {
			l.Close()
		}
		for c := range s.conns {
			c.interruptRead()
		}
		s.mu.Unlock()
		s.quotas.close()
		s.enqueuing.Wait()
		close(s.requests)
	})
}

// lastWrites is how long an answer that was given before Stop may take to leave.
const lastWrites = time.Second

// Stop closes every connection and waits for all goroutines. Requests that are still
// inside the broker may be ended afterwards; their answers go nowhere.
func (s *Server) Stop() {
	s.StopReading()
	s.stop.Do(func() {
		s.mu.Lock()
		s.lastWriteBy = time.Now().Add(lastWrites)
		close(s.stopped)
		for c := range s.conns {
			c.nc.SetWriteDeadline(s.lastWriteBy)
		}
		s.mu.Unlock()
		s.running.Wait()
	})
}

// enqueue puts a request on the queue, waiting for room. False: the server is stopping.
func (s *Server) enqueue(r *Request) bool {
	s.mu.Lock()
	if s.refusing {
		s.mu.Unlock()
		return false
	}
	s.enqueuing.Add(1)
	s.mu.Unlock()
	defer s.enqueuing.Done()
	select {
	case s.requests <- r:
		return true
	case <-s.stopping:
		return false
	}
}

// register makes a connection known to Stop. False: the server is stopping.
func (s *Server) register(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) unregister(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
