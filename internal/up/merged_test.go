package up

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/journal"
)

// An event's line has the cluster's number where the process's own was.
func TestEventJSON(t *testing.T) {
	in := Event{Event: journal.Event{Seq: 812, Kind: journal.Election, Topic: "orders", Leader: 2, ISR: []int32{2, 3}}, At: 5, Src: "broker-1", SrcSeq: 97}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(b), `{"seq":812,"t_ms":5,"src":"broker-1","srcSeq":97,"kind":"controller.election",`) {
		t.Errorf("%s", b)
	}
	var out Event
	if err := json.Unmarshal(b, &out); err != nil || out.Seq != 812 || out.SrcSeq != 97 || out.Src != "broker-1" || out.At != 5 || out.Topic != "orders" || len(out.ISR) != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// The order goes on over lives of the supervisor, a torn last line is cut, and a stream
// begins where it is told to.
func TestMergedGoesOn(t *testing.T) {
	dir := t.TempDir()
	open := func() *merged {
		t.Helper()
		m, err := openMerged(dir, func([]Event) {})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open()
	m.mu.Lock()
	m.append(make([]Event, 3*markEvery))
	m.mu.Unlock()
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, eventsFile)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"seq":99999,"t_ms`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	m = open()
	ev := m.record(journal.Event{Kind: journal.Fault, Text: "second life"})
	if ev.Seq != 3*markEvery+1 {
		t.Errorf("the second life begins with %d", ev.Seq)
	}
	for _, since := range []int64{0, 1, markEvery - 1, markEvery, 2*markEvery + 7, 3 * markEvery, 3*markEvery + 1, 1 << 40} {
		s := &Stream{events: m, at: m.offset(since), seq: since}
		want := since + 1
		for events, err := s.Next(); len(events) > 0 || err != nil; events, err = s.Next() {
			if err != nil || events[0].Seq != want {
				t.Fatalf("since %d: %v, %+v", since, err, events[0])
			}
			want = events[len(events)-1].Seq + 1
		}
		if end := max(since, ev.Seq) + 1; want != end {
			t.Errorf("since %d: ended before %d, want %d", since, want, end)
		}
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := ReadEvents(dir, ev.Seq-1, func(e Event) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("the file without a supervisor: %d events behind the last but one, %v", n, err)
	}
}
