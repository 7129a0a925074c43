package admin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"kz/client"
	"kz/internal/clustertest"
	"kz/internal/topic"
)

func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

func TestAdminOnServers(t *testing.T) {
	clustertest.OnServers(t, map[string]string{"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1"}, administer)
}

// administer does what the admin client can, and holds what it is told against what Kafka says.
func administer(t *testing.T, s clustertest.Server) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a := New(client.DefaultConfig(s.Seeds...))
	defer a.Close()
	var told []string
	say := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	name := func(err error) string { // Kafka's name of the error, without the message
		if err == nil {
			return "ok"
		}
		for _, known := range []string{"TOPIC_ALREADY_EXISTS", "INVALID_TOPIC_EXCEPTION", "INVALID_PARTITIONS", "GROUP_ID_NOT_FOUND", "UNKNOWN_TOPIC_OR_PARTITION"} {
			if strings.Contains(err.Error(), known) {
				return known
			}
		}
		for class, known := range map[string]string{"already exists": "TOPIC_ALREADY_EXISTS", "is illegal": "INVALID_TOPIC_EXCEPTION", "which is higher than the requested": "INVALID_PARTITIONS",
			"The group id does not exist": "GROUP_ID_NOT_FOUND", "does not host this topic-partition": "UNKNOWN_TOPIC_OR_PARTITION"} {
			if strings.Contains(err.Error(), class) {
				return known
			}
		}
		return err.Error()
	}

	say("create %s", name(a.CreateTopic(ctx, NewTopic{Name: "a", Partitions: 2, ReplicationFactor: 1, Configs: map[string]string{"retention.ms": "1000000"}})))
	say("create again %s", name(a.CreateTopic(ctx, NewTopic{Name: "a", Partitions: 2, ReplicationFactor: 1})))
	say("create badly %s", name(a.CreateTopic(ctx, NewTopic{Name: "a b", Partitions: 2, ReplicationFactor: 1})))
	say("grow %s", name(a.CreatePartitions(ctx, "a", 3, nil)))
	say("shrink %s", name(a.CreatePartitions(ctx, "a", 1, nil)))
	clustertest.Eventually(t, time.Minute, "three partitions", func() (bool, string) {
		d, err := a.DescribeTopic(ctx, "a")
		return err == nil && len(d.Partitions) == 3, fmt.Sprint(d, err)
	})
	configs, err := a.TopicConfigs(ctx, []string{"a"})
	for _, c := range configs["a"] {
		if c.Name == "retention.ms" || c.Name == "cleanup.policy" {
			say("%s=%s", c.Name, c.Value)
		}
	}
	say("configs %v, %v", name(err), len(configs["a"]) > 20)
	cluster, err := a.DescribeCluster(ctx)
	say("cluster of %d, controller %d, %s", len(cluster.Brokers), cluster.Controller, name(err))
	p0 := topic.Partition{Topic: "a", Partition: 0}
	ends, err := a.ListOffsets(ctx, map[topic.Partition]int64{p0: -1})
	say("end %d %s", ends[p0], name(err))

	say("alter offsets %s", name(a.AlterGroupOffsets(ctx, "g", map[topic.Partition]int64{p0: 0, {Topic: "a", Partition: 2}: 7})))
	offsets, err := a.GroupOffsets(ctx, "g")
	say("offsets %d, at %d, %s", len(offsets), offsets[topic.Partition{Topic: "a", Partition: 2}].Offset, name(err))
	groups, err := a.ListGroups(ctx, nil)
	say("groups %d %s", len(groups), name(err))
	d, err := a.DescribeGroup(ctx, "g")
	say("group %s of %d, %s", d.State, len(d.Members), name(err))
	d, err = a.DescribeGroup(ctx, "nobody")
	say("no group %s, %s", d.State, name(err))
	gone, err := a.DeleteGroupOffsets(ctx, "g", []topic.Partition{p0})
	say("delete offsets %v %s", name(gone[p0]), name(err))
	say("delete group %s", name(a.DeleteGroup(ctx, "g")))
	say("delete it again %s", name(a.DeleteGroup(ctx, "g")))
	want := `create ok
create again TOPIC_ALREADY_EXISTS
create badly INVALID_TOPIC_EXCEPTION
grow ok
shrink INVALID_PARTITIONS
cleanup.policy=delete
retention.ms=1000000
configs ok, true
cluster of 1, controller 1, ok
end 0 ok
alter offsets ok
offsets 2, at 7, ok
groups 1 ok
group Empty of 0, ok
no group Dead, ok
delete offsets ok ok
delete group ok
delete it again GROUP_ID_NOT_FOUND`
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
