package clustertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic makes a topic through CreateTopics and waits until every partition has a leader and a
// full ISR. Configs are key, value pairs.
func CreateTopic(t testing.TB, cl *kgo.Client, name string, partitions int32, rf int16, configs ...string) {
	t.Helper()
	m := map[string]*string{}
	for i := 0; i+1 < len(configs); i += 2 {
		m[configs[i]] = kadm.StringPtr(configs[i+1])
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	adm := kadm.NewClient(cl)
	Eventually(t, 60*time.Second, "topic "+name+" to be created", func() (bool, string) {
		r, err := adm.CreateTopic(ctx, partitions, rf, m, name)
		if err == nil {
			err = r.Err
		}
		if err == nil || err == kerr.TopicAlreadyExists {
			return true, ""
		}
		return false, err.Error()
	})
	AwaitISR(t, cl, name, int(rf), 60*time.Second)
}

// AwaitISR waits until every partition of the topic has a leader and size members in its ISR.
func AwaitISR(t testing.TB, cl *kgo.Client, name string, size int, within time.Duration) {
	t.Helper()
	Eventually(t, within, fmt.Sprintf("%s to have %d in-sync replicas everywhere", name, size), func() (bool, string) {
		parts, err := Partitions(cl, name)
		if err != nil {
			return false, err.Error()
		}
		for _, p := range parts {
			if p.Leader < 0 || len(p.ISR) != size {
				return false, fmt.Sprintf("partition %d: leader %d, isr %v", p.Partition, p.Leader, p.ISR)
			}
		}
		return len(parts) > 0, "no partitions"
	})
}

// PartitionInfo is one partition as metadata shows it.
type PartitionInfo struct {
	Partition int32
	Leader    int32
	Epoch     int32
	Replicas  []int32
	ISR       []int32
}

// Partitions asks any broker for a topic's partitions, in order of number.
func Partitions(cl *kgo.Client, name string) ([]PartitionInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 {
		return nil, fmt.Errorf("metadata names %d topics", len(resp.Topics))
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return nil, err
	}
	var out []PartitionInfo
	for _, p := range resp.Topics[0].Partitions {
		out = append(out, PartitionInfo{p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR})
	}
	slices.SortFunc(out, func(a, b PartitionInfo) int { return int(a.Partition - b.Partition) })
	return out, nil
}

// Leader waits for a leader of the partition and returns its id.
func Leader(t testing.TB, cl *kgo.Client, name string, partition int32) int32 {
	t.Helper()
	leader := int32(-1)
	Eventually(t, 60*time.Second, fmt.Sprintf("a leader of %s-%d", name, partition), func() (bool, string) {
		parts, err := Partitions(cl, name)
		if err != nil {
			return false, err.Error()
		}
		for _, p := range parts {
			if p.Partition == partition && p.Leader >= 0 {
				leader = p.Leader
				return true, ""
			}
		}
		return false, "none"
	})
	return leader
}

// Controller waits until the brokers agree on a controller and returns its id.
func (c *Processes) Controller(within time.Duration) int32 {
	c.t.Helper()
	id := int32(-1)
	Eventually(c.t, within, "the brokers to agree on a controller", func() (bool, string) {
		id = -1
		for _, n := range c.Sorted() {
			if !n.Running() {
				continue
			}
			m, err := metadata(n.Addr)
			if err != nil {
				return false, err.Error()
			}
			if m.ControllerID < 0 || id >= 0 && m.ControllerID != id {
				return false, fmt.Sprintf("broker %d says %d, another %d", n.ID, m.ControllerID, id)
			}
			id = m.ControllerID
		}
		return id >= 0, "no broker runs"
	})
	return id
}

// ClientOf is an outside client that knows only these addresses at first.
func (c *Processes) ClientOf(seeds []string, opts ...kgo.Opt) *kgo.Client {
	return outsideClient(c.t, seeds, opts...)
}

// MoveLeader stops and starts the leader of a partition, so that another replica leads, and returns
// the new leader's node.
func (c *Processes) MoveLeader(cl *kgo.Client, topic string, partition int32) *Node {
	c.t.Helper()
	old := c.Nodes[Leader(c.t, cl, topic, partition)]
	old.Stop()
	Eventually(c.t, 60*time.Second, "another leader", func() (bool, string) {
		l := Leader(c.t, cl, topic, partition)
		return l != old.ID, fmt.Sprintf("still %d", l)
	})
	old.Start()
	AwaitISR(c.t, cl, topic, len(c.Nodes), 90*time.Second)
	return c.Nodes[Leader(c.t, cl, topic, partition)]
}

// CreateAssigned makes a topic with the replicas of each partition given.
func CreateAssigned(cl *kgo.Client, name string, assignment [][]int32, configs ...string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, -1, -1
	for p, replicas := range assignment {
		ra := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		ra.Partition, ra.Replicas = int32(p), replicas
		rt.ReplicaAssignment = append(rt.ReplicaAssignment, ra)
	}
	for i := 0; i+1 < len(configs); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = configs[i], kmsg.StringPtr(configs[i+1])
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	req.TimeoutMillis = 30000
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}
