package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// With a cluster that runs, no tool needs to be told where it is; without one each says
// Kafka's sentence and what to type next.
func TestToolsFindTheRunningCluster(t *testing.T) {
	r := newUpRig(t)
	t.Setenv(dirVariable, r.dir)
	r.must(append([]string{"up", "--detach"}, r.flags...)...)
	r.must("topics", "--create", "--topic", "orders", "--replica-assignment", "1:2:3")
	if list := r.must("topics", "--list"); list != "orders\n" {
		t.Errorf("topics: %q", list)
	}
	r.must("producer-perf-test", "--topic", "orders", "--num-records", "100", "--record-size", "10", "--throughput", "-1")
	if out := r.must("consumer-perf-test", "--topic", "orders", "--messages", "100", "--hide-header"); !strings.Contains(out, ", 100, ") {
		t.Errorf("consumed: %q", out)
	}
	r.must("console-consumer", "--topic", "orders", "--from-beginning", "--group", "g", "--max-messages", "100", "--consumer-property", "offsets.storage=dual")
	if out := r.must("offsets", "compare", "g"); !strings.Contains(out, "orders") || !strings.HasSuffix(out, "  0\n") {
		t.Errorf("both places should say the same: %q", out)
	}
	if out := r.must("bench", "offsets", "--consumers", "2", "--partitions", "2", "--commits", "2", "--storage", "dual"); !strings.Contains(out, "= 4 commits of 2 offsets") {
		t.Errorf("bench: %q", out)
	}
	if ids := r.must("zk", "ls", "/brokers/ids"); ids != "1\n2\n3\n" {
		t.Errorf("brokers: %q", ids)
	}
	var s struct{ Sessions []zkSession }
	if err := json.Unmarshal([]byte(r.must("zk", "sessions", "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	owners := map[string]bool{}
	for _, ss := range s.Sessions {
		if owner, _, _ := strings.Cut(ss.Owner, ","); owner != "" {
			owners[owner] = true
			if ss.Opened == nil || ss.TimeoutMs == nil || *ss.TimeoutMs != 2000 || !ss.Connected {
				t.Errorf("session of %s: %+v", owner, ss)
			}
		}
	}
	if len(owners) != 3 {
		t.Errorf("sessions of %v, want those of three brokers", owners)
	}
	if writes := r.must("zk", "history", "/controller"); !strings.Contains(writes, "create   - -> v0") && !strings.Contains(writes, "create  - -> v0") {
		t.Errorf("history of /controller:\n%s", writes)
	}

	r.awaitReplicas("all three have everything", func(p partitionView) bool {
		for _, v := range p.Replicas {
			if v.LogEnd == nil || *v.LogEnd != 100 || v.HighWatermark == nil || *v.HighWatermark != 100 || !v.InSync || v.Lag == nil || *v.Lag != 0 {
				return false
			}
		}
		return len(p.Replicas) == 3 && len(p.OutOfSync) == 0 && *p.Leader == 1
	})
	r.must("node", "kill", "2")
	r.awaitReplicas("the dead one is unknown and out of sync", func(p partitionView) bool {
		dead := p.Replicas[1]
		return len(p.OutOfSync) == 1 && p.OutOfSync[0] == 2 && dead.Unknown != nil && *dead.Unknown == "broker 2 down" && dead.LogEnd == nil
	})
	if table := r.must("replicas", "orders"); !strings.Contains(table, "unknown, broker 2 down\n") || !strings.HasSuffix(table, "orders-0 is out of sync on broker 2\n") {
		t.Errorf("as a table:\n%s", table)
	}
	if _, errs, code := kz(t, "replicas", "ordesr"); code != exitFailed || !strings.Contains(errs, `Did you mean "orders"?`) {
		t.Errorf("a mistyped topic: exit %d, %q", code, errs)
	}
	r.must("down", "--purge")
	for _, row := range []struct{ tool, says string }{
		{"topics --list", "Only one of --bootstrap-server or --zookeeper must be specified"},
		{"consumer-perf-test --topic orders --messages 1", "Missing required option(s) [bootstrap-server]"},
		{"producer-perf-test --topic orders --num-records 1 --record-size 1 --throughput -1", "Either --producer-props or --producer.config must be specified."},
		{"console-producer --topic orders", "Missing required option(s) [bootstrap-server]"},
		{"console-consumer --topic orders", "Missing required argument \"[bootstrap-server]\""},
		{"verifiable-consumer --topic orders --group-id g", "error: one of the arguments --bootstrap-server --broker-list is required"},
		{"verifiable-producer --topic orders", "error: one of the arguments --bootstrap-server --broker-list is required"},
		{"consumer-groups --list", "Missing required argument \"[bootstrap-server]\""},
		{"get-offsets --topic orders", "Missing required argument \"[broker-list]\""},
		{"offsets compare g", "kz offsets compare: no broker to ask."},
		{"bench offsets", "kz bench offsets: no broker to ask."},
	} {
		_, errs, code := kz(t, strings.Fields(row.tool)...)
		want := exitFailed
		if strings.Contains(row.says, "no broker to ask") {
			want = exitNoCluster // kz's own commands
		}
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != want || !strings.Contains(errs, row.says) || !strings.Contains(lines[len(lines)-1], "kz up --detach") {
			t.Errorf("kz %s: exit %d, %q", row.tool, code, errs)
		}
	}
}

// awaitReplicas asks until the view of orders-0 is as wanted.
func (r *upRig) awaitReplicas(what string, holds func(partitionView) bool) {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	beat := time.NewTicker(demoLook)
	defer beat.Stop()
	for {
		out := r.must("replicas", "-o", "json", "orders")
		var view topicView
		if err := json.Unmarshal([]byte(out), &view); err != nil {
			r.t.Fatalf("%v: %s", err, out)
		}
		if len(view.Partitions) == 1 && holds(view.Partitions[0]) {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not so within a minute: %s\n%s", what, out)
		}
		<-beat.C
	}
}
