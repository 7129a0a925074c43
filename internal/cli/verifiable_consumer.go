package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"kz/client/consumer"
	"kz/internal/topic"
)

var verifiableConsumerArguments = []argument{
	{name: "-h", help: "print this text"},
	{name: "--help", help: "print this text"},
	{name: "--topic", arg: "TOPIC", required: true, help: "topic to read"},
	{name: "--group-id", arg: "GROUP_ID", required: true, help: "consumer group"},
	{name: "--bootstrap-server", arg: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "brokers to ask first; this or --broker-list"},
	{name: "--broker-list", arg: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "older name of --bootstrap-server"},
	{name: "--group-instance-id", arg: "GROUP_INSTANCE_ID", help: "make it a static member"},
	{name: "--max-messages", arg: "MAX-MESSAGES", help: "so many; until it is stopped if negative (default: -1)"},
	{name: "--session-timeout", arg: "TIMEOUT_MS", help: "session.timeout.ms (default: 30000)"},
	{name: "--verbose", help: "print each record"},
	{name: "--enable-autocommit", help: "commit automatically instead of after each poll"},
	{name: "--reset-policy", arg: "RESETPOLICY", help: "earliest, latest or none (default: earliest)"},
	{name: "--assignment-strategy", arg: "ASSIGNMENTSTRATEGY", help: "assignor, by name or Java's class (default: range)"},
	{name: "--consumer.config", arg: "CONFIG_FILE", help: "consumer configs from a properties file; weaker than the flags"},
}

type topicPartitionJSON struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

type partitionsEvent struct {
	eventHead
	Partitions []topicPartitionJSON `json:"partitions"`
}

type consumedOf struct {
	topicPartitionJSON
	Count     int64 `json:"count"`
	MinOffset int64 `json:"minOffset"`
	MaxOffset int64 `json:"maxOffset"`
}

type recordsConsumed struct {
	eventHead
	Count      int64        `json:"count"` // of the whole poll, also beyond --max-messages
	Partitions []consumedOf `json:"partitions"`
}

type committedOf struct {
	topicPartitionJSON
	Offset int64 `json:"offset"`
}

type offsetsCommitted struct {
	eventHead
	Offsets []committedOf `json:"offsets"`
	Error   string        `json:"error,omitempty"`
	Success bool          `json:"success"`
}

