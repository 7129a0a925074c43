package zkrelay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zkrelay"
	"kz/internal/zktest"
)

func TestMain(m *testing.M) { zktest.Main(m) }

func connect(t *testing.T, addr string) *zk.Client {
	t.Helper()
	c, err := zk.Connect(context.Background(), zk.Config{Servers: []string{addr}, SessionTimeout: 10 * time.Second, ConnectionTimeout: 30 * time.Second},
		link.TCP{}, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func relay(t *testing.T, server, who string) (*zkrelay.Relay, string) {
	t.Helper()
	r := zkrelay.New(server)
	t.Cleanup(r.Close)
	addr, err := r.Door(who)
	if err != nil {
		t.Fatal(err)
	}
	return r, addr
}

// find is the one call that ok accepts.
func find(t *testing.T, r *zkrelay.Relay, ok func(zkrelay.Call) bool) zkrelay.Call {
	t.Helper()
	calls := r.Calls()
	i := slices.IndexFunc(calls, ok)
	if i < 0 {
		t.Fatalf("no such call among %+v", calls)
	}
	return calls[i]
}

func TestWritesAreSeenWithWhatWasAskedAndAnswered(t *testing.T) {
	server := zktest.Start(t)
	r, addr := relay(t, server.Addr, "broker-1")
	c := connect(t, addr)
	ctx := context.Background()
	if err := c.CreateRecursive(ctx, "/a", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateRecursive(ctx, "/controller_epoch", []byte("0")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(ctx, "/a", []byte("x"), 7); !errors.Is(err, zk.BadVersion) {
		t.Fatal(err)
	}
	if _, err := c.Multi(ctx, zk.CheckOp("/controller_epoch", 0), zk.DeleteOp("/none", zk.AnyVersion), zk.SetOp("/a", nil, 0)); !errors.Is(err, zk.NoNode) {
		t.Fatal(err)
	}
	if _, err := c.CreateEphemeral(ctx, "/mine", []byte{}); err != nil {
		t.Fatal(err)
	}

	set := find(t, r, func(x zkrelay.Call) bool { return x.Op == "setData" })
	if set.Who != "broker-1" || set.Session != c.SessionID() || string(set.Data) != "x" || set.Expected != 7 || set.Err != "BADVERSION" || set.Zxid == 0 {
		t.Errorf("the refused set: %+v", set)
	}
	multi := find(t, r, func(x zkrelay.Call) bool { return x.Op == "multi" && len(x.Parts) == 3 })
	var errs []string
	for _, p := range multi.Parts {
		errs = append(errs, p.Op+" "+p.Err)
	}
	if want := []string{"check ", "delete NONODE", "setData RUNTIMEINCONSISTENCY"}; !slices.Equal(errs, want) || multi.Err != "NONODE" {
		t.Errorf("the refused multi: %q %s, want %q", errs, multi.Err, want)
	}

	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	tree, err := zkrelay.ReadTree(ctx, server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree) != 3 || tree[0].Path != "/a" || tree[0].Data != nil || tree[0].ACL != "world:anyone:cdrwa" || tree[0].Version != 0 {
		t.Errorf("the tree: %+v", tree)
	}
	if mine := tree[2]; mine.Path != "/mine" || !mine.Ephemeral {
		t.Errorf("the ephemeral node: %+v", mine)
	}
}

// While a door is held the server hears the client, and the client does not hear the server.
func TestHeldDoorIsOneWay(t *testing.T) {
	server := zktest.Start(t)
	r, addr := relay(t, server.Addr, "held")
	c, other := connect(t, addr), connect(t, server.Addr)
	r.Hold("held")
	done := make(chan error, 1)
	go func() { done <- c.CreateRecursive(context.Background(), "/said", nil) }()
	deadline := time.After(60 * time.Second)
	for there := false; !there; {
		_, ok, err := other.Exists(context.Background(), "/said")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("the client heard the answer through a held door: %v", err)
		case <-deadline:
			t.Fatal("the server never heard the client")
		default:
			there = ok
		}
	}
	r.Release("held")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestDoorIsHeldFromACallOn(t *testing.T) {
	server := zktest.Start(t)
	r, addr := relay(t, server.Addr, "held")
	c := connect(t, addr)
	ctx := context.Background()
	r.HoldAt("held", func(x zkrelay.Call) bool { return x.Op == "create" && x.Path == "/second" })
	if err := c.CreateRecursive(ctx, "/first", nil); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := c.CreateRecursive(short, "/second", nil); err == nil {
		t.Error("the answer came through a held door")
	}
	if _, there, err := connect(t, server.Addr).Exists(ctx, "/second"); err != nil || !there {
		t.Errorf("the call did not reach the server: %v", err)
	}
}

// A shut door costs the client its session, and the relay sees the next one as the same client's.
func TestShutDoorEndsTheSession(t *testing.T) {
	server := zktest.Start(t)
	r, addr := relay(t, server.Addr, "cut")
	c, err := zk.Connect(context.Background(), zk.Config{Servers: []string{addr}, SessionTimeout: 2 * time.Second, ConnectionTimeout: 30 * time.Second},
		link.TCP{}, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	expired := make(chan struct{})
	c.RegisterSession("test", func() {}, sync.OnceFunc(func() { close(expired) }))
	first := c.SessionID()
	if _, err := c.CreateEphemeral(context.Background(), "/here", nil); err != nil {
		t.Fatal(err)
	}
	other := connect(t, server.Addr)
	r.Shut("cut")
	deadline := time.Now().Add(60 * time.Second)
	for there := true; there; {
		if _, there, err = other.Exists(context.Background(), "/here"); err != nil || time.Now().After(deadline) {
			t.Fatalf("still there: %v", err)
		}
	}
	r.Release("cut")
	<-expired
	if c.SessionID() == first || r.Who(c.SessionID()) != "cut" || r.Who(first) != "cut" {
		t.Errorf("sessions %x and %x belong to %q and %q", first, c.SessionID(), r.Who(first), r.Who(c.SessionID()))
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	server := zktest.Shared(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := zkrelay.New(server.Addr)
	for _, who := range []string{"a", "b"} {
		addr, err := r.Door(who)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	r.Shut("a")
	r.Close()
}

// What is no ZooKeeper at either end closes the connection, or passes undecoded; the relay lives on.
func FuzzForeignBytes(f *testing.F) {
	f.Add([]byte("dump"), []byte("dump"))
	f.Add([]byte{0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 14}, []byte{0, 0, 0, 16, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, said, answered []byte) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = c.Write(answered)
				c.Close()
			}
		}()
		r := zkrelay.New(l.Addr().String())
		defer r.Close()
		addr, err := r.Door("x")
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(said)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	})
}
