package witness

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/record"
)

// A question is one request in one version. It may differ by the broker it is sent to: nil asks nothing.
type question struct {
	sort string // a row of the report
	name string
	ask  func(broker int32) kmsg.Request
}

// A Scene is what the questions are about: a topic of which every broker has every partition.
type Scene struct {
	Topic      string
	Leaders    []int32 // by partition
	Epochs     []int32 // by partition: the leader's
	Ends       []int64 // by partition: the offset behind the last record
	Controller int32
}

// Equal says whether nothing has happened from one look to the other.
func (s Scene) Equal(o Scene) bool {
	return s.Controller == o.Controller && slices.Equal(s.Leaders, o.Leaders) && slices.Equal(s.Epochs, o.Epochs) && slices.Equal(s.Ends, o.Ends)
}

const (
	unknownTopic = "no-such-topic"
	debugReplica = -2 // a reader who takes any replica's word, as kafka-replica-verification does
)

// questions is everything that is asked, of the APIs in which all brokers share versions.
func questions(s Scene, shared map[int16]versions) []question {
	var all []question
	for _, of := range []struct {
		key  int16
		make func(s Scene, version int16) []question
	}{
		{3, metadataQuestions}, {60, clusterQuestions}, {32, configQuestions}, {2, offsetQuestions}, {1, fetchQuestions},
		{23, epochQuestions}, {0, produceQuestions}, {19, createQuestions},
	} {
		v, ok := shared[of.key]
		for version := v.min; ok && version <= v.max; version++ {
			for _, q := range of.make(s, version) {
				ask := q.ask
				q.ask = func(broker int32) kmsg.Request {
					req := ask(broker)
					if req != nil {
						req.SetVersion(version)
					}
					return req
				}
				all = append(all, q)
			}
		}
	}
	return all
}

// toAll asks every broker the same.
func toAll(req kmsg.Request) func(int32) kmsg.Request {
	return func(int32) kmsg.Request { return req }
}

func metadataQuestions(s Scene, version int16) []question {
	of := func(names ...string) kmsg.Request {
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
		return req
	}
	return []question{
		{"Metadata", "all topics", toAll(of())},
		{"Metadata", "one topic", toAll(of(s.Topic))},
		{"errors", "metadata of a topic that is not there", toAll(of(unknownTopic))},
		{"errors", "metadata of a name that cannot be", toAll(of("no/name"))},
	}
}

func clusterQuestions(Scene, int16) []question {
	return []question{{"Metadata", "the cluster", toAll(kmsg.NewPtrDescribeClusterRequest())}}
}

func configQuestions(s Scene, _ int16) []question {
	of := func(name string) kmsg.Request {
		req := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		req.Resources = append(req.Resources, r)
		return req
	}
	return []question{
		{"DescribeConfigs", "of the topic", toAll(of(s.Topic))},
		{"errors", "configs of a topic that is not there", toAll(of(unknownTopic))},
	}
}

