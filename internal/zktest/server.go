package zktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The jar of Debian's package "zookeeper"; its manifest names all others.
const jar = "/usr/share/java/zookeeper.jar"

// readyWithin is how long a server may take to answer after its start.
const readyWithin = 120 * time.Second

// Server is one ZooKeeper server.
type Server struct {
	Addr string // 127.0.0.1:port, the same over restarts

	dir   string
	tick  time.Duration
	fsync bool
	words []string   // of the command that runs it; none: Debian's
	tb    testing.TB // whose server it is; nil: all tests' (Shared)
	mu    sync.Mutex // guards all below
	cmd   *exec.Cmd  // nil when not running
	ended chan struct{}
}

// Option changes how a server is set up.
type Option func(*Server)

// Tick sets tickTime. Session timeouts are raised to 2 ticks, and sessions are ended on
// tick boundaries, so 500 ms (the default here) allows sessions of one second.
func Tick(d time.Duration) Option { return func(s *Server) { s.tick = d } }

// Fsync makes the server fsync its log, as it does in production.
func Fsync() Option { return func(s *Server) { s.fsync = true } }

// Command runs another server than Debian's: a command that takes a zoo.cfg as its last
// argument, as "/path/to/kz", "zookeeper" does.
func Command(words ...string) Option { return func(s *Server) { s.words = words } }

// Start runs a server until the test ends.
func Start(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s := configured(tb.TempDir(), opts...)
	if len(s.words) == 0 {
		require(tb)
	}
	if err := s.launch(); err != nil {
		tb.Fatal(err)
	}
	s.tb = tb
	tb.Cleanup(s.Kill)
	return s
}

func require(tb testing.TB) {
	tb.Helper()
	why := missing()
	switch {
	case why == "", os.Getenv(instead) != "":
	case os.Getenv("KZ_REQUIRE_ZOOKEEPER") == "1":
		tb.Fatalf("KZ_REQUIRE_ZOOKEEPER=1, but %s", why)
	default:
		tb.Skipf("needs a real ZooKeeper: %s (Debian: apt install zookeeper)", why)
	}
}

// instead names another server, as a command that takes a zoo.cfg: "/path/to/kz zookeeper".
const instead = "KZ_ZOOKEEPER"

func missing() string {
	if _, err := exec.LookPath("java"); err != nil {
		return "there is no java"
	}
	if _, err := os.Stat(jar); err != nil {
		return "there is no " + jar
	}
	return ""
}

func configured(dir string, opts ...Option) *Server {
	s := &Server{dir: dir, tick: 500 * time.Millisecond, words: strings.Fields(os.Getenv(instead))}
	for _, o := range opts {
		o(s)
	}
	return s
}

func (s *Server) launch() (err error) {
	for range 3 { // somebody else may take the free port first
		if s.Addr, err = freeAddr(); err != nil {
			return err
		}
		if err = s.run(); err == nil {
			return nil
		}
	}
	return err
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// run starts the process and waits until it answers.
func (s *Server) run() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	force := "no"
	if s.fsync {
		force = "yes"
	}
	conf := fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%s\ntickTime=%d\nmaxSessionTimeout=60000\n"+
		"maxClientCnxns=0\nadmin.enableServer=false\nautopurge.snapRetainCount=1000\n4lw.commands.whitelist=*\nforceSync=%s\n",
		filepath.Join(s.dir, "data"), port, s.tick.Milliseconds(), force)
	file := filepath.Join(s.dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		return err
	}
	cmd := s.command(force, file)
	cmd.Dir = s.dir
	output, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer output.Close() // the child has its own
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = DiesWithParent()
	ended := make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // "parent" means the thread that forked: it must live as long as the child
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	if err := s.waitReady(ended); err != nil {
		s.Kill()
		return fmt.Errorf("ZooKeeper on %s: %w; it printed:\n%s", s.Addr, err, s.printed())
	}
	return nil
}

// command is how a server is started on its zoo.cfg: Java, or what Command or KZ_ZOOKEEPER says.
func (s *Server) command(force, file string) *exec.Cmd {
	if len(s.words) > 0 {
		return exec.Command(s.words[0], append(slices.Clone(s.words[1:]), file)...)
	}
	return exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dzookeeper.forceSync="+force, "-cp", jar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
}

func (s *Server) waitReady(ended chan struct{}) error {
	deadline := time.After(readyWithin)
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		if out, err := s.Ask("srvr"); err == nil && strings.Contains(out, "Mode:") {
			return nil
		}
		select {
		case <-every.C:
		case <-ended:
			return fmt.Errorf("it ended at once")
		case <-deadline:
			return fmt.Errorf("not ready within %v", readyWithin)
		}
	}
}

// Ask sends a four-letter word ("srvr", "dump", "wchp" …) and returns the answer.
func (s *Server) Ask(word string) (string, error) { return s.ask(word, 5*time.Second) }

func (s *Server) ask(word string, within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(within))
	if _, err := c.Write([]byte(word)); err != nil {
		return "", err
	}
	out, err := io.ReadAll(c)
	return string(out), err
}

// StartAgain runs a stopped server on the same data and address.
func (s *Server) StartAgain(tb testing.TB) {
	tb.Helper()
	if err := s.run(); err != nil {
		tb.Fatal(err)
	}
}

// Stop ends the server with SIGTERM; Kill with SIGKILL. Both wait until it is gone; its
// data stays. Either does nothing when it is not running.
func (s *Server) Stop() { s.end(Terminate) }

// Kill is kill -9.
func (s *Server) Kill() { s.end((*os.Process).Kill) }

func (s *Server) end(how func(*os.Process) error) {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	s.must(how(cmd.Process))
	<-ended
	s.mu.Lock()
	s.cmd = nil
	s.mu.Unlock()
}

// Pid is the process id, while it runs.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// Pause freezes the server: connections stay open, nothing is answered.
func (s *Server) Pause() { s.signal(Pause) }

// Resume lets it go on.
func (s *Server) Resume() { s.signal(Resume) }

func (s *Server) signal(how func(*os.Process) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		s.must(how(s.cmd.Process))
	}
}

// must skips the test where the system has no such signal. A process that has ended by
// itself is no error here: what the test waits for next tells.
func (s *Server) must(err error) {
	if errors.Is(err, errors.ErrUnsupported) && s.tb != nil {
		s.tb.Skip(err)
	}
}

// printed is the end of what the server printed, over all its runs.
func (s *Server) printed() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1<<14):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "zookeeper.log") }
