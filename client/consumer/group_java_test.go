//go:build unix

package consumer

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kz/client/assignor"
	"kz/internal/clustertest"
)

// A group of our members and one of Java's own client, each kind leading once.
func TestMixedWithJavaOnAServer(t *testing.T) {
	for _, tt := range []struct {
		rule     assignor.Assignor
		class    string
		oursLead bool
	}{
		{assignor.Sticky, "StickyAssignor", true},
		{assignor.Sticky, "StickyAssignor", false},
		{assignor.CooperativeSticky, "CooperativeStickyAssignor", true},
		{assignor.CooperativeSticky, "CooperativeStickyAssignor", false},
	} {
		t.Run(fmt.Sprint(tt.class, " ours lead ", tt.oursLead), func(t *testing.T) {
			onServer(t, func(w *crew) {
				var stop func()
				if tt.oursLead {
					w.join("a", by(tt.rule))
					w.shares(map[string]int{"a": 12})
					stop = w.joinJava(tt.class)
				} else {
					stop = w.joinJava(tt.class)
					w.stableWith(1)
					w.join("a", by(tt.rule))
				}
				w.shares(map[string]int{"a": 6}) // the other six are Java's
				w.join("b", by(tt.rule))
				w.shares(map[string]int{"a": 4, "b": 4})
				stop()
				w.shares(map[string]int{"a": 6, "b": 6})
			})
		})
	}
}

// joinJava starts a console consumer; stop ends it as Ctrl-C does.
func (w *crew) joinJava(class string) (stop func()) {
	w.t.Helper()
	c := exec.Command(clustertest.ReferenceKafka(w.t), "kafka-console-consumer", "--bootstrap-server", strings.Join(w.seeds, ","), "--topic", w.name, "--group", w.name,
		"--consumer-property", "session.timeout.ms=6000", "--consumer-property", "heartbeat.interval.ms=500",
		"--consumer-property", "partition.assignment.strategy=org.apache.kafka.clients.consumer."+class)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the script has java for a child
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		_ = c.Wait()
	}
	w.t.Cleanup(stop)
	return stop
}

// stableWith waits until the group has so many members and rests.
func (w *crew) stableWith(n int) {
	w.t.Helper()
	clustertest.Eventually(w.t, time.Minute, "the group to be stable", func() (bool, string) {
		groups, err := kadm.NewClient(w.kgo).DescribeGroups(context.Background(), w.name)
		g := groups[w.name]
		return err == nil && g.State == "Stable" && len(g.Members) == n, fmt.Sprint(g.State, len(g.Members), err)
	})
}
