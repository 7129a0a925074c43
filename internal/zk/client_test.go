package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"kz/internal/journal"
	"kz/internal/zktest"
)

func TestSingleOperations(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	ctx := t.Context()
	if err := c.CreateRecursive(ctx, "/a/b/c", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateRecursive(ctx, "/a/b/c", nil); err != NodeExists {
		t.Errorf("creating it again: %v", err)
	}
	data, stat, err := c.Get(ctx, "/a/b")
	if err != nil || data != nil || stat.NumChildren != 1 {
		t.Errorf("a parent made on the way has null data: %q %+v %v", data, stat, err)
	}
	stat, err = c.Set(ctx, "/a/b/c", []byte{}, 0)
	if err != nil || stat.Version != 1 || stat.Mzxid <= stat.Czxid {
		t.Errorf("set: %+v %v", stat, err)
	}
	if data, _, _ := c.Get(ctx, "/a/b/c"); data == nil || len(data) != 0 {
		t.Errorf("empty is not null: %v", data)
	}
	if _, err := c.Set(ctx, "/a/b/c", nil, 0); err != BadVersion {
		t.Errorf("set of an old version: %v", err)
	}
	if err := c.Delete(ctx, "/a/b", AnyVersion); err != NotEmpty {
		t.Errorf("delete with children: %v", err)
	}
	if kids, err := c.Children(ctx, "/a", false); err != nil || len(kids) != 1 || kids[0] != "b" {
		t.Errorf("children: %v %v", kids, err)
	}
	if _, found, err := c.Exists(ctx, "/nope"); found || err != nil {
		t.Errorf("exists of nothing: %v %v", found, err)
	}
	first := must[string](t)(c.CreateSequential(ctx, "/a/seq_", nil))
	second := must[string](t)(c.CreateSequential(ctx, "/a/seq_", nil))
	if first != "/a/seq_0000000001" || second != "/a/seq_0000000002" {
		t.Errorf("sequential: %s %s", first, second)
	}
	if err := c.DeleteRecursive(ctx, "/a", NoFence); err != nil {
		t.Error(err)
	}
	if err := c.DeleteRecursive(ctx, "/a", NoFence); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
	if r := c.Do(ctx, CheckOp("/", 0))[0]; r.Err == nil {
		t.Error("a bare check must be refused")
	}
}

func TestChrootIsCreatedAndInvisible(t *testing.T) {
	s := zktest.Shared(t)
	chroot := s.Chroot() + "/deep/er"
	c := connect(t, s, chroot)
	if err := c.CreateRecursive(t.Context(), "/x", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if kids, err := c.Children(t.Context(), "/", false); err != nil || len(kids) != 1 || kids[0] != "x" {
		t.Errorf("children of the root: %v %v", kids, err)
	}
	plain := connect(t, s, "")
	if _, found, err := plain.Exists(t.Context(), chroot+"/x"); !found || err != nil {
		t.Errorf("without chroot: %v %v", found, err)
	}
}

func TestFencedWrites(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	ctx := t.Context()
	// The epoch node at data version 2.
	for _, r := range c.Do(ctx, CreateOp("/controller_epoch", []byte("0")), SetOp("/controller_epoch", []byte("1"), 0), SetOp("/controller_epoch", []byte("2"), 1)) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	for _, row := range []struct {
		rule string
		op   Op
		want error
	}{
		{"create with the right epoch", CreateOp("/f", []byte("a")).Fenced(2), nil},
		{"set with the right epoch", SetOp("/f", []byte("b"), 0).Fenced(2), nil},
		{"the target's version differs", SetOp("/f", []byte("c"), 0).Fenced(2), BadVersion},
		{"the target exists", CreateOp("/f", nil).Fenced(2), NodeExists},
		{"the target does not exist", DeleteOp("/g", AnyVersion).Fenced(2), NoNode},
		{"an old epoch writes nothing", SetOp("/f", []byte("zombie"), AnyVersion).Fenced(1), ErrControllerMoved},
		{"a later epoch neither", DeleteOp("/f", AnyVersion).Fenced(3), ErrControllerMoved},
		{"delete with the right epoch", DeleteOp("/f", 1).Fenced(2), nil},
	} {
		r := c.Do(ctx, row.op)[0]
		if r.Err != row.want {
			t.Errorf("%s: got %v, want %v", row.rule, r.Err, row.want)
		}
		if row.op.Kind == OpSet && r.Err == nil && (r.Stat.Version != 1 || r.Stat.Mzxid != r.Zxid) {
			t.Errorf("%s: stat %+v, zxid %d", row.rule, r.Stat, r.Zxid)
		}
		if r.Zxid == 0 {
			t.Errorf("%s: no zxid", row.rule)
		}
	}
}

// facts: the shape of a failed multi.
func TestFailedMultiGivesEachOpItsCode(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	results, err := c.Multi(t.Context(), CreateOp("/m", nil), CheckOp("/m", 7), DeleteOp("/m", 0))
	if err != BadVersion {
		t.Errorf("overall: %v", err)
	}
	if len(results) != 3 || results[0].Err != nil || results[1].Err != BadVersion || results[2].Err != RuntimeInconsistency {
		t.Errorf("parts: %+v", results)
	}
	if _, found, _ := c.Exists(t.Context(), "/m"); found {
		t.Error("a failed multi wrote something")
	}
}

// Requests leave in the order given: zxids of pipelined writes rise, reads included in
// between see the write before them.
func TestBatchKeepsOrder(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	ops := []Op{CreateOp("/n", nil)}
	for i := range 300 {
		ops = append(ops, SetOp("/n", fmt.Append(nil, i), int32(i)), GetOp("/n"))
	}
	last := int64(0)
	for i, r := range c.Do(t.Context(), ops...) {
		if r.Err != nil {
			t.Fatalf("op %d (%s): %v", i, ops[i].Kind, r.Err)
		}
		switch ops[i].Kind {
		case OpSet:
			if r.Zxid <= last {
				t.Fatalf("op %d: zxid %d after %d", i, r.Zxid, last)
			}
			last = r.Zxid
		case OpGet:
			if want := fmt.Sprint((i - 2) / 2); string(r.Data) != want {
				t.Fatalf("op %d read %s, want %s", i, r.Data, want)
			}
		}
	}
}

func TestTooLargeIsRefusedBeforeSending(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	results := c.Do(t.Context(), CreateOp("/big", make([]byte, 1<<20)), CreateOp("/small", nil))
	if !errors.Is(results[0].Err, ErrTooLarge) || results[1].Err != nil {
		t.Errorf("got %v and %v", results[0].Err, results[1].Err)
	}
}

func TestNoServerErrorNamesAddressAndWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	_, err = Connect(t.Context(), Config{Servers: []string{addr}, Chroot: "/k", SessionTimeout: time.Second, ConnectionTimeout: 300 * time.Millisecond}, nil, nil, zerolog.Nop())
	if err == nil {
		t.Fatal("connected to nobody")
	}
	for _, part := range []string{addr, "300ms", "zookeeper.connection.timeout.ms", "refused"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not name %q: %v", part, err)
		}
	}
}

