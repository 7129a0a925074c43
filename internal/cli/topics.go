package cli

import (
	"context"
	"fmt"
	"time"

	"kz/broker/config"
	"kz/internal/kafkaerr"
)

var topicsOptions = []option{
	{name: "bootstrap-server", arg: "host:port,...", help: "brokers to ask first; without it the cluster of kz up, if one runs"},
	{name: "zookeeper", arg: "host:port,.../chroot", help: "deprecated: work on ZooKeeper directly instead of through a broker"},
	{name: "command-config", arg: "file", help: "properties file for the admin client"},
	{name: "list", help: "action: print topic names"},
	{name: "create", help: "action: create a topic"},
	{name: "describe", help: "action: show partitions, leaders, replicas"},
	{name: "alter", help: "action: raise the number of partitions (with --zookeeper also configs)"},
	{name: "delete", help: "action: delete topics (not served yet)"},
	{name: "topic", arg: "topic", help: "topic name; a regular expression for list, describe and alter"},
	{name: "partitions", arg: "count", help: "partitions to create or to grow to; the broker's default if absent on create"},
	{name: "replication-factor", arg: "count", help: "replicas per partition; the broker's default if absent"},
	{name: "replica-assignment", arg: "1:2,2:3,...", help: "replicas of each partition, the first is preferred as leader"},
	{name: "config", arg: "key=value", help: "topic config, may be repeated; through a broker only on create"},
	{name: "delete-config", arg: "key", help: "config override to remove on alter; only with --zookeeper"},
	{name: "if-exists", help: "alter, describe: no error when the topic is missing"},
	{name: "if-not-exists", help: "create: no error when the topic exists"},
	{name: "disable-rack-aware", help: "assign replicas without looking at racks (with --zookeeper)"},
	{name: "exclude-internal", help: "list, describe: leave internal topics out"},
	{name: "topics-with-overrides", help: "describe only topics that have config overrides (header line only)"},
	{name: "unavailable-partitions", help: "describe only partitions whose leader is missing"},
	{name: "under-replicated-partitions", help: "describe only partitions with an ISR smaller than the replica list"},
	{name: "under-min-isr-partitions", help: "describe only partitions with an ISR smaller than min.insync.replicas"},
	{name: "at-min-isr-partitions", help: "describe only partitions with an ISR equal to min.insync.replicas"},
	{name: "force", help: "accepted for old scripts; there is nothing to confirm"},
}

// runTopics is kafka-topics.sh. Mirrors kafka.admin.TopicCommand.
func runTopics(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("topics", topicsOptions, args)
	if err != nil {
		return err
	}
	o.fill(ctx, "bootstrap-server", "zookeeper")
	if err := checkTopics(e, o, args); err != nil {
		return err
	}
	s, err := openTopics(ctx, e, o)
	if err != nil {
		return err
	}
	defer s.close()
	switch {
	case o.has("create"):
		err = createTopic(ctx, e, o, s)
	case o.has("alter"):
		err = alterTopics(ctx, e, o, s)
	case o.has("list"):
		err = listTopics(ctx, e, o, s)
	default:
		err = describeTopics(ctx, e, o, s)
	}
	if ctx.Err() != nil && err != nil {
		return &exitError{code: exitInterrupted}
	}
	return topicsFailed(e, err)
}

// topicsFailed prints an error where Kafka prints it: the message on stdout, the
// exception, which here is Kafka's name of the code, as a log line on stderr.
func topicsFailed(e *env, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if m := kafkaerr.MessageOf(err); m != "" {
		text = m
	}
	fmt.Fprintf(e.stdout, "Error while executing topic command : %s\n", text)
	if code := kafkaerr.CodeOf(err); code != kafkaerr.UnknownServerError {
		fmt.Fprintf(e.stderr, "[%s] ERROR %s: %s (kz topics)\n", time.Now().Format("2006-01-02 15:04:05,000"), code.Name(), text)
	}
	return &exitError{code: exitFailed}
}

var topicActions = []string{"list", "describe", "create", "alter", "delete"}
var reportFlags = []string{"under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions"}

