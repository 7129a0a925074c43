package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"
)

func metadataRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// show writes an answer's topics in a line.
func show(resp *kmsg.MetadataResponse) string {
	var out []string
	for _, t := range resp.Topics {
		s := fmt.Sprintf("%s:%s", *t.Topic, kafkaerr.Code(t.ErrorCode))
		for _, p := range t.Partitions {
			s += fmt.Sprintf(" %d=%s leader %d %v %v", p.Partition, kafkaerr.Code(p.ErrorCode), p.Leader, p.Replicas, p.ISR)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// Ref: Kafka 2.8 ZkMetadataCache.getPartitionMetadata, KafkaApis.handleTopicMetadataRequest
func TestMetadata(t *testing.T) {
	everyVersion(t, keyMetadata, func(t *testing.T, version int16) {
		b := newBench(t)
		resp := b.ask(t, metadataRequest("t", "t"), version).(*kmsg.MetadataResponse)
		want := "t:NONE 0=NONE leader 1 [1 2] [1] 1=LEADER_NOT_AVAILABLE leader -1 [9 1] [9] 2=LISTENER_NOT_FOUND leader -1 [2] [2]"
		if version < 6 {
			want = strings.ReplaceAll(want, "LISTENER_NOT_FOUND", "LEADER_NOT_AVAILABLE")
		}
		if version == 0 { // it knows no offline replicas: they are hidden, and that is an error
			want = "t:NONE 0=REPLICA_NOT_AVAILABLE leader 1 [1] [1] 1=LEADER_NOT_AVAILABLE leader -1 [1] [] 2=LEADER_NOT_AVAILABLE leader -1 [] []"
		}
		if got := show(resp); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "one" || version > 0 && (*resp.Brokers[0].Rack != "r1" || resp.ControllerID != 1) {
			t.Errorf("only brokers with the listener are shown: %+v", resp)
		}
	})
}

func TestMetadataWhichTopics(t *testing.T) {
	for _, row := range []struct {
		rule    string
		version int16
		req     *kmsg.MetadataRequest
		allow   bool
		want    string
	}{
		{"version 0: an empty list is all", 0, metadataRequest(), false, "t:NONE"},
		{"from version 1 on: an empty list is none", 1, metadataRequest(), false, ""},
		{"from version 1 on: null is all", 1, &kmsg.MetadataRequest{}, false, "t:NONE"},
		{"unknown, not to be created", 4, metadataRequest("new"), false, "new:UNKNOWN_TOPIC_OR_PARTITION"},
		{"illegal, not to be created", 4, metadataRequest("a b"), false, "a b:INVALID_TOPIC_EXCEPTION"},
		{"created", 4, metadataRequest("new", "a b"), true, "new:LEADER_NOT_AVAILABLE; a b:INVALID_TOPIC_EXCEPTION"},
		{"up to version 3 always created", 3, metadataRequest("new"), false, "new:LEADER_NOT_AVAILABLE"},
		{"colliding name", 4, metadataRequest("a_b"), true, "a_b:INVALID_TOPIC_EXCEPTION"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			b := newBench(t)
			b.store.nodes["/brokers/topics/a.b"] = []byte("{}")
			row.req.AllowAutoTopicCreation = row.allow
			resp := b.ask(t, row.req, row.version).(*kmsg.MetadataResponse)
			for i := range resp.Topics {
				resp.Topics[i].Partitions = nil
			}
			if got := show(resp); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// Ref: what Kafka 2.8.2 answered
func TestMetadataByID(t *testing.T) {
	b := newBench(t)
	req := metadataRequest("x", "y")
	req.Topics[0].TopicID = [16]byte{1}
	req.Topics[1].Topic = nil
	got := b.ask(t, req, 10).(*kmsg.MetadataResponse)
	if len(got.Brokers) != 0 || got.ClusterID != nil || got.ControllerID != -1 || show(got) != "x:INVALID_REQUEST; :INVALID_REQUEST" || got.Topics[0].TopicID != [16]byte{1} {
		t.Errorf("%+v", got)
	}
}

// Ref: Kafka 2.8.2 closes the connection
func TestMetadataListOfNegativeLength(t *testing.T) {
	b := newBench(t)
	if e := b.send(t, wire.RequestHeader{Key: keyMetadata, Version: 3}, []byte{0xff, 0xff, 0xff, 0xfe}); e.closed == "" {
		t.Error("-2 is not null")
	}
}

func TestAuthorizedOperations(t *testing.T) {
	b := newBench(t)
	req := metadataRequest("t", "unknown")
	req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
	got := b.ask(t, req, 8).(*kmsg.MetadataResponse)
	if got.AuthorizedOperations != 8096 || got.Topics[0].AuthorizedOperations != 3576 || got.Topics[1].AuthorizedOperations != 3576 {
		t.Errorf("%+v", got)
	}
	got = b.ask(t, metadataRequest("t"), 8).(*kmsg.MetadataResponse)
	if got.AuthorizedOperations != notAsked || got.Topics[0].AuthorizedOperations != notAsked {
		t.Errorf("%+v", got)
	}
	cluster := kmsg.NewPtrDescribeClusterRequest()
	cluster.IncludeClusterAuthorizedOperations = true
	c := b.ask(t, cluster, 0).(*kmsg.DescribeClusterResponse)
	if c.ClusterID != "cluster" || c.ControllerID != 1 || len(c.Brokers) != 1 || c.ClusterAuthorizedOperations != 8096 || c.ErrorMessage != nil {
		t.Errorf("%+v", c)
	}
}

// Ref: what Kafka 2.8.2 answered; ApiVersionsRequest.isValid
func TestAPIVersions(t *testing.T) {
	b := newBench(t)
	ask := func(version int16, name, software string) *kmsg.ApiVersionsResponse {
		t.Helper()
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = name, software
		return b.ask(t, req, version).(*kmsg.ApiVersionsResponse)
	}
	for v := range int16(4) {
		got := ask(v, "a-b.c", "1-2.3")
		if got.ErrorCode != 0 || len(got.ApiKeys) != len(wire.Served()) || got.FinalizedFeaturesEpoch != -1 {
			t.Errorf("v%d: %+v", v, got)
		}
	}
	for _, bad := range [][2]string{{"", "1"}, {"-x", "1"}, {"a b", "1"}, {"x-", "1"}, {"x", ""}, {"x", "1.0 beta"}, {"x_y", "1"}} {
		if got := ask(3, bad[0], bad[1]); got.ErrorCode != int16(kafkaerr.InvalidRequest) || len(got.ApiKeys) != 0 {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	for _, version := range []int16{4, 99, -1} {
		e := b.send(t, wire.RequestHeader{Key: keyAPIVersions, Version: version}, []byte("not looked at"))
		got := kmsg.NewPtrApiVersionsResponse()
		if err := got.ReadFrom(e.bytes()); err != nil || got.ErrorCode != int16(kafkaerr.UnsupportedVersion) || len(got.ApiKeys) != 1 || got.ApiKeys[0].ApiKey != 18 || got.ApiKeys[0].MaxVersion != 3 {
			t.Errorf("v%d: %+v, %v", version, got, err)
		}
	}
}

func TestListOffsets(t *testing.T) {
	everyVersion(t, keyListOffsets, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrListOffsetsRequest()
		lt := kmsg.NewListOffsetsRequestTopic()
		lt.Topic = "t"
		for _, n := range []int32{0, 1, 1} {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, -1
			lt.Partitions = append(lt.Partitions, p)
		}
		req.Topics = []kmsg.ListOffsetsRequestTopic{lt}
		got := b.ask(t, req, version).(*kmsg.ListOffsetsResponse).Topics[0].Partitions
		if got[0].Offset != 5 || version >= 4 && got[0].LeaderEpoch != 3 || got[1].ErrorCode != int16(kafkaerr.InvalidRequest) || got[2].ErrorCode != int16(kafkaerr.InvalidRequest) || got[1].Offset != -1 {
			t.Errorf("%+v", got)
		}
	})
}

// p1 is the partition of the control requests; this broker's epoch is 100.
var p1 = topic.Partition{Topic: "t", Partition: 1}

func TestLeaderAndIsr(t *testing.T) {
	state := kmsg.LeaderAndISRRequestTopicPartition{Topic: "t", Partition: 1, ControllerEpoch: 2, Leader: 3, LeaderEpoch: 4, ISR: []int32{3, 1}, ZKVersion: 5, Replicas: []int32{1, 3}, IsNew: true}
	everyVersion(t, keyLeaderAndISR, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrLeaderAndISRRequest()
		req.BrokerEpoch = 100
		req.PartitionStates = []kmsg.LeaderAndISRRequestTopicPartition{state}
		req.TopicStates = []kmsg.LeaderAndISRRequestTopicState{{Topic: "t", TopicID: [16]byte{7}, PartitionStates: req.PartitionStates}}
		code := func() (int16, int16) {
			r := b.ask(t, req, version).(*kmsg.LeaderAndISRResponse)
			if version >= 5 {
				if r.Topics[0].TopicID != [16]byte{7} {
					t.Errorf("%+v", r)
				}
				return r.ErrorCode, r.Topics[0].Partitions[0].ErrorCode
			}
			return r.ErrorCode, r.Partitions[0].ErrorCode
		}
		if top, part := code(); top != 0 || part != 0 {
			t.Errorf("%d, %d", top, part)
		}
		got := b.replicas.leader[p1]
		if got.Leader != 3 || got.LeaderEpoch != 4 || got.ZkVersion != 5 || !slices.Equal(got.ISR, []int32{3, 1}) || version >= 1 && !got.IsNew {
			t.Errorf("%+v", got)
		}
		b.replicas.code = kafkaerr.StaleControllerEpoch
		if top, part := code(); top != 11 || part != 11 {
			t.Errorf("stale controller: %d, %d", top, part)
		}
		req.BrokerEpoch = 99
		if top, part := code(); version >= 2 && (top != 77 || part != 77) {
			t.Errorf("stale broker epoch comes first: %d, %d", top, part)
		}
	})
}

func TestStopReplica(t *testing.T) {
	everyVersion(t, keyStopReplica, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrStopReplicaRequest()
		req.BrokerEpoch, req.DeletePartitions = 101, true
		req.Topics = []kmsg.StopReplicaRequestTopic{{Topic: "t", Partition: 1, Partitions: []int32{1},
			PartitionStates: []kmsg.StopReplicaRequestTopicPartitionState{{Partition: 1, LeaderEpoch: 8, Delete: true}}}}
		r := b.ask(t, req, version).(*kmsg.StopReplicaResponse)
		if r.ErrorCode != 0 || len(r.Partitions) != 1 || r.Partitions[0].ErrorCode != int16(kafkaerr.FencedLeaderEpoch) || r.Partitions[0].Topic != "t" {
			t.Errorf("%+v", r)
		}
		got, epoch := b.replicas.stop[p1], int32(8)
		if version < 3 {
			epoch = -1
		}
		if !got.Delete || got.LeaderEpoch != epoch {
			t.Errorf("%+v", got)
		}
		req.BrokerEpoch = 99
		if r := b.ask(t, req, version).(*kmsg.StopReplicaResponse); version >= 1 && (r.ErrorCode != 77 || len(r.Partitions) != 0) {
			t.Errorf("%+v", r)
		}
	})
}

func TestUpdateMetadata(t *testing.T) {
	everyVersion(t, keyUpdateMetadata, func(t *testing.T, version int16) {
		b := newBench(t)
		b.replicas.deleted = []topic.Partition{p1}
		b.d.Configs.TopicConfig("t")
		b.store.nodes["/config/topics/t"] = []byte(`{"config":{"compression.type":"lz4"}}`)
		req := kmsg.NewPtrUpdateMetadataRequest()
		req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = 2, 3, 100
		req.PartitionStates = []kmsg.UpdateMetadataRequestTopicPartition{{Topic: "t", Partition: 1, Leader: -2, LeaderEpoch: 4, ISR: []int32{1}, Replicas: []int32{1}, OfflineReplicas: []int32{1}}}
		req.TopicStates = []kmsg.UpdateMetadataRequestTopicState{{Topic: "t", PartitionStates: req.PartitionStates}}
		req.LiveBrokers = []kmsg.UpdateMetadataRequestLiveBroker{{ID: 5, Host: "h", Port: 1, Rack: kmsg.StringPtr("r"),
			Endpoints: []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{Host: "h", Port: 1, ListenerName: "IN"}}}}
		if r := b.ask(t, req, version).(*kmsg.UpdateMetadataResponse); r.ErrorCode != 0 {
			t.Errorf("%+v", r)
		}
		listener := "PLAINTEXT"
		if version >= 3 {
			listener = "IN"
		}
		u := b.replicas.update
		e, ok := u.Brokers[0].Endpoint(listener)
		if !ok || e.Host != "h" || e.Port != 1 || u.ControllerID != 2 || u.Partitions[p1].Leader != metadata.LeaderDuringDelete || version >= 2 && u.Brokers[0].Rack != "r" {
			t.Errorf("%+v", u)
		}
		if got := b.d.Configs.TopicConfig("t").CompressionType; got != "lz4" {
			t.Errorf("a deleted topic's config is still known: %s", got)
		}
		req.BrokerEpoch = 99
		if r := b.ask(t, req, version).(*kmsg.UpdateMetadataResponse); version >= 5 && r.ErrorCode != 77 {
			t.Errorf("%+v", r)
		}
	})
}

func TestControlledShutdown(t *testing.T) {
	everyVersion(t, keyControlledShutdown, func(t *testing.T, version int16) {
		b := newBench(t)
		b.controller.remain = []topic.Partition{p1}
		req := kmsg.NewPtrControlledShutdownRequest()
		if r := b.ask(t, req, version).(*kmsg.ControlledShutdownResponse); r.ErrorCode != 0 || len(r.PartitionsRemaining) != 1 {
			t.Errorf("%+v", r)
		}
		b.controller.err = kafkaerr.NotController
		if r := b.ask(t, req, version).(*kmsg.ControlledShutdownResponse); r.ErrorCode != int16(kafkaerr.StaleControllerEpoch) || len(r.PartitionsRemaining) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	everyVersion(t, keyOffsetForLeaderEpoch, func(t *testing.T, version int16) {
		b := newBench(t)
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		ot := kmsg.NewOffsetForLeaderEpochRequestTopic()
		ot.Topic = "t"
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.LeaderEpoch = 2
		ot.Partitions = []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
		req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{ot}
		got := b.ask(t, req, version).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		if got.EndOffset != 9 || version >= 1 && got.LeaderEpoch != 2 {
			t.Errorf("%+v", got)
		}
	})
}
