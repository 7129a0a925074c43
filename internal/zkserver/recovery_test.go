package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kz/internal/journal"
)

// durable is what must be there again after a crash, as text.
func (st *state) durable() string {
	var b strings.Builder
	for _, ss := range st.sortedSessions() {
		fmt.Fprintf(&b, "session %x %d %x %v\n", ss.id, ss.timeout, ss.password, sorted(keys(ss.ephemerals)))
	}
	for _, path := range sorted(keys(st.tree.nodes)) {
		n := st.tree.nodes[path]
		null := ""
		if n.data == nil {
			null = " null"
		}
		fmt.Fprintf(&b, "%q %q%s %v %+v kind %d owner %x kids %v\n", path, n.data, null, n.acl, n.stat(), n.kind, n.owner, n.names())
	}
	fmt.Fprintf(&b, "bytes %d, perishable %v, logged %x\n", st.tree.bytes, sorted(keys(st.perishable)), st.logged)
	return b.String()
}

func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	return list
}

// on runs f on the apply goroutine and waits.
func (s *Server) on(f func()) {
	done := make(chan struct{})
	s.submit(request{control: func() { f(); close(done) }})
	<-done
}

// moment is a state and how long the log was when all of it was durable.
type moment struct {
	length int64
	state  string
}

// record does random writes one after the other and notes the state after each.
func record(t *testing.T, s *Server, r chaos, writes int) []moment {
	var history []moment
	note := func() {
		s.on(func() {
			if err := s.log.flush(); err != nil {
				t.Error(err)
			}
			history = append(history, moment{s.log.written, s.durable()})
		})
	}
	note()
	clients := []*client{}
	for range 3 {
		clients = append(clients, join(t, s.Addr(), connectRequest{timeout: 30000}))
		note()
	}
	clients[0].must(authOp{"digest", []byte("u0:p")})
	for range writes {
		i := r.IntN(len(clients))
		if r.IntN(20) == 0 {
			clients[i].call(bareOp{opCloseSession})
			note()
			clients[i] = join(t, s.Addr(), connectRequest{timeout: 30000})
		} else {
			clients[i].call(r.write())
		}
		note()
	}
	return history
}

// A crash may leave the log cut at any byte. What comes back is the state after the last
// write that is wholly there: nothing that was answered is missing from it as long as the
// cut is in what was not yet durable, and no write is half there.
func TestLogCutAtAnyByte(t *testing.T) {
	rnd, _ := seeded(t)
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, NoFsync: true})
	r := chaos{rnd, ""}
	history := record(t, s, r, 300)
	name := s.log.dir.log(s.log.begins)
	s.Stop()
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cuts := []int{logHeader, len(whole)}
	for range 150 {
		cuts = append(cuts, logHeader+rnd.IntN(len(whole)-logHeader+1))
	}
	for _, m := range history { // the bytes around a boundary, too
		if rnd.IntN(8) == 0 {
			cuts = append(cuts, max(logHeader, int(m.length)-1), int(m.length), min(len(whole), int(m.length)+1))
		}
	}
	for _, cut := range cuts {
		crashed := copyDir(t, dir)
		log := filepath.Join(crashed, filepath.Base(name))
		b := withTail(rnd, whole[:cut])
		if err := os.WriteFile(log, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for cut < min(len(b), len(whole)) && b[cut] == whole[cut] {
			cut++ // the tail happens to be what was there
		}
		st, _, err := recoverState(dataDir{crashed})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if diff := cmp.Diff(stateAt(history, int64(cut)), st.durable()); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
		}
		if again, torn, err := recoverState(dataDir{crashed}); err != nil || len(torn) > 0 || again.durable() != st.durable() {
			t.Fatalf("cut at %d: the second recovery differs: %v %v", cut, torn, err)
		}
	}
}

// withTail appends what a power failure may leave behind the cut: nothing, zeros, garbage.
func withTail(rnd *rand.Rand, b []byte) []byte {
	tail := make([]byte, rnd.IntN(200))
	switch rnd.IntN(3) {
	case 0:
		tail = nil
	case 1:
		for i := range tail {
			tail[i] = byte(rnd.Uint32())
		}
	}
	return append(bytes.Clone(b), tail...)
}

func stateAt(history []moment, length int64) string {
	state := ""
	for _, m := range history {
		if m.length <= length {
			state = m.state
		}
	}
	return state
}

