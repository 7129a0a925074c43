package link

import (
	"io"
	"net"
	"testing"
	"time"
)

// Rules are all that is wrong: what is not among them any more is healed.
func TestRulesReplaceEachOther(t *testing.T) {
	f := NewFaults(nil)
	f.Set([]Rule{
		{ID: "1", From: "a", To: "b", Cut: true},
		{ID: "2", From: "a", To: "b", Delay: time.Second},
		{ID: "3", From: "a", To: "b", Delay: 2 * time.Second},
		{ID: "4", From: "b", To: "a", Refuse: true, Drop: &Drop{Key: 1, Count: 5}},
	})
	links := f.Links()
	if len(links) != 2 || !links[0].Cut || links[0].Delay != 2*time.Second || !links[1].Refuse || len(links[1].Drops) != 1 {
		t.Errorf("four rules: %+v", links)
	}
	f.Set([]Rule{{ID: "2", From: "a", To: "b", Delay: time.Second}})
	if links = f.Links(); len(links) != 1 || links[0].Cut || links[0].Delay != time.Second {
		t.Errorf("one rule is left: %+v", links)
	}
	f.Set(nil)
	if links = f.Links(); len(links) != 0 {
		t.Errorf("no rule is left: %+v", links)
	}
}

// A drop that is on its way goes on when other rules come and go: its count is not begun anew.
func TestADropOutlivesOtherRules(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		two := Rule{ID: "7", From: "a", To: "b", Drop: &Drop{Key: 1, API: "Fetch", Count: 2}}
		w.Set([]Rule{two})
		atA, atB := w.connect(t)
		send := func(body string) {
			t.Helper()
			if _, err := io.WriteString(atA, request(1, 1, body)); err != nil {
				t.Fatal(err)
			}
		}
		send("first")
		expectSilence(t, atB)
		w.Set([]Rule{two, {ID: "8", From: "b", To: "a", Delay: time.Second}})
		send("second")
		expectSilence(t, atB)
		send("third")
		want := request(1, 1, "third")
		got := make([]byte, len(want))
		atB.SetReadDeadline(time.Now().Add(time.Hour))
		if _, err := io.ReadFull(atB, got); err != nil || string(got) != want {
			t.Errorf("after two were dropped: %q, %v", got, err)
		}
	})
}

// What a node accepts is the connection itself, so that a broker behind a table of faults
// sends files as one without does: sendfile needs the socket.
func TestAcceptedConnectionsAreTheirOwn(t *testing.T) {
	w := newWorld(t, TCP{})
	_, atB := w.connect(t)
	if _, ok := atB.(*net.TCPConn); !ok {
		t.Errorf("accepted a %T", atB)
	}
}

// What a table without faults costs on a connection that was dialed, against none at all.
func BenchmarkReadThroughNoFault(b *testing.B) {
	for _, c := range []struct {
		name string
		dial func(w *world) (net.Conn, error)
	}{
		{"table", func(w *world) (net.Conn, error) { return w.dial(b.Context()) }},
		{"none", func(w *world) (net.Conn, error) { return TCP{}.Dial(b.Context(), w.l.Addr().String()) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, TCP{})
			atA, err := c.dial(w)
			if err != nil {
				b.Fatal(err)
			}
			defer atA.Close()
			atB, err := w.l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer atB.Close()
			frame := []byte(answer(1, string(make([]byte, 64<<10))))
			b.SetBytes(int64(len(frame)))
			go func() {
				for {
					if _, err := atB.Write(frame); err != nil {
						return // closed: the end
					}
				}
			}()
			got := make([]byte, len(frame))
			for b.Loop() {
				if _, err := io.ReadFull(atA, got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
