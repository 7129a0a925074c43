package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
	"kz/internal/zk"
)

// What must have happened between two looks, in sentences.
func TestCompareLooks(t *testing.T) {
	at := func(czxid int64, version, cversion int32, children ...string) nodeLook {
		return nodeLook{true, zk.Stat{Czxid: czxid, Mzxid: 0x20, Pzxid: 0x30, Version: version, Cversion: cversion}, []byte("d"), children}
	}
	ephemeral := at(7, 0, 0)
	ephemeral.stat.EphemeralOwner = 0xabc
	for _, row := range []struct {
		rule     string
		was, now nodeLook
		want     string
	}{
		{"nothing", at(1, 2, 3, "a"), at(1, 2, 3, "a"), ""},
		{"still not there", nodeLook{}, nodeLook{}, ""},
		{"created", nodeLook{}, ephemeral, "/n was created: v0, zxid 0x20, ephemeral of session 0xabc: d\n"},
		{"deleted", at(1, 2, 0), nodeLook{}, "/n was deleted; it was at v2\n"},
		{"another node by the same name", at(1, 2, 5, "a"), at(7, 0, 0), "/n was deleted; it was at v2\n/n was created: v0, zxid 0x20: d\n"},
		{"a write", at(1, 2, 0), at(1, 3, 0), "/n changed: v2 -> v3, zxid 0x20: d\n"},
		{"two writes are one event, and the versions say so", at(1, 2, 0), at(1, 4, 0), "/n changed: v2 -> v4, zxid 0x20 (2 writes, one event): d\n"},
		{"children", at(1, 2, 3, "a", "b"), at(1, 2, 5, "b", "c"), "children of /n: +c -a (cversion 3 -> 5, zxid 0x30)\n"},
		{"a child that came and went between two looks", at(1, 2, 3, "a"), at(1, 2, 5, "a"), "children of /n: (cversion 3 -> 5, zxid 0x30)\n"},
		{"created, with children already", nodeLook{}, at(1, 0, 1, "a"), "/n was created: v0, zxid 0x20: d\nchildren of /n: +a (cversion 0 -> 1, zxid 0x30)\n"},
	} {
		var out strings.Builder
		for _, ch := range compareLooks("/n", row.was, row.now) {
			ch.text(&out)
		}
		if out.String() != row.want {
			t.Errorf("%s:\n%swant\n%s", row.rule, out.String(), row.want)
		}
	}
}

// One event is one write, however far the node is when it is read.
func TestOneWrite(t *testing.T) {
	v := func(n int32) *int32 { return &n }
	stat := zk.Stat{Czxid: 0x10, Mzxid: 0x20, Version: 3}
	for _, row := range []struct {
		rule string
		ev   zk.EventType
		was  *int32
		want string
	}{
		{"the last write", zk.DataChanged, v(2), "/n changed: v2 -> v3, zxid 0x20: d\n"},
		{"an earlier write: its data and zxid were not seen", zk.DataChanged, v(1), "/n changed: v1 -> v2\n"},
		{"read before its event came", zk.DataChanged, v(3), "/n changed: now v3, zxid 0x20: d\n"},
		{"seen for the first time", zk.DataChanged, nil, "/n changed: now v3, zxid 0x20: d\n"},
		{"written to since it was created", zk.Created, nil, "/n was created: v0, zxid 0x10\n"},
	} {
		var out strings.Builder
		oneWrite(zk.NodeEvent{Type: row.ev, Path: "/n"}, row.was, []byte("d"), stat).text(&out)
		if out.String() != row.want {
			t.Errorf("%s: %swant %s", row.rule, out.String(), row.want)
		}
	}
}

// A watchRun is kz zk watch in this process.
type watchRun struct {
	lines chan string // what it prints
	errs  *watched
	code  chan int
}

// watching starts one and waits until its watch is set.
func watching(ctx context.Context, t *testing.T, args ...string) *watchRun {
	t.Helper()
	r := &watchRun{lines: make(chan string, 100), errs: &watched{word: "Watching", seen: make(chan struct{})}, code: make(chan int, 1)}
	go func() {
		r.code <- run(ctx, &env{stdout: r, stderr: r.errs, network: link.TCP{}}, append([]string{"kz", "zk", "watch"}, args...))
	}()
	select {
	case <-r.errs.seen:
	case code := <-r.code:
		t.Fatalf("exit %d before it watches: %s", code, r.errs)
	}
	return r
}

