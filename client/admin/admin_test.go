package admin_test

import (
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/client/admin"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/link"
)

// bubble runs a test against brokers 1..n in virtual time.
func bubble(t *testing.T, n int32, run func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin)) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		c, err := fakebroker.New(network, n)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cfg := client.DefaultConfig(c.Addr(1))
		cfg.Network = network
		a := admin.New(cfg)
		defer a.Close()
		run(t, c, a)
	})
}

func createAnswer(code kafkaerr.Code, message *string) kmsg.Response {
	resp := kmsg.NewPtrCreateTopicsResponse()
	r := kmsg.NewCreateTopicsResponseTopic()
	r.Topic, r.ErrorCode, r.ErrorMessage = "t", int16(code), message
	resp.Topics = append(resp.Topics, r)
	return resp
}

// Ref: Kafka 2.8 KafkaAdminClient.createTopics (what is retried), Errors.java (texts).
func TestCreateTopicAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		code    kafkaerr.Code
		message *string
		want    string
	}{
		{"success", kafkaerr.None, nil, ""},
		{"the broker's message comes first", kafkaerr.TopicAlreadyExists, kmsg.StringPtr("Topic 't' already exists."), "Topic 't' already exists."},
		{"without a message: Java's text", kafkaerr.RequestTimedOut, nil, "The request timed out."},
		{"an empty message is none", kafkaerr.InvalidTopicException, kmsg.StringPtr(""), "The request attempted to perform an operation on an invalid topic."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
				asked := 0
				c.Handle(kmsg.CreateTopics, func(int32, kmsg.Request) kmsg.Response {
					asked++
					return createAnswer(tt.code, tt.message)
				})
				err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "t", Partitions: 1, ReplicationFactor: 1})
				if asked != 1 {
					t.Errorf("asked %d times", asked)
				}
				if tt.want == "" && err == nil {
					return
				}
				if err == nil || err.Error() != tt.want || !errors.Is(err, tt.code) {
					t.Errorf("got %v; want %q carrying %v", err, tt.want, tt.code)
				}
			})
		})
	}
}

// NOT_CONTROLLER makes the client ask for metadata and go to the new controller.
func TestCreateTopicFollowsTheController(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
		var asked []int32
		c.Handle(kmsg.CreateTopics, func(node int32, _ kmsg.Request) kmsg.Response {
			asked = append(asked, node)
			if node == 1 {
				c.SetController(2)
				return createAnswer(kafkaerr.NotController, nil)
			}
			return createAnswer(kafkaerr.None, nil)
		})
		if err := a.CreateTopic(t.Context(), admin.NewTopic{Name: "t", Partitions: 1, ReplicationFactor: 1}); err != nil {
			t.Fatal(err)
		}
		if len(asked) != 2 || asked[1] != 2 {
			t.Errorf("asked %v, want 1 then 2", asked)
		}
	})
}

// A call that nobody answers ends after default.api.timeout.ms with Kafka's words.
func TestCallTimesOut(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
		c.Handle(kmsg.Metadata, func(int32, kmsg.Request) kmsg.Response { return fakebroker.Close })
		begin := time.Now()
		_, err := a.Topics(t.Context(), "listTopics", nil)
		pattern := regexp.MustCompile(`^Call\(callName=listTopics, deadlineMs=\d+, tries=\d+, nextAllowedTryMs=\d+\) timed out at \d+ after \d+ attempt\(s\)$`)
		if err == nil || !pattern.MatchString(err.Error()) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("took %v, want about 60 s", took)
		}
	})
}

// A cluster that cannot list reassignments has none, so that a description goes on.
func TestReassignmentsOfAnOlderCluster(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
		got, err := a.Reassignments(t.Context(), map[string][]int32{"t": {0}})
		if err != nil || len(got) != 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestTopicConfigsShowWhereAValueComesFrom(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
		c.Handle(kmsg.DescribeConfigs, func(_ int32, req kmsg.Request) kmsg.Response {
			resp := kmsg.NewPtrDescribeConfigsResponse()
			r := kmsg.NewDescribeConfigsResponseResource()
			r.ResourceName = req.(*kmsg.DescribeConfigsRequest).Resources[0].ResourceName
			for _, s := range []kmsg.ConfigSource{kmsg.ConfigSourceDefaultConfig, kmsg.ConfigSourceStaticBrokerConfig, kmsg.ConfigSourceDynamicTopicConfig} {
				e := kmsg.NewDescribeConfigsResponseResourceConfig()
				e.Name, e.Value, e.Source = s.String(), kmsg.StringPtr("1"), s
				r.Configs = append(r.Configs, e)
			}
			resp.Resources = append(resp.Resources, r)
			return resp
		})
		got, err := a.TopicConfigs(t.Context(), []string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []bool{true, false, false} { // only Kafka's own default is one
			if e := got["t"][i]; e.Default != want {
				t.Errorf("%s: default %v, want %v", e.Source, e.Default, want)
			}
		}
	})
}
