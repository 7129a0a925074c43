package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"kz/client"
	"kz/client/admin"
	"kz/client/consumer"
	"kz/internal/clustertest"
	"kz/internal/topic"
	"kz/internal/zktest"
)

// One group commits to both places, then to one of them alone; compare shows what each
// place has, and how often it was written there.
func TestOffsetsCompare(t *testing.T) {
	zk := zktest.Start(t)
	b := clustertest.StartInProcess(t, zk.Addr, 1, map[string]string{"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "4"}).Brokers[1]
	a := admin.New(client.DefaultConfig(b.Addr))
	defer a.Close()
	if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "t", Partitions: 3, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	commit := func(s consumer.Storage, offsets consumer.Offsets) {
		t.Helper()
		cfg := consumer.DefaultConfig(client.DefaultConfig(b.Addr))
		cfg.Group, cfg.Storage, cfg.AutoCommit = "billing", s, false // its hash is negative
		c := consumer.New(cfg)
		defer c.Close()
		if err := c.CommitOffsets(t.Context(), offsets); err != nil {
			t.Fatal(err)
		}
	}
	p := func(n int32) topic.Partition { return topic.Partition{Topic: "t", Partition: n} }
	commit(consumer.StoreDual, consumer.Offsets{p(0): {At: 5, LeaderEpoch: -1}, p(1): {At: 7, LeaderEpoch: -1}})
	commit(consumer.StoreKafka, consumer.Offsets{p(1): {At: 9, LeaderEpoch: -1}})
	commit(consumer.StoreZooKeeper, consumer.Offsets{p(0): {At: 5, LeaderEpoch: -1}, p(2): {At: 1, LeaderEpoch: -1}})

	args := []string{"offsets", "compare", "--bootstrap-server", b.Addr, "--zookeeper", zk.Addr}
	stdout, stderr, exit := kz(t, append(args, "-o", "json", "billing")...)
	var got comparison
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || exit != 0 || len(got.Offsets) != 3 {
		t.Fatalf("exit %d, %v: %s %s", exit, err, stdout, stderr)
	}
	o := got.Offsets
	if z := o[0].ZooKeeper; z.Offset != 5 || z.Version != 1 || z.When == 0 || !o[0].Same {
		t.Errorf("written twice in ZooKeeper: %+v %+v", o[0], *z)
	}
	if k := o[1].Kafka; k.Offset != 9 || k.At != 2 || k.When == 0 || o[1].ZooKeeper.Offset != 7 || o[1].Same {
		t.Errorf("the third record is the last about t-1: %+v %+v", o[1], *k)
	}
	if o[2].Kafka != nil || o[2].ZooKeeper.Version != 0 {
		t.Errorf("only in ZooKeeper: %+v", o[2])
	}
	stdout, _, _ = kz(t, append(args, "billing")...)
	for i, want := range []string{" 0", " +2", " only in ZooKeeper"} {
		if lines := strings.Split(stdout, "\n"); len(lines) < 6 || !strings.HasSuffix(lines[3+i], want) {
			t.Errorf("line %d of %q should end in %q", 3+i, stdout, want)
		}
	}
	z := connectRoot(t, zk)
	if _, err := z.Set(t.Context(), "/consumers/billing/offsets/t/2", []byte("soon"), -1); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, exit := kz(t, append(args, "billing")...); exit != 0 || strings.Contains(stdout, "only in ZooKeeper") ||
		!strings.Contains(stderr, `/consumers/billing/offsets/t/2 holds "soon", which is no offset.`) {
		t.Errorf("what is no offset is told: exit %d\n%s%s", exit, stdout, stderr)
	}
	for _, group := range []string{"nobody", "", "..", "g/x"} { // some of them are names that no znode can have
		if _, stderr, exit := kz(t, append(args, group)...); exit != exitUnknown || !strings.Contains(stderr, "has committed nothing") {
			t.Errorf("group %q without offsets: exit %d: %s", group, exit, stderr)
		}
	}
	if _, _, exit := kz(t, args...); exit != exitUsage {
		t.Errorf("no group: exit %d", exit)
	}
}
