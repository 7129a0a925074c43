package clustertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports that freeAddr draws from: below those that systems give to outgoing connections (from
// 32768 on Linux, 49152 elsewhere). A broker's port must still be free after a restart, and a test
// opens many connections meanwhile.
const (
	firstPort = 12000
	lastPort  = 32000
)

// drawn is the ports given out in this process, so that two brokers never get the same.
var drawn struct {
	mu    sync.Mutex
	ports map[int]bool
}

// freeAddr is an address on loopback on which nobody listens.
func freeAddr(t testing.TB) string {
	t.Helper()
	drawn.mu.Lock()
	defer drawn.mu.Unlock()
	if drawn.ports == nil {
		drawn.ports = map[int]bool{}
	}
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if drawn.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		l.Close()
		drawn.ports[port] = true
		return addr
	}
	t.Fatal("no free port found")
	return ""
}