type recordData struct {
	eventHead
	Key       *string `json:"key"`
	Value     *string `json:"value"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    int64   `json:"offset"`
}

// verifiableConsumer reads as a member of a group and tells everything that happens.
type verifiableConsumer struct {
	e       *env
	log     *eventLog
	c       *consumer.Consumer
	topic   string
	max     int64
	read    int64
	verbose bool
	auto    bool
}

// runVerifiableConsumer is kafka-verifiable-consumer.sh. Mirrors VerifiableConsumer.
func runVerifiableConsumer(ctx context.Context, e *env, args []string) error {
	a, err := parseVerifiable(ctx, e, "verifiable-consumer", verifiableConsumerArguments, args)
	if err != nil || a == nil {
		return err
	}
	v := &verifiableConsumer{e: e, log: &eventLog{w: e.stdout, now: time.Now}, topic: a.str("--topic", ""), max: -1, verbose: a.has("--verbose"), auto: a.has("--enable-autocommit")}
	session := int64(30000)
	if err := a.numbers(map[string]*int64{"--max-messages": &v.max, "--session-timeout": &session}); err != nil {
		return err
	}
	reset := a.str("--reset-policy", "earliest")
	if !slices.Contains([]string{"latest", "earliest", "none"}, reset) {
		return exitf(exitFailed, "org.apache.kafka.common.config.ConfigException: Invalid value %s for configuration auto.offset.reset: String must be one of: latest, earliest, none", reset)
	}
	props, err := a.properties("--consumer.config", map[string]string{})
	if err != nil {
		return err
	}
	group := a.str("--group-id", "")
	maps.Copy(props, map[string]string{
		"bootstrap.servers": a.str("--bootstrap-server", a.str("--broker-list", "")), "group.id": group, "auto.offset.reset": reset,
		"session.timeout.ms": strconv.FormatInt(session, 10), "enable.auto.commit": strconv.FormatBool(v.auto),
		"partition.assignment.strategy": a.str("--assignment-strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
	})
	if a.has("--group-instance-id") {
		props["group.instance.id"] = a.str("--group-instance-id", "")
	}
	if props["client.id"] == "" {
		props["client.id"] = "consumer-" + group + "-1"
	}
	cfg, unknown, err := consumer.FromProperties(props)
	if err != nil {
		return exitf(exitFailed, "kz verifiable-consumer: %v", err)
	}
	warnUnknown(e, unknown)
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	v.c = consumer.New(cfg)
	ctx, cancel := e.whileRead(ctx)
	defer cancel()
	return v.run(ctx)
}

// run reads until enough is read, ctx ends or reading fails; what failed is told on
// stderr, and the exit code is 0, as in Kafka.
func (v *verifiableConsumer) run(ctx context.Context) error {
	v.log.print(v.log.head("startup_complete"))
	err := v.c.Subscribe([]string{v.topic}, consumer.Listener{
		Assigned: v.tell("partitions_assigned"), Revoked: v.tell("partitions_revoked"), Lost: v.tell("partitions_revoked"),
	})
	for err == nil && ctx.Err() == nil && (v.max < 0 || v.read < v.max) {
		var got []consumer.Fetched
		if got, err = v.c.Poll(ctx); err == nil && len(got) > 0 {
			err = v.received(ctx, got)
		}
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(v.e.stderr, "[%s] ERROR Error during processing, terminating consumer process: %s\n", time.Now().Format("2006-01-02 15:04:05,000"), javaTextAbout(v.topic, err))
	}
	v.e.closing("verifiable-consumer", v.c)
	v.log.print(v.log.head("shutdown_complete"))
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted}
	}
	return nil
}

// tell is a rebalance listener that prints.
func (v *verifiableConsumer) tell(name string) func([]topic.Partition) {
	return func(parts []topic.Partition) {
		event := partitionsEvent{v.log.head(name), []topicPartitionJSON{}}
		for _, tp := range slices.SortedFunc(slices.Values(parts), topic.Partition.Compare) {
			event.Partitions = append(event.Partitions, topicPartitionJSON{tp.Topic, tp.Partition})
		}
		v.log.print(event)
	}
}

// received tells what a poll gave, up to the limit, and commits it.
func (v *verifiableConsumer) received(ctx context.Context, got []consumer.Fetched) error {
	event := recordsConsumed{Partitions: []consumedOf{}}
	offsets := consumer.Offsets{}
	for _, f := range got {
		of := consumedOf{topicPartitionJSON: topicPartitionJSON{f.Partition.Topic, f.Partition.Partition}}
		for r, err := range f.Records() {
			if err != nil {
				return err
			}
			event.Count++
			if v.max >= 0 && v.read >= v.max {
				continue
			}
			v.read++
			if of.Count == 0 {
				of.MinOffset = r.Offset
			}
			of.Count, of.MaxOffset = of.Count+1, r.Offset
			if v.verbose {
				v.log.print(recordData{v.log.head("record_data"), textOf(r.Key), textOf(r.Value), f.Partition.Topic, f.Partition.Partition, r.Offset})
			}
		}
		f.Release()
		if of.Count > 0 {
			event.Partitions = append(event.Partitions, of)
			offsets[f.Partition] = consumer.Offset{At: of.MaxOffset + 1, LeaderEpoch: -1}
		}
	}
	event.eventHead = v.log.head("records_consumed")
	v.log.print(event)
	if !v.auto {
		v.commit(ctx, offsets)
	}
	return nil
}

func (v *verifiableConsumer) commit(ctx context.Context, offsets consumer.Offsets) {
	err := v.c.CommitOffsets(ctx, offsets)
	event := offsetsCommitted{eventHead: v.log.head("offsets_committed"), Offsets: []committedOf{}, Success: err == nil}
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), topic.Partition.Compare) {
		event.Offsets = append(event.Offsets, committedOf{topicPartitionJSON{tp.Topic, tp.Partition}, offsets[tp].At})
	}
	if err != nil {
		event.Error = javaMessageAbout(v.topic, err)
	}
	v.log.print(event)
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}
