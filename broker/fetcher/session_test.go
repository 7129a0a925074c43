package fetcher

import (
	"slices"
	"testing"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

func tp(n int32) topic.Partition { return topic.Partition{Topic: "orders", Partition: n} }

func want(offset int64, partitions ...int32) []wanted {
	var out []wanted
	for _, n := range partitions {
		out = append(out, wanted{tp(n), fetchTerms{offset, 0, 1}})
	}
	return out
}

func answerFor(sessionID int32, partitions ...int32) *fetchAnswer {
	a := &fetchAnswer{sessionID: sessionID}
	for _, n := range partitions {
		a.parts = append(a.parts, fetched{id: tp(n)})
	}
	return a
}

func named(ws []wanted) (out []int32) {
	for _, w := range ws {
		out = append(out, w.id.Partition)
	}
	return out
}

// Ref: Kafka 2.8 clients/FetchSessionHandler.java.
func TestSessionSaysOnlyWhatChanged(t *testing.T) {
	var s session
	req := s.build(want(0, 1, 2, 3), nil)
	if !req.full() || req.sessionID != 0 || !slices.Equal(named(req.send), []int32{1, 2, 3}) {
		t.Fatalf("the first fetch is full: %+v", req)
	}
	if err := s.answered(req, answerFor(7, 1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	req = s.build(want(0, 1, 2, 3), nil)
	if req.sessionID != 7 || req.epoch != 1 || len(req.send)+len(req.forget) != 0 {
		t.Fatalf("nothing changed: %+v", req)
	}
	if err := s.answered(req, answerFor(7)); err != nil {
		t.Fatal(err)
	}
	req = s.build(append(want(0, 4), append(want(5, 2), want(0, 3)...)...), []topic.Partition{tp(1), tp(9)})
	if req.epoch != 2 || !slices.Equal(named(req.send), []int32{4, 2}) || !slices.Equal(req.forget, []topic.Partition{tp(1)}) {
		t.Fatalf("4 is new, 2 moved on, 1 is gone, 3 is as it was: %+v", req)
	}
	if err := s.answered(req, answerFor(7, 2)); err != nil {
		t.Fatal(err)
	}
	if req = s.build(want(0, 3), nil); req.epoch != 3 || len(req.send)+len(req.forget) != 0 {
		t.Fatalf("what is not said stays as it is: %+v", req)
	}
	if req = s.build(nil, []topic.Partition{tp(2), tp(3), tp(4)}); req.epoch != 3 || len(req.forget) != 3 {
		t.Fatalf("nothing wanted: all is forgotten: %+v", req)
	}
}

func TestSessionAfterTrouble(t *testing.T) {
	for _, row := range []struct {
		name    string
		full    bool // the answer is to the first, full fetch
		answer  *fetchAnswer
		usable  bool
		nextID  int32
		nextEra int32 // the epoch of the next request
	}{
		{"the leader forgot the session: begin anew", false, &fetchAnswer{code: kafkaerr.FetchSessionIDNotFound}, false, 0, 0},
		{"out of step: drop it and begin anew", false, &fetchAnswer{code: kafkaerr.InvalidFetchSessionEpoch}, false, 7, 0},
		{"any other error: the same", false, &fetchAnswer{code: kafkaerr.UnknownServerError}, false, 7, 0},
		{"a partition that is not ours", false, answerFor(7, 9), false, 7, 0},
		{"the leader closed the session", false, answerFor(0, 1), true, 0, 0},
		{"an answer that goes on", false, answerFor(7, 1), true, 7, 2},
		{"a full answer that lacks a partition", true, answerFor(7, 1, 2), false, 0, 0},
		{"a full answer without a session: the leader has no room", true, answerFor(0, 1, 2, 3), true, 0, 0},
		{"a full answer with a session", true, answerFor(7, 1, 2, 3), true, 7, 1},
	} {
		var s session
		req := s.build(want(0, 1, 2, 3), nil)
		if !row.full {
			if err := s.answered(req, answerFor(7, 1, 2, 3)); err != nil {
				t.Fatal(err)
			}
			req = s.build(want(1, 1, 2, 3), nil)
		}
		if err := s.answered(req, row.answer); (err == nil) != row.usable {
			t.Errorf("%s: %v", row.name, err)
		}
		if next := s.build(want(2, 1, 2, 3), nil); next.sessionID != row.nextID || next.epoch != row.nextEra || next.full() && len(next.send) != 3 {
			t.Errorf("%s: next request %+v", row.name, next)
		}
	}
}

func TestSessionLost(t *testing.T) {
	var s session
	s.answered(s.build(want(0, 1), nil), answerFor(7, 1))
	s.build(want(1, 1), nil)
	s.lost()
	if req := s.build(want(1, 1), nil); req.sessionID != 7 || req.epoch != replica.InitialFetchEpoch || len(req.send) != 1 {
		t.Fatalf("no answer came: a full fetch that drops the session: %+v", req)
	}
}