// Many lives on one directory, with snapshots and old files purged in between: each
// begins where the last one ended, in a new epoch.
func TestStateSurvivesRestarts(t *testing.T) {
	rnd, _ := seeded(t)
	dir := t.TempDir()
	before, lastZxid := newState().durable(), int64(0)
	for life := range 8 {
		s := New(Config{Addr: "127.0.0.1:0", Dir: dir, NoFsync: true, SnapshotEvery: 20 + rnd.IntN(60), SnapshotsKept: 1 + rnd.IntN(3)})
		if err := s.Start(); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		var now string
		s.on(func() { now = s.durable() })
		if diff := cmp.Diff(before, now); diff != "" {
			t.Fatalf("life %d (-want +got):\n%s", life, diff)
		}
		if s.zxid>>32 <= lastZxid>>32 {
			t.Fatalf("life %d: zxid %x after %x is no new epoch", life, s.zxid, lastZxid)
		}
		history := record(t, s, chaos{rnd, ""}, 100)
		before, lastZxid = history[len(history)-1].state, s.zxid
		s.Stop()
	}
	snapshots, logs, err := dataDir{dir}.list()
	if err != nil || len(snapshots) > 3 || len(logs) > 4 {
		t.Errorf("old files are not purged: %d snapshots, %d logs, %v", len(snapshots), len(logs), err)
	}
}

// Damage in what was durable is not guessed about: it is named, and nothing is changed.
func TestDamageIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, NoFsync: true})
	record(t, s, chaos{rand.New(rand.NewPCG(7, 7)), ""}, 60)
	log, snapshot := s.log.dir.log(s.log.begins), s.log.dir.snapshot(s.log.begins)
	s.Stop()
	size := func(name string) int {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Size())
	}
	for _, row := range []struct {
		rule   string
		file   string
		change func(b []byte) []byte
	}{
		{"a flipped bit in a write that others follow", log, flip(size(log) / 3)},
		{"a length that leads nowhere", log, flip(logHeader + 4)},
		{"a header that is none", log, flip(3)},
		{"a log that does not follow what is before it", log, flip(23)},
		{"a flipped bit in the snapshot", snapshot, flip(size(snapshot) / 2)},
		{"a snapshot that was cut", snapshot, func(b []byte) []byte { return b[:len(b)-9] }},
		{"an empty snapshot", snapshot, func([]byte) []byte { return nil }},
	} {
		t.Run(row.rule, func(t *testing.T) {
			damaged := copyDir(t, dir)
			name := filepath.Join(damaged, filepath.Base(row.file))
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b = row.change(b)
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			err = New(Config{Addr: "127.0.0.1:0", Dir: damaged}).Start()
			if corrupt := (*errCorrupt)(nil); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), filepath.Base(row.file)) {
				t.Fatalf("started, or did not name the file: %v", err)
			}
			if after, _ := os.ReadFile(name); !bytes.Equal(after, b) {
				t.Error("it changed the damaged file")
			}
		})
	}
}

func flip(at int) func([]byte) []byte {
	return func(b []byte) []byte { b[at] ^= 0x10; return b }
}

// A log that is missing in the middle is noticed when an older snapshot is started from.
func TestMissingLogIsNoticed(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		s := start(t, Config{Dir: dir, NoFsync: true})
		c := join(t, s.Addr(), connectRequest{timeout: 30000})
		c.must(createAs("/n", 2))
		s.Stop()
	}
	snapshots, logs, err := dataDir{dir}.list()
	if err != nil || len(snapshots) != 3 || len(logs) != 3 {
		t.Fatalf("%d snapshots, %d logs, %v", len(snapshots), len(logs), err)
	}
	d := dataDir{dir}
	os.Remove(d.snapshot(snapshots[2]))
	os.Remove(d.snapshot(snapshots[1]))
	if st, _, err := recoverState(dataDir{copyDir(t, dir)}); err != nil || len(st.tree.nodes) != 8 {
		t.Fatalf("from the oldest snapshot and all logs: %v", err)
	}
	os.Remove(d.log(logs[1]))
	if _, _, err := recoverState(d); err == nil || !strings.Contains(err.Error(), "a log is missing") {
		t.Fatalf("a missing log: %v", err)
	}
}

// A torn end is cut off, and said.
func TestTornEndIsReported(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, NoFsync: true})
	join(t, s.Addr(), connectRequest{timeout: 30000}).must(create("/a", "x"))
	log := s.log.dir.log(s.log.begins)
	s.Stop()
	b, _ := os.ReadFile(log)
	if err := os.WriteFile(log, b[:len(b)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	j := journal.New(-1)
	var said []journal.Event
	j.Subscribe(func(ev journal.Event) { said = append(said, ev) })
	again := start(t, Config{Dir: dir, NoFsync: true, Journal: j})
	if len(said) == 0 || said[0].Kind != journal.Recovery || !strings.Contains(said[0].Text, filepath.Base(log)) {
		t.Errorf("not reported: %+v", said)
	}
	if _, e := join(t, again.Addr(), connectRequest{timeout: 30000}).stat("/a"); e != noNode {
		t.Errorf("half a write is there: %v", e)
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir})
	err := New(Config{Addr: "127.0.0.1:0", Dir: dir}).Start()
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Fatalf("a second server on %s: %v", dir, err)
	}
	s.Stop()
	start(t, Config{Dir: dir})
}
