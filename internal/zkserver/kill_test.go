package zkserver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// childDir makes this test binary a server on a directory, to be killed.
const childDir = "KZ_ZKSERVER_CHILD"

// serveAsChild runs until somebody kills it. Its ticks are short, and so sessions may be.
func serveAsChild(dir string) {
	s := New(Config{Addr: "127.0.0.1:0", Dir: dir, SnapshotEvery: 500, Tick: 100 * time.Millisecond, MaxSessionTimeout: time.Minute, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel)})
	if err := s.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	<-term
	s.Stop()
}

// spawn starts a child and returns where it listens.
func spawn(t *testing.T, dir string) (addr string, kill func()) {
	t.Helper()
	addr, _, kill = spawnProcess(t, dir)
	return addr, kill
}

func spawnProcess(t *testing.T, dir string) (addr string, p *os.Process, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process, kill
}

// kill -9 under load, again and again: every write that was answered is there afterwards,
// with the version it was answered with; so are the session and its ephemeral.
func TestKillLosesNothingAnswered(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	rnd, _ := seeded(t)
	dir := t.TempDir()
	const writers = 3
	var acked [writers]int32 // the last version that was answered
	var sessions [writers]*client
	addr, kill := spawn(t, dir)
	for i := range writers {
		sessions[i] = join(t, addr, connectRequest{timeout: 60000})
		sessions[i].must(create(fmt.Sprint("/w", i), ""))
		sessions[i].must(createAs(fmt.Sprint("/e", i), 1))
	}
	for range rounds {
		var wg sync.WaitGroup
		enough := make(chan struct{}, writers)
		limit := 20 + rnd.IntN(200)
		for i, c := range sessions {
			wg.Go(func() {
				for n := 0; ; n++ {
					_, p, err := c.await(c.send(opSetData, encodeOperation(set(fmt.Sprint("/w", i), "x"))))
					if err != nil {
						return
					}
					acked[i] = decodeStat(&decoder{b: p.body}).version
					if n == limit {
						enough <- struct{}{}
					}
				}
			})
		}
		<-enough
		kill()
		wg.Wait()
		addr, kill = spawn(t, dir)
		for i, old := range sessions {
			c := join(t, addr, connectRequest{timeout: 60000, session: old.id, password: old.password, lastZxid: old.lastZxid})
			if c.id != old.id {
				t.Fatal("a session is lost")
			}
			sessions[i] = c
			if st, e := c.stat(fmt.Sprint("/e", i)); e != ok || st.ephemeralOwner != c.id {
				t.Errorf("its ephemeral: %v", e)
			}
			// One more may have been made durable than could be answered.
			st, _ := c.stat(fmt.Sprint("/w", i))
			if st.version < acked[i] || st.version > acked[i]+1 {
				t.Errorf("version %d after %d was answered", st.version, acked[i])
			}
		}
	}
	t.Logf("%d kills, %d writes answered", rounds, acked[0]+acked[1]+acked[2])
}
