package network

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/wire"
)

// readAhead holds small requests whole, so that they cost one read of the socket; bytes
// of larger ones go straight to their buffer.
const readAhead = 4 << 10

// conn is one connection. Everything in it belongs to its goroutine (run), but for the
// fields that say otherwise.
type conn struct {
	server   *Server
	nc       net.Conn
	raw      syscall.RawConn // of a TCP connection on a system with sendfile, else nil
	listener string
	ip       string
	host     string // ip in Java's form
	log      zerolog.Logger

	in       *wire.FrameReader
	header   wire.RequestHeader // of the last request
	answers  chan answer        // from Request.end, any goroutine; room for the one there can be
	lastUsed atomic.Int64       // unix nanoseconds; read by closeLeastRecentlyUsed
}

func newConn(s *Server, nc net.Conn, listener, ip string) *conn {
	c := &conn{
		server:   s,
		nc:       nc,
		raw:      sendfileConn(nc),
		listener: listener,
		ip:       ip,
		host:     javaHost(nc.RemoteAddr()),
		log:      s.log.With().Str("listener", listener).Stringer("client", nc.RemoteAddr()).Logger(),
		answers:  make(chan answer, 1),
	}
	c.in = wire.NewFrameReader(bufio.NewReaderSize(idleReader{c}, readAhead))
	c.lastUsed.Store(time.Now().UnixNano())
	return c
}

// run is the connection's goroutine, from accept to close.
func (c *conn) run() {
	s := c.server
	s.stats.connections.Add(1)
	defer func() {
		c.nc.Close()
		s.unregister(c)
		s.quotas.release(c.ip)
		s.stats.connections.Add(-1)
	}()
	select {
	case <-s.serving:
	case <-s.stopping:
		return
	}
	for {
		if err := c.one(); err != nil {
			c.logEnd(err)
			return
		}
	}
}

// one takes one request through the broker. An error ends the connection.
func (c *conn) one() error {
	frame, err := c.in.Next(c.server.cfg.MaxRequestBytes)
	if err != nil {
		return err
	}
	c.lastUsed.Store(time.Now().UnixNano())
	r, err := c.parse(frame)
	if err != nil {
		frame.Free()
		return badRequest{err}
	}
	c.server.stats.requests.Add(1)
	if !c.server.enqueue(r) {
		r.Detach()
		return errStopping
	}
	a, ok := c.await(r)
	switch {
	case !ok:
		return errStopping
	case a.closing != "":
		return badRequest{fmt.Errorf("%s version %d: %s", wire.APIName(r.Header.Key), r.Header.Version, a.closing)}
	case a.silent:
		return nil
	}
	c.lastUsed.Store(time.Now().UnixNano())
	return c.send(r.Header, a.parts)
}

// parse makes a request of a frame, if it is one that we serve (5.4). ApiVersions of any
// version goes to its handler, which answers a version that it does not know.
func (c *conn) parse(frame *wire.Buffer) (*Request, error) {
	body, err := c.header.Parse(frame.B)
	if err != nil {
		return nil, err
	}
	h := c.header
	versions, ok := wire.Lookup(h.Key)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is not served here", wire.APIName(h.Key))
	case !versions.Contains(h.Version) && h.Key != keyApiVersions:
		return nil, fmt.Errorf("%s version %d is not served here, only %d to %d", wire.APIName(h.Key), h.Version, versions.Min, versions.Max)
	}
	r := &Request{Header: h, Body: body, Listener: c.listener, ClientHost: c.host, ReceivedAt: time.Now(), conn: c}
	r.frame.Store(frame)
	return r, nil
}

const keyApiVersions = 18

// await waits for the request's end. False: the server stopped first.
func (c *conn) await(r *Request) (answer, bool) {
	select {
	case a := <-c.answers:
		return a, true
	case <-c.server.stopped:
	}
	if r.state.CompareAndSwap(inside, abandoned) {
		return answer{}, false
	}
	return <-c.answers, true // it was ended in the same moment
}

// idleReader reads from the connection; each read may take connections.max.idle.ms.
type idleReader struct{ c *conn }

func (r idleReader) Read(p []byte) (int, error) {
	if d := r.c.server.cfg.ConnectionsMaxIdle; d > 0 {
		r.c.nc.SetReadDeadline(time.Now().Add(d))
	}
	if isClosed(r.c.server.stopping) { // behind the deadline: see interruptRead
		return 0, errStopping
	}
	n, err := r.c.nc.Read(p)
	if err != nil && isClosed(r.c.server.stopping) {
		err = errStopping
	}
	return n, err
}

// interruptRead ends a read that waits. StopReading calls it, having closed stopping: a
// reader that sets its own deadline afterwards sees that.
func (c *conn) interruptRead() { c.nc.SetReadDeadline(time.Unix(1, 0)) }

// writeDeadline is the time for the next piece of an answer.
func (c *conn) writeDeadline() {
	if d := c.server.cfg.ConnectionsMaxIdle; d > 0 {
		c.nc.SetWriteDeadline(time.Now().Add(d))
	}
	if isClosed(c.server.stopped) { // behind the other deadline: Stop sets its own only once
		c.nc.SetWriteDeadline(c.server.lastWriteBy)
	}
}

// Why a connection ends, besides errors of the socket.
var errStopping = errors.New("the broker is stopping")

// badRequest is an end that the client deserves.
type badRequest struct{ error }

// logEnd says once why a connection ended: what a client did wrong where an operator sees
// it, everyday ends only for those who debug.
func (c *conn) logEnd(err error) {
	var size *wire.FrameSizeError
	var bad badRequest
	switch {
	case errors.As(err, &size) || errors.As(err, &bad):
		c.log.Info().Err(err).Msg("closing connection: bad request")
	case errors.Is(err, io.EOF):
		c.log.Debug().Msg("closed by the client")
	case isTimeout(err):
		c.log.Debug().Msg("closing connection: idle for connections.max.idle.ms")
	default:
		c.log.Debug().Err(err).Msg("closing connection")
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// hostOf is the host of an address, without port.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// javaHost is how Java's InetAddress prints a host that was not looked up by name:
// a slash, and an IPv6 address in eight groups.
func javaHost(a net.Addr) string {
	ip := net.ParseIP(strings.SplitN(hostOf(a), "%", 2)[0])
	if ip == nil || ip.To4() != nil {
		return "/" + hostOf(a)
	}
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = fmt.Sprintf("%x", int(ip[2*i])<<8|int(ip[2*i+1]))
	}
	return "/" + strings.Join(groups, ":")
}
