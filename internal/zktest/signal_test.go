package zktest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// A paused server answers nothing from the moment that Pause returns, and goes on when it is resumed.
func TestPauseIsImmediate(t *testing.T) {
	s := Start(t)
	for range 5 {
		s.Pause()
		if _, err := s.ask("ruok", 20*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a paused server: %v", err)
		}
		s.Resume()
		if _, err := s.ask("ruok", readyWithin); err != nil {
			t.Fatal(err)
		}
	}
}
