package producer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
)

// Ref: Kafka 2.8 BufferPool.allocate: waiters are served in their order, also when a
// later one would fit.
func TestMemoryIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory{available: 10, onWait: func() {}}
		var got []string
		take := func(name string, n int) {
			go func() {
				if err := m.reserve(t.Context(), n); err != nil {
					t.Error(err)
				}
				got = append(got, name)
			}()
			synctest.Wait()
		}
		take("all", 10)
		take("large", 8)
		take("small", 1)
		for _, step := range []struct {
			release int
			want    []string
		}{
			{4, []string{"all"}}, // enough for small, but large was first
			{4, []string{"all", "large"}},
			{2, []string{"all", "large", "small"}},
		} {
			m.release(step.release)
			synctest.Wait()
			if !slices.Equal(got, step.want) {
				t.Fatalf("after %d more bytes came back: %q, want %q", step.release, got, step.want)
			}
		}
		if m.available != 1 {
			t.Errorf("%d bytes left, want 1", m.available)
		}
	})
}

func TestMemoryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory{available: 1, onWait: func() {}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.reserve(ctx, 2); !errors.Is(err, kafkaerr.RequestTimedOut) {
			t.Errorf("got %v", err)
		}
		if err := m.reserve(t.Context(), 1); err != nil || m.available != 0 {
			t.Errorf("who gave up took %d bytes along (%v)", 1-m.available, err)
		}
	})
}

func TestClosedMemoryWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory{onWait: func() {}}
		failed := make(chan error)
		go func() { failed <- m.reserve(context.Background(), 1) }()
		synctest.Wait()
		m.close()
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
