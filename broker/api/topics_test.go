package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

func createRequest(validateOnly bool, names ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly, req.TimeoutMillis = validateOnly, 0
	for _, n := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = n, 2, 1
		req.Topics = append(req.Topics, t)
	}
	return req
}

// told writes what each topic was answered.
func told(resp *kmsg.CreateTopicsResponse) string {
	var out []string
	for _, t := range resp.Topics {
		s := t.Topic + ":" + kafkaerr.Code(t.ErrorCode).Name()
		if t.ErrorMessage != nil {
			s += fmt.Sprintf("(%s)", *t.ErrorMessage)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// Ref: what Kafka 2.8.2 answered
func TestCreateTopics(t *testing.T) {
	everyVersion(t, keyCreateTopics, func(t *testing.T, version int16) {
		b := newBench(t)
		resp := b.ask(t, createRequest(false, "a", "b", "b", "t"), version).(*kmsg.CreateTopicsResponse)
		want := "a:REQUEST_TIMED_OUT b:INVALID_REQUEST(Found multiple entries for this topic.) b:INVALID_REQUEST(Found multiple entries for this topic.) t:TOPIC_ALREADY_EXISTS(Topic 't' already exists.)"
		if version == 0 {
			want = "a:REQUEST_TIMED_OUT b:INVALID_REQUEST b:INVALID_REQUEST t:TOPIC_ALREADY_EXISTS"
		}
		if got := told(resp); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if version >= 5 && (resp.Topics[0].NumPartitions != -1 || len(resp.Topics[0].Configs) != 0) {
			t.Errorf("of a topic without leaders nothing is told: %+v", resp.Topics[0])
		}
		if _, ok := b.store.nodes["/brokers/topics/a"]; !ok {
			t.Error("timeout 0 creates the topic all the same")
		}
		if version >= 1 {
			r := b.ask(t, createRequest(true, "v"), version).(*kmsg.CreateTopicsResponse).Topics[0]
			if r.ErrorCode != 0 || r.ErrorMessage != nil || version >= 5 && (r.NumPartitions != 2 || r.ReplicationFactor != 1 || len(r.Configs) != 26 || r.Configs[0].Source != 5) {
				t.Errorf("%+v", r)
			}
		}
		b.controller.active = false
		want = "c:NOT_CONTROLLER()"
		if version == 0 {
			want = "c:NOT_CONTROLLER"
		}
		if got := told(b.ask(t, createRequest(false, "c"), version).(*kmsg.CreateTopicsResponse)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Ref: what Kafka 2.8.2 answered
func TestCreatePartitions(t *testing.T) {
	everyVersion(t, keyCreatePartitions, func(t *testing.T, version int16) {
		b := newBench(t)
		b.store.nodes["/brokers/topics/p"] = []byte(`{"version":3,"partitions":{"0":[1],"1":[2]}}`)
		ask := func(assignment []kmsg.CreatePartitionsRequestTopicAssignment, names ...string) string {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis = 0
			for _, n := range names {
				ct := kmsg.NewCreatePartitionsRequestTopic()
				ct.Topic, ct.Count, ct.Assignment = n, 3, assignment
				req.Topics = append(req.Topics, ct)
			}
			var out []string
			for _, rt := range b.ask(t, req, version).(*kmsg.CreatePartitionsResponse).Topics {
				s := rt.Topic + ":" + kafkaerr.Code(rt.ErrorCode).Name()
				if rt.ErrorMessage != nil {
					s += "(" + *rt.ErrorMessage + ")"
				}
				out = append(out, s)
			}
			return strings.Join(out, " ")
		}
		for _, row := range [][2]string{
			{ask([]kmsg.CreatePartitionsRequestTopicAssignment{}, "p"), "p:INVALID_REPLICA_ASSIGNMENT(Increasing the number of partitions by 1 but 0 assignments provided.)"},
			{ask(nil, "x", "p", "p"), "x:UNKNOWN_TOPIC_OR_PARTITION(The topic 'x' does not exist.) p:INVALID_REQUEST(Duplicate topic in request.)"},
			{ask(nil, "p"), "p:REQUEST_TIMED_OUT"},
			{ask(nil, "p"), "p:INVALID_PARTITIONS(Topic already has 3 partitions.)"},
		} {
			if row[0] != row[1] {
				t.Errorf("got %s, want %s", row[0], row[1])
			}
		}
		b.controller.active = false
		if got := ask(nil, "p"); got != "p:NOT_CONTROLLER" {
			t.Errorf("got %s", got)
		}
	})
}

// Ref: what Kafka 2.8.2 answered
func TestDescribeConfigs(t *testing.T) {
	everyVersion(t, keyDescribeConfigs, func(t *testing.T, version int16) {
		b := newBench(t)
		b.store.nodes["/config/topics/t"] = []byte(`{"version":1,"config":{"retention.ms":"-1"}}`)
		ask := func(kind kmsg.ConfigResourceType, name string, keys []string) kmsg.DescribeConfigsResponseResource {
			t.Helper()
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.IncludeSynonyms, req.IncludeDocumentation = true, true
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
			return b.ask(t, req, version).(*kmsg.DescribeConfigsResponse).Resources[0]
		}
		if got := ask(2, "t", nil); len(got.Configs) != 26 || *got.ErrorMessage != "" {
			t.Errorf("%d entries, message %v", len(got.Configs), got.ErrorMessage)
		}
		one := ask(2, "t", []string{"retention.ms", "no.such"}).Configs
		if len(one) != 1 || *one[0].Value != "-1" || one[0].ReadOnly || version == 0 && one[0].IsDefault {
			t.Errorf("%+v", one)
		}
		if version >= 1 && (one[0].Source != kmsg.ConfigSourceDynamicTopicConfig || len(one[0].ConfigSynonyms) != 1) || version >= 3 && (one[0].ConfigType != kmsg.ConfigTypeLong || *one[0].Documentation == "") {
			t.Errorf("%+v", one)
		}
		if got := ask(4, "1", nil); len(got.Configs) < 200 {
			t.Errorf("%d broker keys", len(got.Configs))
		}
		for _, row := range []struct {
			kind          kmsg.ConfigResourceType
			name, message string
			code          kafkaerr.Code
		}{
			{2, "missing", "", kafkaerr.UnknownTopicOrPartition},
			{2, "a b", "Topic name \"a b\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'", kafkaerr.InvalidTopicException},
			{4, "2", "Unexpected broker id, expected 1 or empty string, but received 2", kafkaerr.InvalidRequest},
			{8, "2", "Unexpected broker id, expected 1 but received 2", kafkaerr.InvalidRequest},
			{8, "", "Broker id must not be empty", kafkaerr.InvalidRequest},
			{8, "1", "", kafkaerr.None},
			{3, "x", malformed, kafkaerr.InvalidRequest},
			{77, "x", malformed, kafkaerr.InvalidRequest},
		} {
			got := ask(row.kind, row.name, nil)
			if got.ErrorCode != int16(row.code) || *got.ErrorMessage != row.message || len(got.Configs) != 0 || got.ResourceType != row.kind {
				t.Errorf("%d %q: %d %q", row.kind, row.name, got.ErrorCode, *got.ErrorMessage)
			}
		}
	})
}
