package network

import (
	"errors"
	"net"
	"time"
)

// Accept errors that are not the listener's end (no file descriptors, above all) are
// waited out, longer each time.
const (
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
)

// accept is Kafka's Acceptor: it takes connections until the listener is closed.
func (s *Server) accept(l net.Listener, listener string) {
	pause := firstAcceptPause
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = firstAcceptPause
			s.admit(nc, listener)
		case isClosed(s.stopping) || errors.Is(err, net.ErrClosed):
			return
		default:
			s.log.Error().Err(err).Str("listener", listener).Msg("accept failed")
			if !s.pause(pause) {
				return
			}
			pause = min(2*pause, lastAcceptPause)
		}
	}
}

// admit asks the quotas, which may make the acceptor wait, and starts the connection.
func (s *Server) admit(nc net.Conn, listener string) {
	ip := hostOf(nc.RemoteAddr())
	verdict := s.quotas.acquire(listener, ip)
	switch verdict {
	case tooManyOfIP:
		s.log.Info().Str("ip", ip).Msg("rejected connection: the address has as many as max.connections.per.ip allows")
		fallthrough
	case closing:
		nc.Close()
		return
	case admittedOverLimit:
		s.closeLeastRecentlyUsed()
	}
	if t, ok := nc.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok {
		if s.cfg.ReceiveBufferBytes > 0 {
			t.SetReadBuffer(s.cfg.ReceiveBufferBytes)
		}
		if s.cfg.SendBufferBytes > 0 {
			t.SetWriteBuffer(s.cfg.SendBufferBytes)
		}
	}
	c := newConn(s, nc, listener, ip)
	if !s.register(c) {
		nc.Close()
		s.quotas.release(ip)
		return
	}
	s.running.Go(c.run)
}

// closeLeastRecentlyUsed makes room for a connection of the inter-broker listener.
func (s *Server) closeLeastRecentlyUsed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *conn
	for c := range s.conns {
		if c.listener != s.cfg.InterBrokerListener && (oldest == nil || c.lastUsed.Load() < oldest.lastUsed.Load()) {
			oldest = c
		}
	}
	if oldest != nil {
		oldest.log.Info().Msg("closing the least recently used connection: max.connections is exceeded")
		oldest.nc.Close()
	}
}

// pause waits. False: the server is stopping.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.stopping:
		return false
	}
}
