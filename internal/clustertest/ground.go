package clustertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/link"
	"kz/internal/zktest"
)

// A Ground is what the brokers of an InProcess cluster stand on: a network, a ZooKeeper on it, and a
// directory. One test body runs on each of them:
//
//	            network    ZooKeeper         time
//	Bubble      in memory  the embedded one  virtual: a session timeout passes at once
//	Loopback    TCP        the embedded one  real
//	Apache      TCP        Apache's          real
type Ground struct {
	Network   link.Network
	Zookeeper Zookeeper
	Dir       string // for the brokers; goes with the test
	Virtual   bool   // time is: what takes long takes no time, and what takes no time is exact

	addr func(id int32) string // where a broker listens
}

// A Zookeeper is one that a test can do things to.
type Zookeeper interface {
	Connect() string // zookeeper.connect
	Stop()           // no word to anybody; what it acknowledged is kept
	Start() error    // again, on the same address and data
}

// Bubble is the ground inside a testing/synctest bubble; the caller is inside one.
func Bubble(t testing.TB) *Ground {
	t.Helper()
	dir := bubbleDir(t)
	// Runs last: what closed connections still have to deliver arrives. Once the test's own goroutine has
	// ended, a bubble's time stands still.
	t.Cleanup(func() { time.Sleep(time.Minute) })
	network := link.NewMemory()
	return &Ground{
		Network: network, Zookeeper: startEmbedded(t, network, "zookeeper:2181", filepath.Join(dir, "zookeeper")), Dir: dir, Virtual: true,
		addr: func(id int32) string { return fmt.Sprintf("127.0.0.1:%d", 9090+id) },
	}
}

// Loopback is TCP with the embedded ZooKeeper.
func Loopback(t testing.TB) *Ground {
	t.Helper()
	dir := t.TempDir()
	return &Ground{
		Network: link.TCP{}, Zookeeper: startEmbedded(t, link.TCP{}, freeAddr(t), filepath.Join(dir, "zookeeper")), Dir: dir,
		addr: func(int32) string { return freeAddr(t) },
	}
}

// Apache is TCP with Apache ZooKeeper; where there is none the test is skipped.
func Apache(t testing.TB) *Ground {
	t.Helper()
	return onTCP(t, &apache{t, zktest.Start(t)})
}

func onTCP(t testing.TB, zk Zookeeper) *Ground {
	return &Ground{Network: link.TCP{}, Zookeeper: zk, Dir: t.TempDir(), addr: func(int32) string { return freeAddr(t) }}
}

// OnEachGround runs a test on every ground there is; in real time on two at once.
func OnEachGround(t *testing.T, body func(t *testing.T, g *Ground)) {
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { body(t, Bubble(t)) })
	})
	t.Run("loopback", func(t *testing.T) {
		t.Parallel()
		body(t, Loopback(t))
	})
	t.Run("apache", func(t *testing.T) {
		t.Parallel()
		body(t, Apache(t))
	})
}

// bubbleDir is a directory in memory where the system has one: a bubble's time does not wait for a
// disk, but whoever looks at it does.
func bubbleDir(t testing.TB) string {
	t.Helper()
	if dir, err := os.MkdirTemp("/dev/shm", "kz-bubble-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	return t.TempDir()
}

// dialer lets an outside client into the ground's network. Compression must stay off in a bubble: pooled
// zstd coders carry channels from one bubble into the next.
func dialer(n link.Network) kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, _, host string) (net.Conn, error) { return n.Dial(ctx, host) })
}

// apache is Apache ZooKeeper as a Zookeeper.
type apache struct {
	t      testing.TB
	server *zktest.Server
}

func (a *apache) Connect() string { return a.server.Addr }
func (a *apache) Stop()           { a.server.Stop() }
func (a *apache) Start() error    { a.server.StartAgain(a.t); return nil }

// elsewhere is a ZooKeeper that the test itself keeps.
type elsewhere string

func (e elsewhere) Connect() string { return string(e) }
func (e elsewhere) Stop()           { panic("this ZooKeeper belongs to the test: " + string(e)) }
func (e elsewhere) Start() error {
	return fmt.Errorf("this ZooKeeper belongs to the test: %s", string(e))
}

// zookeeperServer is the first server of a zookeeper.connect.
func zookeeperServer(connect string) string {
	server, _, _ := strings.Cut(connect, ",")
	server, _, _ = strings.Cut(server, "/")
	return server
}