// offsetQuestions asks for the first and the last offset, and by time.
func offsetQuestions(s Scene, _ int16) []question {
	of := func(topic string, replica int32, timestamp int64, partitions []int32) kmsg.Request {
		if len(partitions) == 0 {
			return nil
		}
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = replica
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, p := range partitions {
			tp := kmsg.NewListOffsetsRequestTopicPartition()
			tp.Partition, tp.Timestamp = p, timestamp
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	return []question{
		{"ListOffsets", "latest", toAll(of(s.Topic, debugReplica, -1, s.all()))},
		{"ListOffsets", "earliest", toAll(of(s.Topic, debugReplica, -2, s.all()))},
		{"ListOffsets", "since the epoch", toAll(of(s.Topic, debugReplica, 1, s.all()))},
		{"ListOffsets", "of the future", toAll(of(s.Topic, debugReplica, time.Now().Add(time.Hour).UnixMilli(), s.all()))},
		{"errors", "offsets of a topic that is not there", toAll(of(unknownTopic, -1, -1, []int32{0}))},
		{"errors", "offsets, by one who is sent to the leader", func(b int32) kmsg.Request { return of(s.Topic, -1, -1, s.followedBy(b)) }},
	}
}

// fetchQuestions reads the same offsets from every broker: the beginning, the middle, the end, beyond.
func fetchQuestions(s Scene, version int16) []question {
	of := func(topic string, replica, maxBytes int32, partitions []int32, at func(p int32) int64) kmsg.Request {
		if len(partitions) == 0 {
			return nil
		}
		req := kmsg.NewPtrFetchRequest()
		req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = replica, 0, 0, 50<<20, -1
		t := kmsg.NewFetchRequestTopic()
		t.Topic = topic
		for _, p := range partitions {
			tp := kmsg.NewFetchRequestTopicPartition()
			tp.Partition, tp.FetchOffset, tp.PartitionMaxBytes, tp.CurrentLeaderEpoch = p, at(p), maxBytes, -1
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	first := func(int32) int64 { return 0 }
	middle := func(p int32) int64 { return s.Ends[p] / 2 }
	end := func(p int32) int64 { return s.Ends[p] }
	beyond := func(p int32) int64 { return s.Ends[p] + 1000 }
	nowhere := question{"errors", "fetch of a topic that is not there", toAll(of(unknownTopic, -1, 1<<20, []int32{0}, first))}
	if version < 11 { // before KIP-392 only the leader let anybody but followers read
		return []question{nowhere,
			{"errors", "fetch, by one who is sent to the leader", func(b int32) kmsg.Request { return of(s.Topic, -1, 1<<20, s.followedBy(b), first) }}}
	}
	return []question{nowhere,
		{"Fetch", "from the first record", toAll(of(s.Topic, debugReplica, 1<<20, s.all(), first))},
		{"Fetch", "from the middle, little", toAll(of(s.Topic, debugReplica, 1000, s.all(), middle))},
		{"Fetch", "from the middle, by a consumer", toAll(of(s.Topic, -1, 1<<20, s.all(), middle))},
		{"Fetch", "from the end", toAll(of(s.Topic, debugReplica, 1<<20, s.all(), end))},
		{"errors", "fetch beyond the end", toAll(of(s.Topic, debugReplica, 1<<20, s.all(), beyond))},
	}
}

func epochQuestions(s Scene, _ int16) []question {
	of := func(topic string, partitions []int32) kmsg.Request {
		if len(partitions) == 0 {
			return nil
		}
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = topic
		for _, p := range partitions {
			tp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			tp.Partition, tp.CurrentLeaderEpoch, tp.LeaderEpoch = p, -1, 0
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	return []question{
		{"errors", "the end of an epoch, not asked of the leader", func(b int32) kmsg.Request { return of(s.Topic, s.followedBy(b)) }},
		{"errors", "the end of an epoch of no topic", toAll(of(unknownTopic, []int32{0}))},
	}
}

// produceQuestions writes where it will be refused.
func produceQuestions(s Scene, _ int16) []question {
	of := func(topic string, acks int16, partitions []int32) kmsg.Request {
		if len(partitions) == 0 {
			return nil
		}
		batch := record.NewBuilder(record.None, 0)
		batch.Append(time.Now().UnixMilli(), nil, []byte("to nobody"))
		req := kmsg.NewPtrProduceRequest()
		req.Acks, req.TimeoutMillis = acks, 1000
		t := kmsg.NewProduceRequestTopic()
		t.Topic = topic
		for _, p := range partitions {
			tp := kmsg.NewProduceRequestTopicPartition()
			tp.Partition, tp.Records = p, batch.Bytes()
			t.Partitions = append(t.Partitions, tp)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	return []question{
		{"errors", "produce, not to the leader", func(b int32) kmsg.Request { return of(s.Topic, -1, s.followedBy(b)) }},
		{"errors", "produce to a topic that is not there", toAll(of(unknownTopic, -1, []int32{0}))},
		{"errors", "produce with acks=5", func(b int32) kmsg.Request { return of(s.Topic, 5, s.followedBy(b)) }},
	}
}

func createQuestions(s Scene, _ int16) []question {
	return []question{{"errors", "create a topic, not through the controller", func(b int32) kmsg.Request {
		if b == s.Controller {
			return nil
		}
		req := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = unknownTopic, 1, 1
		req.Topics, req.TimeoutMillis = append(req.Topics, t), 1000
		return req
	}}}
}

// all is every partition.
func (s Scene) all() []int32 {
	out := make([]int32, len(s.Leaders))
	for p := range out {
		out[p] = int32(p)
	}
	return out
}

// followedBy is the partitions that a broker does not lead.
func (s Scene) followedBy(broker int32) []int32 {
	var out []int32
	for p, leader := range s.Leaders {
		if leader != broker {
			out = append(out, int32(p))
		}
	}
	return out
}
