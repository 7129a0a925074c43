package zkserver

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"kz/internal/zktest"
)

// A log that cannot be written ends the server: what it cannot keep it does not answer, to nobody,
// not even a read. What it has answered is there at the next start.
func TestUnwritableLogEndsTheServer(t *testing.T) {
	for _, row := range []struct {
		trouble string
		befall  func(t *testing.T, w *wal)
		want    error
	}{
		{"the file is closed", func(_ *testing.T, w *wal) { w.file.Close() }, os.ErrClosed},
		{"the disk is full", func(t *testing.T, w *wal) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip("this system has no /dev/full, which is a full disk: ", err)
			}
			w.file.Close()
			w.file = full
		}, syscall.ENOSPC},
	} {
		t.Run(row.trouble, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, Config{Dir: dir})
			c, other := join(t, s.Addr(), connectRequest{timeout: 30000}), join(t, s.Addr(), connectRequest{timeout: 30000})
			c.must(create("/kept", ""))
			c.must(createAs("/mine", 1))
			s.on(func() { row.befall(t, s.log) })
			if _, _, err := c.await(c.send(opCreate, encodeOperation(create("/lost", "")))); err == nil {
				t.Error("a write that is not on disk was answered")
			}
			if _, _, err := other.await(other.send(opExists, encodeOperation(exists("/lost")))); err == nil {
				t.Error("a read was answered from what is not on disk")
			}
			select {
			case <-s.Done():
			case <-time.After(answerWithin):
				t.Fatal("the server goes on")
			}
			if !errors.Is(s.Err(), row.want) {
				t.Errorf("it ended with %v", s.Err())
			}
			s.Stop()
			again := start(t, Config{Dir: dir})
			c = join(t, again.Addr(), connectRequest{timeout: 30000, session: c.id, password: c.password, lastZxid: c.lastZxid})
			for path, want := range map[string]code{"/kept": ok, "/mine": ok, "/lost": noNode} {
				if _, e := c.stat(path); e != want {
					t.Errorf("after a start %s is %v", path, e)
				}
			}
		})
	}
}

// A snapshot that finds no room ends the server, too, and leaves what was there before it.
func TestSnapshotWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	s := start(t, Config{Dir: dir, SnapshotEvery: 3})
	c := join(t, s.Addr(), connectRequest{timeout: 30000})
	c.must(create("/kept", ""))
	var taken string
	s.on(func() { // where the next snapshot would be written first there is a directory
		taken = s.log.dir.snapshot(s.zxid+1) + ".tmp"
		if err := os.Mkdir(taken, 0o700); err != nil {
			t.Error(err)
		}
	})
	// The third write: it is on disk, and the snapshot is due. Its answer may come or not.
	c.await(c.send(opCreate, encodeOperation(create("/kept too", ""))))
	<-s.Done()
	if s.Err() == nil {
		t.Error("it does not say why it ended")
	}
	s.Stop()
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: dir})
	for _, path := range []string{"/kept", "/kept too"} {
		if _, e := join(t, again.Addr(), connectRequest{timeout: 30000}).stat(path); e != ok {
			t.Errorf("%s: %v", path, e)
		}
	}
}

// A real SIGSTOP for several times the session timeout: the session goes on with its ephemeral.
// (bubble_test.go has the same in virtual time.)
func TestSessionsOutliveSIGSTOP(t *testing.T) {
	addr, process, _ := spawnProcess(t, t.TempDir())
	c := join(t, addr, connectRequest{timeout: 2000})
	c.must(createAs("/e", 1))
	if err := zktest.Pause(process); err != nil {
		t.Skip(err)
	}
	<-time.After(4 * time.Second)
	if err := zktest.Resume(process); err != nil {
		t.Fatal(err)
	}
	if st, e := c.stat("/e"); e != ok || st.ephemeralOwner != c.id {
		t.Errorf("after the pause its ephemeral is %v", e)
	}
}
