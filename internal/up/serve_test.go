package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kz/internal/journal"
)

// idle is a supervisor whose cluster has no process.
func idle(t *testing.T) (*Supervisor, *Remote) {
	t.Helper()
	s, err := Supervise(Config{Exe: "never-run", Dir: t.TempDir(), Ports: Brokers(2, 1), ZooPort: 1, slowWait: 50 * time.Millisecond, bodyWait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.openEvents(); err != nil {
		t.Fatal(err)
	}
	s.state.Store("running")
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := Find(s.cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// The API can end processes: it serves nobody without the token, and no web page, whether
// it comes with an Origin or with a name that was made to lead here.
func TestGuard(t *testing.T) {
	s, _ := idle(t)
	for rule, c := range map[string]struct {
		token, origin, host string
		want                int
	}{
		"without a token":           {"", "", "", 403},
		"with another token":        {s.contact.Token + "x", "", "", 403},
		"from a web page":           {s.contact.Token, "http://localhost", "", 403},
		"by a stranger's name":      {s.contact.Token, "", "evil.example:80", 403},
		"with the token of the run": {s.contact.Token, "", "", 200},
	} {
		for _, path := range []string{"/v1/cluster", "/v1/faults"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.contact.API+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(tokenHeader, c.token)
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			if c.host != "" {
				req.Host = c.host
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("%s %s: %s, want %d", path, rule, resp.Status, c.want)
			}
		}
	}
}

// Who sends a body and never ends it is answered, and let go of, whether one is taken or not.
func TestABodyThatTricklesIn(t *testing.T) {
	s, _ := idle(t)
	for _, what := range []string{"POST /v1/faults", "GET /v1/cluster", "POST /v1/stop"} {
		conn, err := net.Dial("tcp", s.contact.API)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\n%s: %s\r\nContent-Length: 1000\r\n\r\n{", what, s.contact.API, tokenHeader, s.contact.Token)
		answer, err := io.ReadAll(conn) // until the server has closed it
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			t.Errorf("%s: %v: %.300s", what, err, answer)
		}
	}
	if s.Snapshot().State != "running" {
		t.Error("half a request stopped the cluster")
	}
}

// Of several that find what a killed supervisor left, one gets the directory.
func TestOneSupervisorClaims(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	for range 10 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, contactFile), []byte(`{"api":"127.0.0.1:1","token":"x"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		const n = 4
		got := make(chan *Supervisor, n)
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				s, err := Supervise(Config{Exe: "never-run", Dir: dir, Ports: Brokers(1, 1), ZooPort: 1})
				if err == nil {
					got <- s
				} else if !errors.Is(err, ErrRunning) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		close(got)
		if len(got) != 1 {
			t.Errorf("%d supervisors have the directory", len(got))
		}
		for s := range got {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// What is asked twice with one id is done once, and answered alike; also at the same time.
func TestOneIDIsDoneOnce(t *testing.T) {
	var l ledger
	var did atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			f, err := l.once("x", "kill 1", func() (Fault, error) {
				did.Add(1)
				return Fault{ID: "7"}, errors.New("as it was")
			})
			if f.ID != "7" || err == nil || err.Error() != "as it was" {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
	all.Wait()
	if did.Load() != 1 {
		t.Errorf("done %d times", did.Load())
	}
	if _, err := l.once("x", "kill 2", nil); err == nil {
		t.Error("the same id for another request was taken")
	}
	for i := range 2 * maxAnswers {
		_, _ = l.once(strings.Repeat("i", i%90+1)+string(rune('a'+i/90)), i, func() (Fault, error) { return Fault{}, nil })
	}
	if len(l.answers) > maxAnswers || len(l.order) > maxAnswers {
		t.Errorf("%d answers are kept", len(l.answers))
	}
}

// The API answers a repeated fault as the first time, and says 400 and 409 apart.
func TestFaultsOverTheAPI(t *testing.T) {
	_, r := idle(t)
	for _, again := range []string{"first", "again"} {
		_, err := r.Node(t.Context(), NodeFault{ID: "a", Act: Kill, Node: "1"})
		var refused *Refusal
		if !errors.As(err, &refused) || refused.Usage || !strings.Contains(refused.Text, "does not run") {
			t.Errorf("%s: %v", again, err)
		}
	}
	if _, err := r.Node(t.Context(), NodeFault{ID: "a", Act: Kill, Node: "2"}); err == nil || !strings.Contains(err.Error(), "another request") {
		t.Errorf("an id for two requests: %v", err)
	}
	for _, body := range []string{"", "{}", `{"node":{},"link":{}}`, `{"node":{"act":"kill","nod":"1"}}`, strings.Repeat(" ", maxFaultBody+1) + "{}", `{"node":{"id":"b","act":"kill","node":"1"}} and more`} {
		_, err := r.call(t.Context(), http.MethodPost, "/v1/faults", []byte(body))
		var refused *Refusal
		if !errors.As(err, &refused) || !refused.Usage || strings.Contains(refused.Text, "does not run") {
			t.Errorf("%.40q: %v", body, err)
		}
	}
	if all, err := r.Faults(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("faults: %v, %v", all, err)
	}
}

// What the API does not know is refused, not passed over: healing one fault, which it
// cannot, must not heal all.
func TestAPIRefusesWhatItDoesNotKnow(t *testing.T) {
	s, r := idle(t)
	s.book.add(&entry{node: "broker-1", at: true, Fault: Fault{Act: Kill, Nodes: []string{"broker-1"}, State: Armed}})
	for _, c := range []struct{ method, path, body string }{
		{http.MethodDelete, "/v1/faults?id=99", ""},
		{http.MethodDelete, "/v1/faults?id=1;x", ""},
		{http.MethodDelete, "/v1/faults", `{"id":"99"}`},
		{http.MethodPost, "/v1/faults?act=kill", `{"node":{"id":"c","act":"kill","node":"1"}}`},
		{http.MethodPost, "/v1/stop?node=1", ""},
		{http.MethodPost, "/v1/stop", `{"node":"1"}`},
		{http.MethodGet, "/v1/cluster?node=1", ""},
		{http.MethodGet, "/v1/events?sinc=5", ""},
		{http.MethodGet, "/v1/events?since=5&since=6", ""},
	} {
		_, err := r.call(t.Context(), c.method, c.path, []byte(c.body))
		var refused *Refusal
		if !errors.As(err, &refused) || !refused.Usage {
			t.Fatalf("%s %s %s: %v", c.method, c.path, c.body, err)
		}
	}
	if all, err := r.Faults(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("faults: %v, %v", all, err)
	}
	select {
	case <-s.StopAsked():
		t.Error("a stop with a parameter stops all")
	default:
	}
	s.book.takeOut(func(*entry) bool { return true })
}

// Who follows sees every event once and in order, also after coming back.
func TestEventsResume(t *testing.T) {
	s, r := idle(t)
	emit := func(n int) {
		for range n {
			s.events.record(journal.Event{Kind: journal.Fault, Text: "x"})
		}
	}
	emit(3)
	enough := errors.New("enough")
	last := int64(0)
	follow := func(upTo int64) {
		t.Helper()
		err := r.Events(t.Context(), last, func(ev Event) error {
			if ev.Seq != last+1 {
				t.Errorf("event %d after %d", ev.Seq, last)
			}
			if last = ev.Seq; last == upTo {
				return enough
			}
			if last == 3 {
				emit(600) // while it is followed: more than a chunk
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatalf("up to %d: %v", upTo, err)
		}
	}
	follow(2)
	follow(300)
	follow(603)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.contact.API+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(tokenHeader, s.contact.Token)
	req.Header.Set("Last-Event-ID", "one")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a Last-Event-ID that is no number: %s", resp.Status)
	}
}

// A reader that reads nothing loses its connection; the supervisor goes on.
func TestAReaderThatReadsNothing(t *testing.T) {
	s, r := idle(t)
	conn, err := net.Dial("tcp", s.contact.API)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: " + s.contact.API + "\r\n" + tokenHeader + ": " + s.contact.Token + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 64<<10)
	for s.slow.Load() == 0 { // until both ends of the socket are full: go test's own deadline is this loop's
		s.events.record(journal.Event{Kind: journal.Fault, Text: text})
	}
	if _, err := r.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}
