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

func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

// The same stories as in a bubble, and groups that Java's own client is in, on kz and on Apache Kafka.
func TestGroupsOnServers(t *testing.T) {
	props := map[string]string{"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "100"}
	clustertest.OnServers(t, props, func(t *testing.T, s clustertest.Server) {
		tell := func(name string, story func(*crew)) {
			t.Run(name, func(t *testing.T) { onServer(t, s, story) })
		}
		for _, rule := range []assignor.Assignor{assignor.Range, assignor.CooperativeSticky} {
			tell("lives "+rule.Name, func(w *crew) { lives(w, rule) })
		}
		for _, m := range mixtures[4:] {
			tell(m.name, func(w *crew) { mixed(w, m) })
		}
		for _, oursLead := range []bool{true, false} {
			tell(fmt.Sprint("with Java, sticky, ours lead ", oursLead), func(w *crew) { withJava(w, assignor.Sticky, "StickyAssignor", oursLead) })
			tell(fmt.Sprint("with Java, cooperative, ours lead ", oursLead), func(w *crew) { withJava(w, assignor.CooperativeSticky, "CooperativeStickyAssignor", oursLead) })
		}
	})
}

// withJava is a group of our members and one of Java's own client, each kind leading once.
func withJava(w *crew, rule assignor.Assignor, class string, oursLead bool) {
	var stop func()
	if oursLead {
		w.join("a", by(rule))
		w.shares(map[string]int{"a": 12})
		stop = w.joinJava(class)
	} else {
		stop = w.joinJava(class)
		w.stableWith(1)
		w.join("a", by(rule))
	}
	w.shares(map[string]int{"a": 6}) // the other six are Java's
	w.join("b", by(rule))
	w.shares(map[string]int{"a": 4, "b": 4})
	stop()
	w.shares(map[string]int{"a": 6, "b": 6})
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
