package link

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Memory is a network inside one process: listeners and connections that behave like
// TCP's, with buffers, deadlines, half-close and reset, but wait on channels and
// sync.Cond only, so that they work in a testing/synctest bubble. All of its hosts are
// one machine; "", "localhost", 0.0.0.0 and 127.0.0.1 are the same host of it.
type Memory struct {
	mu        sync.Mutex // guards what follows; never held while waiting
	listeners map[string]*memoryListener
	nextPort  int
}

// Ports that Memory gives away by itself, to listeners on port 0 and to dialers.
const firstFreePort = 32768

// backlog is how many connections wait for Accept before Dial has to wait.
const backlog = 128

// NewMemory is a network with nothing on it.
func NewMemory() *Memory {
	return &Memory{listeners: map[string]*memoryListener{}, nextPort: firstFreePort}
}

// Listen opens a listener; port 0 takes a free port.
func (m *Memory) Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if port == "0" {
		port = strconv.Itoa(m.freePort())
	}
	a := memoryAddr(net.JoinHostPort(host, port))
	if _, taken := m.listeners[a.String()]; taken {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: a, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &memoryListener{network: m, addr: a, queue: make(chan *memoryConn, backlog), closed: make(chan struct{})}
	m.listeners[a.String()] = l
	return l, nil
}

// Dial connects to a listener, or is refused when there is none.
func (m *Memory) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, err
	}
	remote := memoryAddr(addr)
	m.mu.Lock()
	l := m.listeners[remote.String()]
	local := memoryAddr(fmt.Sprintf("127.0.0.1:%d", m.freePort()))
	m.mu.Unlock()
	if l == nil {
		return nil, dialError(remote, os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	if err := ctx.Err(); err != nil {
		return nil, dialError(remote, err)
	}
	client, server := newMemoryPair(local, l.addr)
	select {
	case l.queue <- server:
	case <-l.closed:
	case <-ctx.Done():
		return nil, dialError(remote, ctx.Err())
	}
	select {
	case <-l.closed: // maybe too late for Close to find it in the queue
		client.Close()
		return nil, dialError(remote, os.NewSyscallError("connect", syscall.ECONNREFUSED))
	default:
		return client, nil
	}
}

// freePort returns a port that no listener has. The caller holds mu.
func (m *Memory) freePort() int {
	for {
		p := m.nextPort
		if m.nextPort++; m.nextPort > 65535 {
			m.nextPort = firstFreePort
		}
		if _, taken := m.listeners[canonical(net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))]; !taken {
			return p
		}
	}
}

type memoryListener struct {
	network *Memory
	addr    net.Addr
	queue   chan *memoryConn
	once    sync.Once
	closed  chan struct{}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed: // first, because queue may be ready too
	default:
		select {
		case c := <-l.queue:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, l.addr.String())
		l.network.mu.Unlock()
		close(l.closed)
		for {
			select {
			case c := <-l.queue:
				c.reset()
			default:
				return
			}
		}
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return l.addr }

// namedAddr is the address of a host that is not an IP.
type namedAddr string

func (a namedAddr) Network() string { return "tcp" }
func (a namedAddr) String() string  { return string(a) }

// memoryAddr is addr as a value: a *net.TCPAddr where the host is an IP.
func memoryAddr(addr string) net.Addr {
	addr = canonical(addr)
	host, port, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	n, err := strconv.Atoi(port)
	if ip == nil || err != nil {
		return namedAddr(addr)
	}
	return &net.TCPAddr{IP: ip, Port: n}
}

// canonical gives all names of this machine one form, so that an address that was
// listened on and one that is dialed can be compared.
func canonical(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip := net.ParseIP(host)
	if host == "" || host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func dialError(remote net.Addr, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: remote, Err: err}
}