// Write takes one line: each sentence and each object is written at once.
func (r *watchRun) Write(p []byte) (int, error) {
	r.lines <- string(p)
	return len(p), nil
}

// line waits for the next one.
func (r *watchRun) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-r.lines:
		return line
	case code := <-r.code:
		r.code <- code
	}
	select {
	case line := <-r.lines: // printed before it ended
		return line
	default:
		t.Fatalf("it ended, and printed no further line: %s", r.errs)
		return ""
	}
}

func TestKzZkWatch(t *testing.T) {
	addr, _, end := startZooKeeper(t, "--memory")
	defer end()
	c, err := zk.Connect(t.Context(), zk.Config{Servers: []string{addr}, SessionTimeout: 10 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	one := watching(ctx, t, "--zookeeper", addr, "--count", "2", "/a")
	if !strings.Contains(one.errs.String(), "it does not exist yet") {
		t.Errorf("it says %q", one.errs)
	}
	all := watching(ctx, t, "--zookeeper", addr, "--recursive", "--count", "5", "-o", "json", "/a")
	must(c.CreateRecursive(ctx, "/a", []byte("x")))
	if line := one.line(t); !strings.HasPrefix(line, "/a was created: v0, zxid 0x") || !strings.HasSuffix(line, ": x\n") {
		t.Errorf("of the creation: %q", line)
	}
	_, err = c.Set(ctx, "/a", []byte("y"), 0) // after the line, and so after the watch was set again
	must(err)
	if line := one.line(t); !strings.HasPrefix(line, "/a changed: v0 -> v1, zxid 0x") || !strings.HasSuffix(line, ": y\n") {
		t.Errorf("of the write: %q", line)
	}
	if code := <-one.code; code != exitOK {
		t.Errorf("after two events: exit %d, %s", code, one.errs)
	}
	must(c.CreateRecursive(ctx, "/a/b", nil))
	must(c.Delete(ctx, "/a/b", 0))
	must(c.Delete(ctx, "/a", 1))
	for _, want := range []string{"/a created", "/a data changed", "/a/b created", "/a/b deleted", "/a deleted"} {
		var ch zkChange
		must(json.Unmarshal([]byte(all.line(t)), &ch))
		if told := ch.Path + " " + ch.Event; told != want {
			t.Errorf("of the tree: %s, want %s", told, want)
		}
	}
	if code := <-all.code; code != exitOK {
		t.Errorf("after five events: exit %d, %s", code, all.errs)
	}

	if code := <-watching(ctx, t, "--zookeeper", addr, "--for", "50ms", "/a").code; code != exitOK {
		t.Errorf("nothing within its time: exit %d", code)
	}
	short := watching(ctx, t, "--zookeeper", addr, "--for", "50ms", "--count", "1", "--recursive", "/a")
	if code := <-short.code; code != exitFailed || !strings.Contains(short.errs.String(), "0 of 1 events within 50ms") {
		t.Errorf("less than was asked for: exit %d, %s", code, short.errs)
	}
	for _, more := range [][]string{nil, {"--recursive"}} {
		stop, interrupt := context.WithCancel(ctx)
		waits := watching(stop, t, append(more, "--zookeeper", addr, "/a")...)
		interrupt()
		if code := <-waits.code; code != exitInterrupted {
			t.Errorf("Ctrl-C, %v: exit %d, %s", more, code, waits.errs)
		}
	}
	for _, row := range [][]string{{"--count", "0", "/a"}, {"--for", "-1s", "/a"}, {"a"}, {"/a", "/b"}, {"-o", "xml", "/a"}, {"--recursve", "/a"}} {
		if _, errs, code := kz(t, append([]string{"zk", "watch"}, row...)...); code != exitUsage {
			t.Errorf("%v: exit %d, %q", row, code, errs)
		}
	}
}
