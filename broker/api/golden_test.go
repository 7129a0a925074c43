package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/zkpaths"
)

// exchanged is one request that a real Kafka 2.8.2 cluster of brokers 1, 2, 3 was
// sent, and its answer. $x is a name of the case (a second, new one of timeout-0 is called $again).
type exchanged struct {
	Case    string
	Step    int
	To      string
	API     string
	Version int16
	Request string
	Answer  struct{ Topics []answeredTopic }
}

type answeredTopic struct {
	Topic             string
	ErrorCode         string
	ErrorMessage      *string
	NumPartitions     int32
	ReplicationFactor int16
}

// Every CreateTopics and CreatePartitions that Kafka was asked, answered here.
func TestTopicsAsKafkaAnswered(t *testing.T) {
	raw, err := os.ReadFile("testdata/topics.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{{"$dotted", "x.y"}, {"$scored", "x_y"}, {"$", ""}} {
		raw = bytes.ReplaceAll(raw, []byte(v[0]), []byte(v[1]))
	}
	cases := map[string][]exchanged{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var x exchanged
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		cases[x.Case] = append(cases[x.Case], x)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // timeouts are waited for in virtual time
				b := goldenBench(t, name)
				for _, x := range steps {
					b.controller.active = x.To == "controller"
					if got, want := b.topicsAnswer(t, x), x.want(); got != want {
						t.Errorf("step %d, version %d, %s\ngot  %s\nwant %s", x.Step, x.Version, x.Request, got, want)
					}
				}
				b.d.Admin.Stop()
			})
		})
	}
}

// goldenBench has three brokers, the topics that the case begins with, and a
// controller that elects the first living replica of all that is written.
func goldenBench(t *testing.T, name string) *bench {
	b := newBench(t)
	u := metadata.Update{Partitions: map[topic.Partition]metadata.PartitionState{
		{Topic: topic.ConsumerOffsets, Partition: 0}: {Leader: 1},
		{Topic: "t", Partition: 0}:                   {Leader: metadata.LeaderDuringDelete},
		{Topic: "t", Partition: 1}:                   {Leader: metadata.LeaderDuringDelete},
		{Topic: "t", Partition: 2}:                   {Leader: metadata.LeaderDuringDelete},
	}}
	for _, id := range []int32{1, 2, 3} {
		u.Brokers = append(u.Brokers, metadata.Broker{ID: id})
	}
	b.store.nodes[zkpaths.Broker(3)] = b.store.nodes[zkpaths.Broker(1)]
	b.d.Metadata.Apply(u)
	b.store.written = func(p string, data []byte) {
		a, err := zkpaths.DecodeTopicAssignment(data)
		if path.Dir(p) != zkpaths.Topics || err != nil {
			return
		}
		u := metadata.Update{Brokers: u.Brokers, Partitions: map[topic.Partition]metadata.PartitionState{}}
		for n, replicas := range a.Partitions {
			if i := slices.IndexFunc(replicas, func(id int32) bool { return id >= 1 && id <= 3 }); i >= 0 {
				u.Partitions[topic.Partition{Topic: path.Base(p), Partition: n}] = metadata.PartitionState{Leader: replicas[i]}
			}
		}
		b.d.Metadata.Apply(u)
	}
	start := map[int32][]int32{0: {1, 2}, 1: {2, 3}}
	if strings.Contains(name, "validate-only-not-controller") {
		start = map[int32][]int32{0: {1, 2, 3}}
	}
	if strings.HasPrefix(name, "createpartitions/") {
		if err := b.store.CreateRecursive(t.Context(), zkpaths.Topic("t"), zkpaths.TopicAssignment{Partitions: start}.Encode()); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// topicsAnswer sends the request and writes the answer, sorted.
func (b *bench) topicsAnswer(t *testing.T, x exchanged) string {
	t.Helper()
	var got []answeredTopic
	name := func(code int16) string { return kafkaerr.Code(code).Name() }
	switch x.API {
	case "CreateTopics":
		req := kmsg.NewPtrCreateTopicsRequest()
		if err := json.Unmarshal([]byte(x.Request), req); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.ask(t, req, x.Version).(*kmsg.CreateTopicsResponse).Topics {
			a := answeredTopic{Topic: r.Topic, ErrorCode: name(r.ErrorCode), ErrorMessage: r.ErrorMessage}
			if x.Version >= 5 {
				a.NumPartitions, a.ReplicationFactor = r.NumPartitions, r.ReplicationFactor
			}
			got = append(got, a)
		}
	default:
		req := kmsg.NewPtrCreatePartitionsRequest()
		if err := json.Unmarshal([]byte(x.Request), req); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.ask(t, req, x.Version).(*kmsg.CreatePartitionsResponse).Topics {
			got = append(got, answeredTopic{Topic: r.Topic, ErrorCode: name(r.ErrorCode), ErrorMessage: r.ErrorMessage})
		}
	}
	return write(got)
}

func (x exchanged) want() string { return write(x.Answer.Topics) }

// write sorts the topics. Texts that show Scala's collections are not compared.
func write(topics []answeredTopic) string {
	var out []string
	for _, a := range topics {
		message := "null"
		if a.ErrorMessage != nil {
			message = fmt.Sprintf("%q", *a.ErrorMessage)
			if strings.HasPrefix(*a.ErrorMessage, "Duplicate replica assignment found") {
				message = "(a collection)"
			}
		}
		out = append(out, fmt.Sprintf("%q %s %s %d %d", a.Topic, a.ErrorCode, message, a.NumPartitions, a.ReplicationFactor))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
