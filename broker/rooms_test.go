package broker

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"kz/internal/journal"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

func (r *rig) createTopic(n *node, name string, partitions int32, configs map[string]*string) {
	r.t.Helper()
	eventually(r.t, "the broker knows of itself", func() bool { return len(n.metadata.Current().AliveBrokers()) == 1 })
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	resp, err := kadm.NewClient(r.client([]*node{n})).CreateTopic(ctx, partitions, 1, configs, name)
	if err != nil || resp.Err != nil {
		r.t.Fatalf("create %s: %v %v", name, err, resp.Err)
	}
}

// facts 1.9, 1.10: a tool writes the config, then the notification; the logs follow. So
// does a broker-wide default.
func TestChangedConfigsReachTheLogs(t *testing.T) {
	r := newRig(t)
	n := r.start("one", id(1))
	r.createTopic(n, "t", 1, map[string]*string{"retention.ms": kadm.StringPtr("1000000")})
	log, ok := n.logs.Get(topic.Partition{Topic: "t"})
	if !ok || log.Config().RetentionMs != 1000000 {
		t.Fatalf("the config of the creation is not in the log: %v", ok)
	}
	change := func(entityType, name string, configs map[string]string) {
		t.Helper()
		path, data := zkpaths.EntityConfig(entityType, name), zkpaths.EncodeEntityConfig(configs)
		if _, err := r.zk.Set(t.Context(), path, data, zk.AnyVersion); errors.Is(err, zk.NoNode) {
			err = r.zk.CreateRecursive(t.Context(), path, data)
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.zk.CreateSequential(t.Context(), zkpaths.ConfigChangePrefix, zkpaths.EncodeConfigChange(entityType+"/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	change(zkpaths.EntityTopics, "t", map[string]string{"retention.ms": "2000000", "min.insync.replicas": "2"})
	eventually(t, "the topic's config in its log", func() bool {
		c := log.Config()
		return c.RetentionMs == 2000000 && c.MinInsyncReplicas == 2
	})
	change(zkpaths.EntityBrokers, zkpaths.EntityDefault, map[string]string{"log.retention.ms": "3000000", "message.max.bytes": "5000"})
	eventually(t, "the default in the log, below the override", func() bool {
		c := log.Config()
		return c.RetentionMs == 2000000 && c.MaxMessageBytes == 5000
	})
	// A restarted broker finds both.
	n.Stop()
	n = r.start("one", id(1))
	log, ok = n.logs.Get(topic.Partition{Topic: "t"})
	if !ok || log.Config().RetentionMs != 2000000 || log.Config().MaxMessageBytes != 5000 {
		t.Errorf("after a restart: %v %+v", ok, log.Config())
	}
}

// Golden step 71, in short: one of two directories fails, the controller is told, the
// broker goes on. Then the other: the broker ends by itself.
func TestLogDirsFail(t *testing.T) {
	r := newRig(t)
	first, second := filepath.Join(r.dir, "a"), filepath.Join(r.dir, "b")
	props := id(1)
	props["log.dirs"] = first + "," + second
	n := r.start("one", props)
	r.createTopic(n, "t", 4, nil)
	n.logs.FailDir(second, errors.New("disk pulled by the test"))
	e := n.until(t, "the controller is told", func(e journal.Event) bool {
		return e.Kind == journal.ZnodeWrite && e.Result == "ok" && strings.HasPrefix(e.Path, zkpaths.LogDirEventPrefix)
	})
	n.until(t, "the controller has handled it", func(d journal.Event) bool {
		return d.Kind == journal.ZnodeWrite && d.Path == e.Path && d.Text == "delete fenced" && d.Result == "ok"
	})
	eventually(t, "two partitions have no leader", func() bool {
		leaderless := 0
		for p := range int32(4) {
			s, err := zkpaths.DecodePartitionState([]byte(r.get(zkpaths.PartitionStatePath("t", p))))
			if err == nil && s.Leader == -1 {
				leaderless++
			}
		}
		return leaderless == 2
	})
	select {
	case <-n.Done():
		t.Fatal("one directory is left, and the broker ended")
	default:
	}
	if n.Err() != nil {
		t.Fatal(n.Err())
	}
	n.logs.FailDir(first, errors.New("this one too"))
	select {
	case <-n.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("no directory is left, and the broker goes on")
	}
	if n.Err() == nil || !strings.Contains(n.Err().Error(), first) {
		t.Errorf("why: %v", n.Err())
	}
	n.Stop()
	if r.exists(zkpaths.Broker(1)) {
		t.Error("still registered")
	}
}