// A server that accepts and never answers must not hold the client up: go-zookeeper
// itself would wait ten read timeouts.
func TestSilentServerIsGivenUp(t *testing.T) {
	s := zktest.Shared(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := Config{Servers: []string{l.Addr().String(), s.Addr}, SessionTimeout: 3 * time.Second, ConnectionTimeout: 15 * time.Second}
	for range 4 { // the order of servers is random
		c, err := Connect(t.Context(), cfg, nil, nil, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}

func TestContextIsHonoured(t *testing.T) {
	s := zktest.Start(t)
	c := connect(t, s, "")
	s.Pause()
	defer s.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ops := make([]Op, 50) // more than fit in flight
	for i := range ops {
		ops[i] = CreateOp(fmt.Sprint("/p", i), nil)
	}
	for i, r := range c.Do(ctx, ops...) {
		if !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Fatalf("op %d: %v", i, r.Err)
		}
	}
	done := make(chan []Result, 1)
	go func() { done <- c.Do(context.Background(), GetOp("/zookeeper")) }()
	c.Close()
	if r := receive(t, done); r[0].Err != ErrClosed {
		t.Errorf("whoever waits at Close gets ErrClosed, got %v", r[0].Err)
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	s := zktest.Shared(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c, err := Connect(t.Context(), Config{Servers: []string{s.Addr}, SessionTimeout: 6 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	path := s.Chroot()
	if _, err := c.CreateEphemeral(t.Context(), path, []byte("e")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.Close()
	if r := c.Do(t.Context(), GetOp("/"))[0]; r.Err != ErrClosed {
		t.Errorf("after Close: %v", r.Err)
	}
	other := connect(t, s, "")
	if _, found, err := other.Exists(t.Context(), path); found || err != nil {
		t.Errorf("Close ends the session, so its ephemerals go: %v %v", found, err)
	}
	other.Close()
}

func TestWritesAreJournaled(t *testing.T) {
	s := zktest.Shared(t)
	c := connect(t, s, s.Chroot())
	ctx := t.Context()
	c.Do(ctx, CreateOp("/controller_epoch", []byte("0")), SetOp("/controller_epoch", []byte("1"), 0))
	moments := make(chan string, 10)
	c.journal.Arm(journal.MomentControllerZkWrite, func(detail string) { moments <- detail })
	c.Do(ctx, SetOp("/controller_epoch", nil, 9), CreateOp("/j", nil).Fenced(1), DeleteOp("/j", AnyVersion).Fenced(0))
	if a, b := receive(t, moments), receive(t, moments); a != "/j" || b != "/j" || len(moments) != 0 {
		t.Errorf("moments of fenced writes: %q %q", a, b)
	}
	want := []struct {
		path          string
		before, after int32
		result, text  string
	}{
		{"/controller_epoch", 0, 0, "ok", "create"},
		{"/controller_epoch", 0, 1, "ok", "set"},
		{"/controller_epoch", 9, 0, "BADVERSION", "set"},
		{"/j", 0, 0, "ok", "create fenced"},
		{"/j", -1, 0, ErrControllerMoved.Error(), "delete fenced"},
	}
	got := map[string]journal.Event{}
	zxids := map[int64]bool{}
	for range want {
		e := c.until(t, "a write", kind(journal.ZnodeWrite))
		got[fmt.Sprint(e.Path, e.VersionBefore, e.VersionAfter, e.Result, e.Text)] = e
		zxids[e.Zxid] = true
	}
	for _, w := range want {
		if _, ok := got[fmt.Sprint(w.path, w.before, w.after, w.result, w.text)]; !ok {
			t.Errorf("no event %+v in %v", w, got)
		}
	}
	if len(zxids) != len(want) || zxids[0] {
		t.Errorf("each write has its own zxid, failed ones too: %v", zxids)
	}
}
