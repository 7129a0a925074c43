package answers

import (
	"fmt"
	"math/rand"
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
)

// A testCase asks some questions; the answers are recorded in order, as the capture did.
type testCase struct {
	name string
	run  func(t *T)
}

var cases []testCase

func add(name string, run func(t *T)) { cases = append(cases, testCase{name, run}) }

// versions adds f once per version 0..max as case versions/API/vN.
func versions(api string, max int16, f func(t *T, v int16)) {
	for v := int16(0); v <= max; v++ {
		add(fmt.Sprintf("versions/%s/v%d", api, v), func(t *T) { f(t, v) })
	}
}

// T is one running case.
type T struct {
	tb        *testing.T
	env       *environment
	vars      map[string]string // placeholder (without $) -> value used on the wire
	bin       map[string][]byte // description -> record bytes or other blobs
	lines     []exchange
	want      []exchange // what Kafka answered
	keepOrder bool       // the order of arrays is part of the answer
	goesOn    bool       // though an API is refused that kz does not serve at all
}

// stopped is thrown when a case cannot go on because what it prepares is refused.
type stopped struct{ why string }

func (t *T) stop(why string) { panic(stopped{why}) }

// runCase returns what was recorded, and why the case ended early if it did.
func (e *environment) runCase(tb *testing.T, c testCase, want []exchange) (lines []exchange, why string) {
	t := &T{tb: tb, env: e, want: want, vars: map[string]string{}, bin: map[string][]byte{}}
	defer func() {
		if r := recover(); r != nil {
			s, ok := r.(stopped)
			if !ok {
				panic(r)
			}
			lines, why = t.lines, s.why
		}
	}()
	c.run(t)
	return t.lines, ""
}

// line records one exchange.
func (t *T) line(x exchange) {
	x.Step = len(t.lines) + 1
	t.lines = append(t.lines, x)
}

// waitFor is how long to wait for the next answer, where the capture waited for a time of its own: so
// long if Kafka was silent, else until the answer is here.
func (t *T) waitFor(captured time.Duration) time.Duration {
	if i := len(t.lines); i < len(t.want) {
		if s, ok := t.want[i].Answer.(string); ok && strings.HasPrefix(s, "no answer within ") {
			return captured
		}
	}
	return patience
}

// note records something about an exchange that is not an answer: a time, a count.
func (t *T) note(to, api string, version int16, request string, answer any) {
	x := exchange{To: to, API: api, Version: version, Request: request, Answer: answer}
	if api == "timing" {
		x.Version = nil
	}
	t.line(x)
}

func randomText(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.Intn(len(letters))]
	}
	return string(b)
}

// unique makes a name that no other case and no other run uses, and remembers it as $key.
func (t *T) unique(key string) string {
	t.vars[key] = "ans-" + t.env.run + "-" + randomText(4) + "-" + key
	return t.vars[key]
}

func (t *T) set(key string, v any) { t.vars[key] = fmt.Sprint(v) }

// subst puts the case's names into a request.
func (t *T) subst(s string) string {
	for _, k := range t.names(func(k string) string { return k }) {
		s = strings.ReplaceAll(s, "$"+k, t.vars[k])
	}
	return s
}

var (
	uuidRE  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	rangeRE = regexp.MustCompile(`within \[\d+, \d+\]`)
	dirRE   = regexp.MustCompile(`/[A-Za-z0-9/._-]*/broker-[0-9]+`)
)

// plain replaces what differs from run to run by the placeholders of the case.
func (t *T) plain(s string) string {
	for _, k := range t.names(func(k string) string { return t.vars[k] }) {
		if len(t.vars[k]) >= 6 {
			s = strings.ReplaceAll(s, t.vars[k], "$"+k)
		}
	}
	s = uuidRE.ReplaceAllString(s, "UUID")
	s = rangeRE.ReplaceAllString(s, "within [TIME, TIME]")
	s = dirRE.ReplaceAllString(s, "DIR")
	for id, hp := range t.env.address {
		s = strings.ReplaceAll(s, hp, fmt.Sprintf("HOST-%d:PORT-%d", id, id))
	}
	return s
}

// names is the placeholders, longest text first, so that $t does not eat a part of $topic.
func (t *T) names(text func(string) string) []string {
	keys := make([]string, 0, len(t.vars))
	for k := range t.vars {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := len(text(keys[i])), len(text(keys[j])); a != b {
			return a > b
		}
		return keys[i] < keys[j]
	})
	return keys
}

func (t *T) until(what string, ok func() bool) {
	t.tb.Helper()
	clustertest.Eventually(t.tb, patience, what, func() (bool, string) { return ok(), "not yet" })
}

// topic creates a topic with the unique name $key and waits until every broker knows its leaders.
// The assignment is one list of replicas per partition; nil means one partition on 1,2,3.
func (t *T) topic(key string, assignment [][]int32, configs ...string) string {
	name := t.unique(key)
	if assignment == nil {
		assignment = [][]int32{{1, 2, 3}}
	}
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for p, replicas := range assignment {
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(p), Replicas: replicas})
	}
	for _, kv := range append(configs, "retention.ms=-1") {
		k, v, _ := strings.Cut(kv, "=")
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: &v})
	}
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Topics, r.TimeoutMillis = []kmsg.CreateTopicsRequestTopic{topic}, 20000
	resp, err := t.env.ask(t.env.controller(), r, 4)
	if err != nil {
		t.tb.Fatal(err)
	}
	if x := resp.(*kmsg.CreateTopicsResponse).Topics[0]; x.ErrorCode != 0 {
		t.stop(fmt.Sprintf("creating a topic with %s: %s", strings.Join(configs, ", "), errorName(x.ErrorCode)))
	}
	t.await(name, len(assignment))
	return name
}

// await waits until every broker knows n partitions of the topic, with leaders.
func (t *T) await(name string, n int) {
	t.tb.Helper()
	for id := range t.env.address {
		t.until(fmt.Sprintf("broker %d to know the leaders of %s", id, name), func() bool {
			m := kmsg.NewPtrMetadataRequest()
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = &name
			m.Topics = []kmsg.MetadataRequestTopic{topic}
			resp, err := t.env.ask(id, m, 4)
			if err != nil {
				return false
			}
			x := resp.(*kmsg.MetadataResponse).Topics[0]
			for _, p := range x.Partitions {
				if p.ErrorCode != 0 {
					return false
				}
			}
			return x.ErrorCode == 0 && len(x.Partitions) == n
		})
	}
}

// produce appends with acks=all, without recording anything.
func (t *T) produce(topic string, partition int32, records []byte) {
	t.tb.Helper()
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = -1, 10000
	p := kmsg.ProduceRequestTopicPartition{Partition: partition, Records: records}
	r.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
	resp, err := t.env.ask(1, r, 7)
	if err != nil {
		t.tb.Fatal(err)
	}
	if x := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]; x.ErrorCode != 0 {
		t.stop("preparing records: " + errorName(x.ErrorCode))
	}
}

// settle waits until the high watermark of partition 0 of $t has reached the end of the log (after acks 0 or 1).
func (t *T) settle() {
	offset := func(replica string) int64 {
		r := t.conn("leader").send("ListOffsets", 2, `{"ReplicaID":`+replica+`,"Topics":[{"Topic":"$t","Partitions":[{"Partition":0,"Timestamp":-1}]}]}`).quiet().(*kmsg.ListOffsetsResponse)
		return r.Topics[0].Partitions[0].Offset
	}
	t.until("the high watermark to reach the log end", func() bool { return offset("-1") == offset("-2") })
}

func ptr[X any](x X) *X { return &x }
