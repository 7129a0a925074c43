package network

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// Ref: Kafka 2.8 ConnectionQuotas.inc.
func TestMaxConnectionsPerIP(t *testing.T) {
	for _, row := range []struct {
		rule      string
		max       int
		overrides map[string]int
		want      int // connections that are served out of five
	}{
		{"no limit", 0, nil, 5},
		{"a limit", 2, nil, 2},
		{"an override is stronger", 2, map[string]int{"127.0.0.1": 3}, 3},
		{"of another address", 2, map[string]int{"127.0.0.2": 3}, 2},
		{"0 means none when there are overrides", 0, map[string]int{"127.0.0.2": 3}, 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			bubble(t, Config{MaxConnectionsPerIP: row.max, MaxConnectionsPerIPOverrides: row.overrides}, func(t *testing.T, r *rig) {
				var open []net.Conn
				for i := range 5 {
					c := r.dial()
					synctest.Wait()
					if i < row.want {
						expectOpen(t, c)
						open = append(open, c)
					} else {
						expectClosed(t, c)
					}
				}
				if len(open) > 0 { // a place that becomes free is given again
					open[0].Close()
					synctest.Wait()
					expectOpen(t, r.dial())
				}
			})
		})
	}
}

// Ref: Kafka 2.8 ConnectionQuotas.waitForConnectionSlot.
func TestMaxConnectionsMakesTheAcceptorWait(t *testing.T) {
	bubble(t, Config{MaxConnections: 2}, func(t *testing.T, r *rig) {
		a := r.dial()
		r.dial()
		third := r.dial()
		send(t, third, frame(metadata, 1, 1, ""))
		synctest.Wait()
		if len(r.Requests()) != 0 || r.Stats().Connections != 2 {
			t.Fatalf("%d requests, %+v", len(r.Requests()), r.Stats())
		}
		a.Close()
		r.next().Respond()
		expect(t, third, 1, "")
		last := r.dial()
		synctest.Wait()
		r.StopReading() // an acceptor that waits can be stopped
		expectClosed(t, last)
	})
}

// Ref: Kafka 2.8 ConnectionQuotas.protectedListener, SocketServer.closeExcessConnections.
func TestTheInterBrokerListenerMakesRoom(t *testing.T) {
	cfg := Config{
		MaxConnections:      3,
		InterBrokerListener: "REPLICATION",
		Listeners:           []Endpoint{{"CLIENTS", "127.0.0.1", 0}, {"REPLICATION", "127.0.0.1", 0}},
	}
	bubble(t, cfg, func(t *testing.T, r *rig) {
		var clients [3]net.Conn
		for i := range clients {
			clients[i] = r.dialListener(0)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		send(t, clients[0], frame(metadata, 1, 1, "")) // now clients[1] is the least recently used
		r.next().Respond()
		expect(t, clients[0], 1, "")
		follower := r.dialListener(1)
		synctest.Wait()
		expectClosed(t, clients[1])
		for _, c := range []net.Conn{clients[0], clients[2], follower} {
			expectOpen(t, c)
		}
	})
}

// Ref: Kafka 2.8 ConnectionQuotas.recordConnectionAndGetThrottleTimeMs, Rate.windowSize.
func TestMaxConnectionCreationRate(t *testing.T) {
	bubble(t, Config{MaxConnectionCreationRate: 5}, func(t *testing.T, r *rig) {
		start := time.Now()
		served := func(n int) time.Duration {
			t.Helper()
			for range n {
				c := r.dial()
				send(t, c, frame(metadata, 1, 1, ""))
				r.next().Respond()
				expect(t, c, 1, "")
				c.Close()
			}
			return time.Since(start)
		}
		if d := served(50); d != 0 {
			t.Errorf("a burst of ten seconds' worth took %v", d)
		}
		if d := served(50); d < 9*time.Second || d > 12*time.Second {
			t.Errorf("twice as many took %v", d)
		}
		r.dial()
		r.dial()
		synctest.Wait()
		r.Stop() // an acceptor that waits its turn can be stopped
	})
}

func TestJavaHost(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1":        "/127.0.0.1",
		"::ffff:127.0.0.1": "/127.0.0.1",
		"::1":              "/0:0:0:0:0:0:0:1",
		"fe80::1:2%eth0":   "/fe80:0:0:0:0:0:1:2",
	} {
		addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(in, "9092"))
		if err != nil {
			t.Fatal(err)
		}
		if got := javaHost(addr); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
