package zktest

import (
	"strings"
	"testing"
)

func TestServerAnswersAndRestartsOnItsData(t *testing.T) {
	s := Start(t)
	addr := s.Addr
	s.Stop()
	if _, err := s.Ask("ruok"); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.StartAgain(t)
	out, err := s.Ask("ruok")
	if err != nil || !strings.Contains(out, "imok") || s.Addr != addr {
		t.Fatalf("after a restart: %q, %v, at %s", out, err, s.Addr)
	}
}
