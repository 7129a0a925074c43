package link

import (
	"io"
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
