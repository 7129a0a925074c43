package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"kz/broker/config"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// topicService is where topics live: behind a broker, or in ZooKeeper.
// Mirrors TopicCommand.TopicService.
type topicService interface {
	// names lists all topics, sorted; internal ones too.
	names(ctx context.Context) ([]string, error)
	// note is what --list adds behind a name, or "".
	note(ctx context.Context, name string) (string, error)
	create(ctx context.Context, t newTopic) error
	// alter says itself what it did, since the two differ in that.
	alter(ctx context.Context, name string, t newTopic) error
	// describe gives, beside an error about some of the topics, the others.
	describe(ctx context.Context, names []string) (described, error)
	close()
}

// newTopic is what the flags say about a topic. Mirrors CommandTopicPartition.
type newTopic struct {
	name              string
	partitions        int32 // -1 not given
	replicationFactor int32 // -1 not given
	assignment        [][]int32
	add               map[string]string
	remove            []string
	rackAware         bool
}

// described is a description of topics, and the brokers that live.
type described struct {
	topics []topicInfo
	live   map[int32]bool
}

type topicInfo struct {
	name       string
	configs    []setting // overrides, in the order they are printed
	minISR     int       // -1 unknown
	marked     bool      // for deletion
	factor     int
	partitions []partitionInfo
}

type setting struct{ key, value string }

type partitionInfo struct {
	id               int32
	leader           int32 // -1 none
	replicas, isr    []int32
	adding, removing []int32 // both nil: no reassignment
	reassigned       bool
	factor           int // replicas without those being added
}

// readNewTopic reads and checks the flags in Kafka's order.
func readNewTopic(e *env, o *options) (newTopic, error) {
	t := newTopic{partitions: -1, replicationFactor: -1, rackAware: !o.has("disable-rack-aware")}
	var err error
	if t.name, err = o.str("topic"); err != nil {
		return t, err
	}
	for _, f := range []struct {
		name string
		to   *int32
	}{{"partitions", &t.partitions}, {"replication-factor", &t.replicationFactor}} {
		if !o.has(f.name) {
			continue
		}
		n, err := o.number(f.name, 32)
		if err != nil {
			return t, err
		}
		*f.to = int32(n)
	}
	if t.assignment, err = readAssignment(o); err != nil {
		return t, err
	}
	if t.add, err = readConfigs(e, o.all("config")); err != nil {
		return t, err
	}
	for _, k := range o.all("delete-config") {
		k = strings.TrimSpace(k)
		if _, ok := config.LookupTopicKey(k); !ok {
			return t, kafkaerr.New(kafkaerr.InvalidConfig, "Unknown topic config name: "+k)
		}
		t.remove = append(t.remove, k)
	}
	return t, nil
}

// readAssignment reads 1:2,2:3. Mirrors TopicCommand.parseReplicaAssignment.
func readAssignment(o *options) ([][]int32, error) {
	s, err := o.str("replica-assignment")
	if err != nil || s == "" {
		return nil, err
	}
	var out [][]int32
	for i, part := range strings.Split(s, ",") {
		var replicas []int32
		var twice []string
		for _, b := range strings.Split(part, ":") {
			b = strings.TrimSpace(b)
			id, err := strconv.ParseInt(b, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("For input string: %q", b)
			}
			for _, r := range replicas {
				if r == int32(id) {
					twice = append(twice, b)
					break
				}
			}
			replicas = append(replicas, int32(id))
		}
		if twice != nil {
			return nil, fmt.Errorf("Partition replica lists may not contain duplicate entries: %s", strings.Join(twice, ","))
		}
		out = append(out, replicas)
		if len(replicas) != len(out[0]) {
			return nil, fmt.Errorf("Partition %d has different replication factor: %s", i, joinIDs(replicas))
		}
	}
	return out, nil
}

// readConfigs reads key=value pairs and checks them as a broker would.
func readConfigs(e *env, pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range pairs {
		p := strings.Split(strings.TrimRight(kv, "= \t"), "=")
		if len(p) != 2 {
			return nil, errors.New(`requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".`)
		}
		out[strings.TrimSpace(p[0])] = strings.TrimSpace(p[1])
	}
	if err := config.ValidateTopicOverrides(out); err != nil {
		return nil, err
	}
	if v, ok := out["message.format.version"]; ok {
		fmt.Fprintf(e.stdout, "WARNING: The configuration message.format.version=%s is specified. This configuration will be ignored if the version is newer than the inter.broker.protocol.version specified in the broker.\n", v)
	}
	return out, nil
}

// matching lists the topics that --topic means, and fails when it means none.
func matching(ctx context.Context, o *options, s topicService, mustExist bool) ([]string, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	pattern, err := o.str("topic")
	if err != nil {
		return nil, err
	}
	var re *regexp.Regexp
	if o.has("topic") {
		if re, err = topicPattern(pattern); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, n := range names {
		if (re == nil || re.MatchString(n)) && !(topic.IsInternal(n) && o.has("exclude-internal")) {
			out = append(out, n)
		}
	}
	if o.has("topic") && mustExist && len(out) == 0 {
		return nil, fmt.Errorf("Topic '%s' does not exist as expected", pattern)
	}
	return out, nil
}

var quotes = regexp.MustCompile(`^["']+|["']+$`)

// topicPattern is Kafka's include list: commas separate alternatives, blanks and
// outer quotes do not count, and the whole name must match.
func topicPattern(s string) (*regexp.Regexp, error) {
	p := strings.NewReplacer(",", "|", " ", "").Replace(strings.TrimSpace(s))
	p = quotes.ReplaceAllString(p, "")
	re, err := regexp.Compile("^(?:" + p + ")$")
	if err != nil {
		return nil, fmt.Errorf("%s is an invalid regex.", p)
	}
	return re, nil
}

func joinIDs(ids []int32) string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = strconv.Itoa(int(id))
	}
	return strings.Join(s, ",")
}