// checkTopics is TopicCommandOptions.checkArgs, in its order.
func checkTopics(e *env, o *options, args []string) error {
	if err := o.helpOrVersion(e, args, "This tool helps to create, describe, or change a topic."); err != nil {
		return err
	}
	actions := 0
	for _, a := range topicActions {
		if o.has(a) {
			actions++
		}
	}
	if actions != 1 {
		return o.die(e, "Command must include exactly one action: --list, --describe, --create, --alter or --delete")
	}
	if o.has("bootstrap-server") == o.has("zookeeper") {
		text := "Only one of --bootstrap-server or --zookeeper must be specified"
		if !o.has("zookeeper") {
			text += "\n" + startOne("--bootstrap-server host:port")
		}
		return exitf(exitFailed, "%s", text)
	}
	if err := checkTopicsRequired(e, o); err != nil {
		return err
	}
	if err := checkTopicsExclusive(e, o); err != nil {
		return err
	}
	if o.has("delete") {
		return exitf(exitFailed, "kz topics: --delete is refused: kz does not serve topic deletion yet. The topic is unchanged.")
	}
	_, err := o.json()
	return err
}

func checkTopicsRequired(e *env, o *options) error {
	if o.has("describe") && o.has("if-exists") || !o.has("list") && !o.has("describe") {
		if err := o.require(e, "topic"); err != nil {
			return err
		}
	}
	if o.has("create") && !o.has("replica-assignment") && o.has("zookeeper") {
		if err := o.require(e, "partitions", "replication-factor"); err != nil {
			return err
		}
	}
	if o.has("bootstrap-server") && o.has("alter") {
		if o.has("config") {
			return o.die(e, `Option combination "[bootstrap-server],[config]" can't be used with option "[alter]" (the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)`)
		}
		return o.require(e, "partitions")
	}
	return nil
}

func checkTopicsExclusive(e *env, o *options) error {
	reports := func(self string, extra ...string) []string {
		out := actionsBut("describe")
		for _, r := range reportFlags {
			if r != self {
				out = append(out, r)
			}
		}
		return append(out, extra...)
	}
	rules := []struct {
		used   string
		others []string
	}{
		{"config", actionsBut("alter", "create")},
		{"delete-config", append(actionsBut("alter"), "bootstrap-server")},
		{"partitions", actionsBut("alter", "create")},
		{"replication-factor", actionsBut("create")},
		{"replica-assignment", actionsBut("create", "alter")},
		{"under-replicated-partitions", reports("under-replicated-partitions", "topics-with-overrides")},
		{"under-min-isr-partitions", reports("under-min-isr-partitions", "topics-with-overrides", "zookeeper")},
		{"at-min-isr-partitions", reports("at-min-isr-partitions", "topics-with-overrides", "zookeeper")},
		{"unavailable-partitions", reports("unavailable-partitions", "topics-with-overrides")},
		{"topics-with-overrides", reports("")},
		{"if-exists", actionsBut("alter", "delete", "describe")},
		{"if-not-exists", actionsBut("create")},
		{"exclude-internal", actionsBut("list", "describe")},
	}
	for i, r := range rules {
		if i == 5 && o.has("create") { // Kafka checks this one between the fifth and the sixth
			if err := o.exclude(e, "replica-assignment", "partitions", "replication-factor"); err != nil {
				return err
			}
		}
		if err := o.exclude(e, r.used, r.others...); err != nil {
			return err
		}
	}
	return nil
}

func actionsBut(allowed ...string) []string {
	var out []string
	for _, a := range topicActions {
		keep := true
		for _, b := range allowed {
			keep = keep && a != b
		}
		if keep {
			out = append(out, a)
		}
	}
	return out
}

// openTopics connects to where the topics are.
func openTopics(ctx context.Context, e *env, o *options) (topicService, error) {
	props := map[string]string{}
	if o.has("command-config") {
		file, err := o.str("command-config")
		if err == nil {
			props, err = config.ReadProperties(file)
		}
		if err != nil {
			return nil, exitf(exitFailed, "kz topics: --command-config: %v", err)
		}
	}
	if o.has("zookeeper") {
		connect, err := o.str("zookeeper")
		if err != nil {
			return nil, exitf(exitFailed, "%v", err)
		}
		return openZkTopics(ctx, e, connect)
	}
	servers, err := o.str("bootstrap-server")
	if err != nil {
		return nil, exitf(exitFailed, "%v", err)
	}
	props["bootstrap.servers"] = servers
	return openBrokerTopics(e, props)
}
