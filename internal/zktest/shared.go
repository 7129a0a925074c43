package zktest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// One server for all tests of a binary that need nothing but a server. Such tests must
// not stop or pause it, and each works below its own Chroot.
var shared struct {
	once   sync.Once
	server *Server
	dir    string
	err    error
	count  atomic.Int64
}

// Shared starts the binary's shared server at the first call. It ends with the binary;
// use Main in TestMain so that its directory is removed too.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	require(tb)
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "zktest"); shared.err == nil {
			shared.server = configured(shared.dir)
			shared.err = shared.server.launch()
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}

// Chroot is a path that no other test of this binary uses.
func (s *Server) Chroot() string { return fmt.Sprintf("/test-%d", shared.count.Add(1)) }

// Main runs the tests and removes the shared server. Use it as:
//
//	func TestMain(m *testing.M) { zktest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	StopShared()
	os.Exit(code)
}

// StopShared ends the shared server, for a TestMain that has more to do.
func StopShared() {
	if shared.server != nil {
		shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}
