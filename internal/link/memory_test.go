package link

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connect gives both ends of a connection over n.
func connect(t testing.TB, n Network, addr string) (client, server net.Conn) {
	t.Helper()
	l, err := n.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = n.Dial(context.Background(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func write(t testing.TB, c net.Conn, s string) {
	t.Helper()
	if n, err := c.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("write %q: %d, %v", s, n, err)
	}
}

func expect(t testing.TB, c net.Conn, s string) {
	t.Helper()
	b := make([]byte, len(s))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != s {
		t.Fatalf("read %q, %v, want %q", b, err, s)
	}
}

func expectErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}

func TestMemoryCarriesBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, NewMemory(), "127.0.0.1:9092")
		defer client.Close()
		write(t, client, "ping") // does not wait for a reader
		expect(t, server, "ping")
		write(t, server, "pong")
		expect(t, client, "po")
		expect(t, client, "ng")
		if got := server.LocalAddr().String(); got != "127.0.0.1:9092" || client.RemoteAddr().String() != got {
			t.Errorf("the listener's address is %s", got)
		}
		if client.LocalAddr().String() != server.RemoteAddr().String() {
			t.Errorf("the dialer is %v here and %v there", client.LocalAddr(), server.RemoteAddr())
		}
		server.Close()
		_, err := client.Read(make([]byte, 1))
		expectErr(t, err, io.EOF)
	})
}

func TestMemoryAFullBufferWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, NewMemory(), ":0")
		sent := bytes.Repeat([]byte("0123456789abcdef"), 3*socketBuffer/16)
		done := make(chan error)
		go func() {
			_, err := client.Write(sent)
			client.Close()
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("%d bytes fitted: %v", len(sent), err)
		default:
		}
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(sent), err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestMemoryDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t, NewMemory(), ":0")
		defer server.Close()
		defer client.Close()
		start := time.Now()
		client.SetReadDeadline(start.Add(time.Hour))
		_, err := client.Read(make([]byte, 1))
		expectErr(t, err, os.ErrDeadlineExceeded)
		if ne, ok := err.(net.Error); !ok || !ne.Timeout() {
			t.Errorf("%v is not a timeout", err)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("it took %v", d)
		}
		write(t, server, "x")
		_, err = client.Read(make([]byte, 1))
		expectErr(t, err, os.ErrDeadlineExceeded) // also with bytes there, as for TCP
		client.SetReadDeadline(time.Time{})
		expect(t, client, "x")

		client.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := client.Write(make([]byte, 2*socketBuffer))
		expectErr(t, err, os.ErrDeadlineExceeded)
		if n != socketBuffer {
			t.Errorf("%d bytes written", n)
		}

		// A later deadline replaces an earlier one.
		server.SetReadDeadline(time.Now().Add(time.Second))
		server.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.CopyN(io.Discard, server, socketBuffer); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		_, err = server.Read(make([]byte, 1))
		expectErr(t, err, os.ErrDeadlineExceeded)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("it took %v", d)
		}
	})
}

func TestMemoryEnds(t *testing.T) {
	for _, row := range []struct {
		rule  string
		end   func(us, peer *memoryConn)
		read  error // of us, when "left" was written by the peer before
		write error // of us
	}{
		{"our own close", func(us, _ *memoryConn) { us.Close() }, net.ErrClosed, net.ErrClosed},
		{"the peer's close: what it wrote, then the end", func(_, peer *memoryConn) { peer.Close() }, nil, syscall.EPIPE},
		{"the peer's half-close: we may still write", func(_, peer *memoryConn) { peer.CloseWrite() }, nil, nil},
		{"the peer's reset: what it wrote is lost", func(_, peer *memoryConn) { peer.SetLinger(0); peer.Close() }, syscall.ECONNRESET, syscall.ECONNRESET},
	} {
		t.Run(row.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := connect(t, NewMemory(), ":0")
				us, peer := client.(*memoryConn), server.(*memoryConn)
				write(t, peer, "left")
				row.end(us, peer)
				b := make([]byte, 10)
				n, err := us.Read(b)
				expectErr(t, err, row.read)
				if row.read == nil {
					if string(b[:n]) != "left" {
						t.Errorf("read %q", b[:n])
					}
					_, err := us.Read(b)
					expectErr(t, err, io.EOF)
				}
				_, err = us.Write([]byte("x"))
				expectErr(t, err, row.write)
			})
		})
	}
}

func TestMemoryAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		l, err := m.Listen("localhost:9092")
		if err != nil {
			t.Fatal(err)
		}
		for _, same := range []string{"127.0.0.1:9092", ":9092", "0.0.0.0:9092", "[::1]:9092"} {
			_, err := m.Listen(same)
			expectErr(t, err, syscall.EADDRINUSE)
			c, err := m.Dial(t.Context(), same)
			if err != nil {
				t.Fatal(same, err)
			}
			c.Close()
		}
		named, err := m.Listen("broker-2:9092")
		if err != nil {
			t.Fatal("another host: ", err)
		}
		if got := named.Addr().String(); got != "broker-2:9092" {
			t.Error(got)
		}
		_, err = m.Dial(t.Context(), "broker-3:9092")
		expectErr(t, err, syscall.ECONNREFUSED)

		waiting, err := m.Dial(t.Context(), "localhost:9092")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		_, err = waiting.Read(make([]byte, 1)) // never accepted
		expectErr(t, err, syscall.ECONNRESET)
		_, err = l.Accept()
		expectErr(t, err, net.ErrClosed)
		_, err = m.Dial(t.Context(), "localhost:9092")
		expectErr(t, err, syscall.ECONNREFUSED)
		if _, err = m.Listen("localhost:9092"); err != nil {
			t.Fatal("a closed listener's port is not free: ", err)
		}
		for _, bad := range []string{"", "nothing"} {
			if _, err := m.Listen(bad); err == nil {
				t.Errorf("%q was listened on", bad)
			}
			if _, err := m.Dial(t.Context(), bad); err == nil {
				t.Errorf("%q was dialed", bad)
			}
		}
	})
}

func TestMemoryDialWaitsWhenTheBacklogIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		l, err := m.Listen(":9092")
		if err != nil {
			t.Fatal(err)
		}
		for range backlog {
			if _, err := m.Dial(t.Context(), ":9092"); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.Dial(ctx, ":9092")
		expectErr(t, err, context.DeadlineExceeded)

		refused := make(chan error)
		go func() {
			_, err := m.Dial(t.Context(), ":9092")
			refused <- err
		}()
		synctest.Wait()
		l.Close()
		expectErr(t, <-refused, syscall.ECONNREFUSED)
	})
}
