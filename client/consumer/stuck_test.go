//go:build unix

package consumer

import (
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/clustertest"
)

// Poll is committing before a rebalance, and the coordinator is silent: Close does not wait for
// max.poll.interval.ms, and what was read is committed if the coordinator comes back in time.
func TestCloseDuringTheCommitOfARebalance(t *testing.T) {
	for _, tt := range []struct {
		name string
		back time.Duration // when the link is whole again, after Close began
		want int64         // committed
	}{
		{"never", 0, 0},
		{"after 5 s", 5 * time.Second, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGroup(t, 1, func(w *crew) {
				faults, broker := w.cluster.Faults, clustertest.NodeName(1)
				w.network = faults.Network("client", w.cluster.Ground.Network)
				m := w.join("a", func(c *Config) { c.AutoCommitEvery = time.Hour })
				w.shares(map[string]int{"a": 12})
				w.produce(3)
				w.allRead()
				synctest.Wait()
				faults.Cut("client", broker)
				m.c.mu.Lock()
				m.c.group.rejoin = true
				m.c.announceLocked()
				m.c.mu.Unlock()
				<-time.After(time.Second) // Poll has begun to commit
				if tt.back > 0 {
					time.AfterFunc(tt.back, func() { faults.Heal("client", broker) })
				}
				begin := time.Now()
				_ = m.c.Close()
				<-m.done
				if took := time.Since(begin); took > closeTimeout+time.Second {
					t.Errorf("Close took %v", took)
				}
				faults.HealAll()
				if got := w.committed()[0]; got != tt.want {
					t.Errorf("%d is committed, want %d", got, tt.want)
				}
			})
		})
	}
}

// Unsubscribe gives an attempt to join up, and the next one begins before it notices: its end is not the next one's.
func TestAttemptThatWasGivenUp(t *testing.T) {
	inGroup(t, 1, func(w *crew) {
		cfg := w.config("a")
		cfg.InstanceID = "i" // no farewell, which would give the old attempt time
		c := New(cfg)
		defer c.Close()
		if err := c.Subscribe([]string{"t"}, Listener{}); err != nil {
			t.Fatal(err)
		}
		if _, err := pollFor(c, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		g := c.group
		c.mu.Lock() // what Unsubscribe, Subscribe and Poll do, faster than the attempt's goroutine
		g.stopAttempt()
		g.attempt = nil
		g.enterLocked(unjoined)
		g.startLocked()
		c.mu.Unlock()
		synctest.Wait()
		c.mu.Lock()
		state := g.state
		c.mu.Unlock()
		if state != joining {
			t.Errorf("the member is in state %d while it joins", state)
		}
		pollUntil(t, c, func() bool { return len(c.Assignment()) == 12 })
	})
}
