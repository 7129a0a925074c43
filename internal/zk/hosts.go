package zk

import "sync"

// hosts is the list of servers, kept as names: the dialer resolves them at every dial.
// (go-zookeeper's own provider resolves once, and one bad name fails them all.)
// Implements go-zookeeper's HostProvider.
type hosts struct {
	mu      sync.Mutex // guards all below; innermost
	servers []string   // shuffled by go-zookeeper, so that clients spread
	next    int
	tried   int // dials since a handshake succeeded
}

// Init takes the servers.
func (h *hosts) Init(servers []string) error { h.servers = servers; return nil }

// Len is how many there are.
func (h *hosts) Len() int { return len(h.servers) }

// Next is the server to dial. pause is true when all were tried since the last success;
// go-zookeeper then waits a second and fails what is queued. The first dial after a lost
// connection is at once.
func (h *hosts) Next() (server string, pause bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	pause = h.tried > 0 && h.tried%len(h.servers) == 0
	h.tried++
	return server, pause
}

// Connected is called after a good handshake.
func (h *hosts) Connected() {
	h.mu.Lock()
	h.tried = 0
	h.mu.Unlock()
}
