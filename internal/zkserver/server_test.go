package zkserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/link"
	"kz/internal/zktest"
)

func TestConnectionsPerClientAreBounded(t *testing.T) {
	s := start(t, Config{MaxClientConns: 2})
	a := join(t, s.Addr(), connectRequest{timeout: 30000})
	join(t, s.Addr(), connectRequest{timeout: 30000})
	if c, err := tryJoin(t, link.TCP{}, s.Addr(), connectRequest{timeout: 30000}); err == nil {
		t.Fatalf("a third connection got in: %x", c.id)
	}
	a.must(bareOp{opCloseSession})
	a.closed()
	for range 1000 { // until the server has seen the end of it
		if _, err := tryJoin(t, link.TCP{}, s.Addr(), connectRequest{timeout: 30000}); err == nil {
			return
		}
	}
	t.Error("no room after one has left")
}

// Unlike in 3.8.0, a wrong password does not cost the rightful client its connection.
func TestWrongPasswordDisturbsNobody(t *testing.T) {
	s := start(t, Config{})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	thief, err := tryJoin(t, link.TCP{}, s.Addr(), connectRequest{timeout: 30000, session: c.id, password: make([]byte, 16)})
	if err != nil || thief.id != 0 || !thief.closed() {
		t.Errorf("session %x, %v", thief.id, err)
	}
	c.must(create("/a", ""))
}

// Unlike the real server, a check by itself is answered, and harms nothing.
func TestCheckAlone(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir(), NoFsync: true})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(checkOp{"/", 0})
	if p := c.call(checkOp{"/", 5}); p.err != badVersion {
		t.Errorf("a wrong version: %v", p.err)
	}
	s.Stop()
	start(t, s.cfg)
}

// Unlike in 3.8.0 (ZOOKEEPER-4466, mended in 3.9), a standard watch beside a persistent
// one uses up only itself.
func TestStandardWatchBesideAPersistentOne(t *testing.T) {
	s := start(t, Config{})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(create("/a", ""))
	c.must(watchOp{opAddWatch, "/a", 0})
	c.must(watching(get("/a")))
	for i := range 3 {
		c.send(opSetData, encodeOperation(set("/a", fmt.Sprint(i))))
		events, err := c.events()
		if err != nil || !slices.Contains(events, "NodeDataChanged /a") {
			t.Fatalf("after set %d: %v %v", i, events, err)
		}
	}
}

func TestSuperDigestMayDoEverything(t *testing.T) {
	s := start(t, Config{SuperDigest: digest("super", []byte("super:secret"))})
	owner, super := join(t, s.Addr(), connectRequest{timeout: 30000}), join(t, s.Addr(), connectRequest{timeout: 30000})
	owner.must(authOp{"digest", []byte("me:x")})
	owner.must(createOp{opCreate, "/mine", nil, []acl{{permAll, "auth", ""}}, 0, -1})
	if p := super.call(set("/mine", "")); p.err != noAuth {
		t.Errorf("before it has said who it is: %v", p.err)
	}
	super.must(authOp{"digest", []byte("super:secret")})
	super.must(set("/mine", "x"))
}

// Requests are answered in order, and what was taken before a Stop is answered.
func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir()})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(create("/a", ""))
	const n = 300
	for i := range n {
		c.send(opSetData, encodeOperation(set("/a", fmt.Sprint(i))))
		c.send(opGetData, encodeOperation(get("/a")))
	}
	for i := range n {
		for range 2 {
			p, err := c.receive()
			if err != nil {
				t.Fatal(err)
			}
			if d := (&decoder{b: p.body}); len(p.body) > 68 {
				if got := string(d.buffer()); got != fmt.Sprint(i) {
					t.Fatalf("read %d after write %d", i, i)
				}
			}
		}
	}
}

func TestFourLetterWords(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir()})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(createAs("/e", 1))
	c.must(watching(get("/e")))
	c.must(watching(list("/")))
	id := sessionName(c.id)
	for word, want := range map[string][]string{
		"ruok": {"imok"}, "isro": {"rw"},
		"srvr": {"Zookeeper version: 3.8.0-", "Latency min/avg/max: 0/", "Connections: ", "Zxid: 0x100000002\n", "Mode: standalone\n", "Node count: 6\n"},
		"stat": {"Zookeeper version: 3.8.0-", "Clients:\n /127.0.0.1:", "Mode: standalone\n"},
		"mntr": {"zk_server_state\tstandalone\n", "zk_znode_count\t6\n", "zk_watch_count\t2\n", "zk_ephemerals_count\t1\n", "zk_global_sessions\t1\n"},
		"dump": {"Session Sets (1)/(1):\n", "Sessions with Ephemerals (1):\n" + id + ":\n\t/e\n"},
		"cons": {"sid=" + id, "lop=GETC", "to=30000", "recved=4,sent=4"},
		"wchs": {"1 connections watching 2 paths\nTotal watches:2\n"},
		"wchp": {"/\n\t" + id + "\n/e\n\t" + id + "\n"},
		"wchc": {id + "\n\t/\n\t/e\n"},
		"conf": {"tickTime=2000\n", "minSessionTimeout=4000\n", "maxSessionTimeout=40000\n"},
		"envi": {"zookeeper.version=3.8.0-", "go.version=go"},
		"dirs": {"datadir_size: ", "logdir_size: "},
	} {
		got := ask(t, s.Addr(), word)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s answers %q, without %q", word, got, w)
			}
		}
	}
	if got := ask(t, s.Addr(), "crst"); got != "Connection stats reset.\n" {
		t.Errorf("crst: %q", got)
	}
	if got := ask(t, s.Addr(), "cons"); !strings.Contains(got, "recved=0,sent=0") {
		t.Errorf("after crst: %q", got)
	}
}

// The words that tools parse have the same lines on the real server.
func TestWordsHaveTheRealOnesLines(t *testing.T) {
	real := zktest.Shared(t)
	s := start(t, Config{})
	for _, word := range []string{"srvr", "wchs"} {
		theirs, err := real.Ask(word)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := lineNames(ask(t, s.Addr(), word)), lineNames(theirs); got != want {
			t.Errorf("%s: lines %q, the real one has %q", word, got, want)
		}
	}
}

func lineNames(text string) string {
	var names []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimLeft(line, "0123456789 "), ":")
		names = append(names, strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r >= '0' && r <= '9' }), "N"))
	}
	return strings.Join(names, "|")
}

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	err := New(Config{Tick: time.Microsecond, MinSessionTimeout: time.Minute, MaxSessionTimeout: time.Second, MaxClientConns: -1}).Start()
	for _, want := range []string{"tickTime", "maxSessionTimeout", "maxClientCnxns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

// A Stop waits for nobody who is silent, and may be repeated.
func TestStopIsRepeatable(t *testing.T) {
	s := start(t, Config{Dir: t.TempDir()})
	for range 5 {
		join(t, s.Addr(), connectRequest{timeout: 30000})
	}
	dial(t, link.TCP{}, s.Addr()) // says nothing
	s.Stop()
	s.Stop()
	if s.Err() != nil {
		t.Errorf("ended with %v", s.Err())
	}
	New(Config{}).Stop() // never started
}
