package client

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// NoLeader is the leader of a partition that has none.
const NoLeader int32 = -1

// Broker is a live broker, at the address its listener advertises.
type Broker struct {
	ID   int32
	Addr string // host:port
	Rack string // "" = none
}

// Partition is one partition as a Metadata answer describes it.
type Partition struct {
	Topic       string
	ID          int32
	Leader      int32 // NoLeader when there is none
	LeaderEpoch int32 // -1 when the broker does not say
	Replicas    []int32
	ISR         []int32
	Offline     []int32
	Err         kafkaerr.Code // None, LEADER_NOT_AVAILABLE …
}

// Topic is one topic; its partitions are sorted by number.
type Topic struct {
	Name       string
	Internal   bool
	ID         [16]byte      // all zero below protocol 2.8
	Err        kafkaerr.Code // UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE … or None
	Partitions []Partition
}

// Cluster is one Metadata answer. It is never changed after it was made.
type Cluster struct {
	ID         string
	Controller int32            // -1 unknown
	Brokers    map[int32]Broker // live ones
	Topics     map[string]Topic
}

// Hopeless says that asking again will not make the topic appear. All other errors may
// be gone in a moment: a broker that has just started, for one, knows no live broker
// and answers INVALID_REPLICATION_FACTOR to whoever would have a topic created.
// Mirrors Metadata.checkInvalidTopics and checkUnauthorizedTopics.
func (t Topic) Hopeless() bool {
	return t.Err == kafkaerr.InvalidTopicException || t.Err == kafkaerr.TopicAuthorizationFailed
}

// Names lists the topics, sorted.
func (c *Cluster) Names() []string {
	out := make([]string, 0, len(c.Topics))
	for name := range c.Topics {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// MetadataRequest asks for topics; nil asks for all of them. With create the broker
// may make those that do not exist, if auto.create.topics.enable allows it.
func (c *Client) Metadata(ctx context.Context, topics []string, create bool) (*Cluster, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = create
	if topics != nil {
		req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(topics))
		for _, t := range topics {
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = kmsg.StringPtr(t)
			req.Topics = append(req.Topics, rt)
		}
	}
	resp, err := c.Any(ctx, req)
	if err != nil {
		return nil, err
	}
	cl := clusterOf(resp.(*kmsg.MetadataResponse))
	c.learn(cl)
	return cl, nil
}

func clusterOf(r *kmsg.MetadataResponse) *Cluster {
	cl := &Cluster{Controller: r.ControllerID, Brokers: map[int32]Broker{}, Topics: map[string]Topic{}}
	if r.ClusterID != nil {
		cl.ID = *r.ClusterID
	}
	for _, b := range r.Brokers {
		nb := Broker{ID: b.NodeID, Addr: Address(b.Host, b.Port)}
		if b.Rack != nil {
			nb.Rack = *b.Rack
		}
		cl.Brokers[b.NodeID] = nb
	}
	for _, t := range r.Topics {
		if t.Topic == nil {
			continue
		}
		nt := Topic{Name: *t.Topic, Internal: t.IsInternal, ID: t.TopicID, Err: kafkaerr.Code(t.ErrorCode)}
		for _, p := range t.Partitions {
			nt.Partitions = append(nt.Partitions, Partition{
				Topic: nt.Name, ID: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
				Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas, Err: kafkaerr.Code(p.ErrorCode),
			})
		}
		slices.SortFunc(nt.Partitions, func(a, b Partition) int { return int(a.ID) - int(b.ID) })
		cl.Topics[nt.Name] = nt
	}
	return cl
}

// brokerAddrs lists the addresses of the brokers in order of id.
func (c *Cluster) brokerAddrs() []string {
	var bs []Broker
	for _, b := range c.Brokers {
		bs = append(bs, b)
	}
	slices.SortFunc(bs, func(a, b Broker) int {
		if a.ID != b.ID {
			return int(a.ID) - int(b.ID)
		}
		return strings.Compare(a.Addr, b.Addr)
	})
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = b.Addr
	}
	return out
}
