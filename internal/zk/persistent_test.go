package zk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"kz/internal/link"
	"kz/internal/zktest"
)

func TestPersistentWatchTellsEveryChange(t *testing.T) {
	s := zktest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := Config{Servers: []string{s.Addr}, Chroot: "/p", SessionTimeout: 2 * time.Second, ConnectionTimeout: 20 * time.Second}
	f := connect(t, s, cfg.Chroot)
	if err := f.CreateRecursive(ctx, "/a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	one, err := WatchPersistent(ctx, cfg, link.TCP{}, "/a", false)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	all, err := WatchPersistent(ctx, cfg, link.TCP{}, "/a", true)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for v := range int32(2) {
		if _, err := f.Set(ctx, "/a", []byte("2"), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.CreateRecursive(ctx, "/a/b", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(ctx, "/a/b", nil, AnyVersion); err != nil {
		t.Fatal(err)
	}
	if err := f.DeleteRecursive(ctx, "/a", NoFence); err != nil {
		t.Fatal(err)
	}
	take := func(p *Persistent, n int) (got []NodeEvent) {
		for range n {
			ev, err := p.Next(ctx)
			if err != nil {
				t.Fatalf("after %v: %v", got, err)
			}
			got = append(got, ev)
		}
		return got
	}
	if got, want := take(one, 5), []NodeEvent{{DataChanged, "/a"}, {DataChanged, "/a"}, {ChildrenChanged, "/a"}, {ChildrenChanged, "/a"}, {Deleted, "/a"}}; !slices.Equal(got, want) {
		t.Errorf("of the node: %v, want %v", got, want)
	}
	if got, want := take(all, 6), []NodeEvent{{DataChanged, "/a"}, {DataChanged, "/a"}, {Created, "/a/b"}, {DataChanged, "/a/b"}, {Deleted, "/a/b"}, {Deleted, "/a"}}; !slices.Equal(got, want) {
		t.Errorf("of the tree: %v, want %v", got, want)
	}
}

// While nothing happens the session lives; a read in between keeps its place; the end of
// the context ends a wait.
func TestPersistentWatchWaits(t *testing.T) {
	s := zktest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := connect(t, s, "")
	cfg := Config{Servers: []string{s.Addr}, SessionTimeout: time.Second, ConnectionTimeout: 20 * time.Second}
	p, err := WatchPersistent(ctx, cfg, link.TCP{}, "/w", false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, _, err := p.Get(ctx, "/w"); err != NoNode {
		t.Errorf("reading what is not there: %v", err)
	}
	short, end := context.WithTimeout(ctx, 2*p.timeout)
	if ev, err := p.Next(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing happened, and Next gives %v, %v", ev, err)
	}
	end()
	if err := f.CreateRecursive(ctx, "/w", []byte("here")); err != nil {
		t.Fatal(err)
	}
	data, stat, err := p.Get(ctx, "/w")
	if err != nil || string(data) != "here" || stat.Version != 0 || stat.Czxid == 0 || stat.DataLength != 4 {
		t.Errorf("read %q, %+v, %v", data, stat, err)
	}
	if ev, err := p.Next(ctx); err != nil || ev != (NodeEvent{Created, "/w"}) {
		t.Errorf("the event that came before the answer: %v, %v", ev, err)
	}
	s.Kill()
	if ev, err := p.Next(ctx); err == nil {
		t.Errorf("without a server Next gives %v", ev)
	}
}
