package zk

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
)

// A server that has lost its data takes the connection of an old session and closes it,
// for ever. An operator must be able to read that in the log.
func TestAServerThatRefusesTheSessionIsNamedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := link.NewMemory()
		l, err := n.Listen("zk:2181")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go serveOneSession(l)
		var log lines
		c, err := Connect(t.Context(), Config{Servers: []string{"zk:2181"}, SessionTimeout: 6 * time.Second, ConnectionTimeout: 5 * time.Second}, n, nil, zerolog.New(&log))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*awayReminder + time.Second) // virtual
		c.Close()
		if got := log.with("still no connection"); len(got) != 2 || !strings.Contains(got[0], "closed instead of answered") || !strings.Contains(got[0], "zk:2181") {
			t.Errorf("the log says %q", got)
		}
	})
}

// serveOneSession opens a session for who comes first, drops the connection, and then
// drops everybody.
func serveOneSession(l net.Listener) {
	for first := true; ; first = false {
		c, err := l.Accept()
		if err != nil {
			return
		}
		request := make([]byte, 4+44)
		if _, err := io.ReadFull(c, request); err == nil && first {
			answer := binary.BigEndian.AppendUint32(nil, 36)
			answer = binary.BigEndian.AppendUint32(answer, 0)    // protocol
			answer = binary.BigEndian.AppendUint32(answer, 6000) // timeout
			answer = binary.BigEndian.AppendUint64(answer, 7)    // session
			answer = binary.BigEndian.AppendUint32(answer, 16)   // password
			c.Write(append(answer, make([]byte, 16)...))
			time.Sleep(time.Second) // virtual; closed at once, the answer might be lost with the connection
		}
		c.Close()
	}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// with is the lines that contain part.
func (l *lines) with(part string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	return out
}
