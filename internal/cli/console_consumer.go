package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"kz/client/consumer"
	"kz/internal/record"
	"kz/internal/topic"
)

var consoleConsumerOptions = []option{
	{name: "bootstrap-server", arg: "host:port,...", help: "brokers to ask first"},
	{name: "zookeeper", arg: "host:port,...", help: "read as the consumer of 0.8 does, which finds brokers, members and offsets in ZooKeeper; instead of --bootstrap-server"},
	{name: "topic", arg: "topic", help: "topic to read"},
	{name: "whitelist", arg: "regex", help: "topics to read, instead of --topic"},
	{name: "blacklist", arg: "regex", help: "topics not to read; with --zookeeper"},
	{name: "delete-consumer-offsets", help: "forget the group's offsets in ZooKeeper first; with --zookeeper"},
	{name: "partition", arg: "id", help: "read this partition only, without a group"},
	{name: "offset", arg: "offset", def: "latest", help: "where to start: a number, earliest or latest; needs --partition"},
	{name: "group", arg: "id", help: "consumer group; without one a group console-consumer-N that commits nothing"},
	{name: "from-beginning", help: "start at the first record where the group has no offset"},
	{name: "max-messages", arg: "count", help: "stop after so many"},
	{name: "timeout-ms", arg: "ms", help: "stop when nothing came for so long"},
	{name: "formatter", arg: "class", def: defaultFormatter, help: "how to print: Kafka's own classes, also those for __consumer_offsets"},
	{name: "property", arg: "key=value", help: "for the formatter: print.timestamp, print.partition, print.offset, print.headers, print.key, print.value, key.separator, line.separator, headers.separator, null.literal, key.deserializer, value.deserializer, headers.deserializer"},
	{name: "key-deserializer", arg: "class", help: "the same as --property key.deserializer=class"},
	{name: "value-deserializer", arg: "class", help: "the same as --property value.deserializer=class"},
	{name: "skip-message-on-error", help: "go on after a record that cannot be printed"},
	{name: "isolation-level", arg: "level", def: "read_uncommitted", help: "read_uncommitted only: kz's consumer knows no transactions"},
	{name: "consumer-property", arg: "key=value", help: "consumer config, may be repeated"},
	{name: "consumer.config", arg: "file", help: "properties file for the consumer; weaker than --consumer-property"},
	{name: "enable-systest-events", help: "say when the consumer has shut down"},
}

// consoleConsumer is what the flags say. Mirrors kafka.tools.ConsoleConsumer.
type consoleConsumer struct {
	e           *env
	cfg         consumer.Config
	old         *oldConsumer // how to read with --zookeeper
	topic       string
	whitelist   string
	partition   int32 // -1: all, as a member of a group
	from        int64 // of the one partition
	max         int64 // -1: no end
	timeout     time.Duration
	format      formatter
	skip        bool
	systest     bool
	read        int64
	unprintable error // what ended the printing
}

// runConsoleConsumer is kafka-console-consumer.sh. As with Kafka's, the exit code is 0
// also when reading failed, and 1 only when the command line or the config is wrong or
// a record cannot be printed.
func runConsoleConsumer(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("console-consumer", consoleConsumerOptions, args)
	if err != nil {
		return usageOf(e, "console-consumer", consoleConsumerOptions, err)
	}
	if err := o.helpOrVersion(e, args, "This tool helps to read data from Kafka topics and outputs it to standard output."); err != nil {
		return err
	}
	c, err := readConsoleConsumer(ctx, e, o)
	if err != nil {
		return err
	}
	ctx, cancel := e.whileRead(ctx)
	defer cancel()
	return c.run(ctx)
}

// readConsoleConsumer reads the flags, in Kafka's order of complaints.
func readConsoleConsumer(ctx context.Context, e *env, o *options) (*consoleConsumer, error) {
	c := &consoleConsumer{e: e, partition: -1, max: -1, timeout: -1, skip: o.has("skip-message-on-error"), systest: o.has("enable-systest-events")}
	if err := c.readNumbers(o); err != nil {
		return nil, err
	}
	props := keyValues(o.all("property"))
	for _, name := range []string{"key-deserializer", "value-deserializer"} {
		if class, err := o.str(name); err != nil {
			return nil, exitf(exitFailed, "%v", err)
		} else if class != "" {
			props[strings.ReplaceAll(name, "-", ".")] = class
		}
	}
	class, err := o.str("formatter")
	if err != nil {
		return nil, exitf(exitFailed, "%v", err)
	}
	if c.format, err = newFormatter(e, o.tool, class, props); err != nil {
		return nil, err
	}
	if o.has("zookeeper") {
		return c, c.readOld(e, o)
	}
	for _, name := range oldOnly {
		if o.has(name) {
			return nil, o.die(e, fmt.Sprintf("Option %s needs --zookeeper.", name))
		}
	}
	if err := c.readScope(e, o); err != nil {
		return nil, err
	}
	o.fill(ctx, "bootstrap-server")
	if err := o.require(e, "bootstrap-server"); err != nil {
		return nil, err
	}
	return c, c.readConfig(e, o)
}

func (c *consoleConsumer) readNumbers(o *options) error {
	for _, f := range []struct {
		name string
		set  func(int64)
	}{
		{"partition", func(n int64) { c.partition = int32(n) }},
		{"max-messages", func(n int64) { c.max = n }},
		{"timeout-ms", func(n int64) { c.timeout = time.Duration(n) * time.Millisecond }},
	} {
		if !o.has(f.name) {
			continue
		}
		n, err := o.number(f.name, 32)
		if err != nil || n < 0 && f.name == "partition" {
			return exitf(exitFailed, "Cannot parse argument '%s' of option %s", strings.Join(o.all(f.name), " "), f.name)
		}
		f.set(n)
	}
	return nil
}

// readScope reads what to read, and from where.
func (c *consoleConsumer) readScope(e *env, o *options) (err error) {
	if o.has("topic") == o.has("whitelist") {
		return o.die(e, "Exactly one of whitelist/topic is required.")
	}
	if c.topic, err = o.str("topic"); err == nil {
		c.whitelist, err = o.str("whitelist")
	}
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	switch {
	case o.has("partition") && !o.has("topic"):
		return o.die(e, "The topic is required when partition is specified.")
	case o.has("partition") && o.has("from-beginning") && o.has("offset"):
		return o.die(e, "Options from-beginning and offset cannot be specified together.")
	case !o.has("partition") && o.has("offset"):
		return o.die(e, "The partition is required when offset is specified.")
	}
	at, err := o.str("offset")
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	switch at = strings.ToLower(at); {
	case at == "earliest", !o.has("offset") && o.has("from-beginning"):
		c.from = consumer.Earliest
	case at == "latest":
		c.from = consumer.Latest
	default:
		if c.from, err = strconv.ParseInt(at, 10, 64); err != nil || c.from < 0 {
			return o.die(e, fmt.Sprintf("The provided offset value '%s' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long.", at))
		}
	}
	return nil
}

// readConfig joins the consumer's configs: the group can be named in three places, and
// --from-beginning must not be contradicted.
func (c *consoleConsumer) readConfig(e *env, o *options) error {
	props, err := o.readProperties("consumer.config")
	if err != nil {
		return err
	}
	extra := keyValues(o.all("consumer-property"))
	var groups []string
	flag, err := o.str("group")
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	for _, id := range []string{flag, props["group.id"], extra["group.id"]} {
		if id != "" && !slices.Contains(groups, id) {
			groups = append(groups, id)
		}
	}
	maps.Copy(props, extra)
	switch {
	case len(groups) > 1:
		return o.die(e, fmt.Sprintf("The group ids provided in different places (directly using '--group', via '--consumer-property', or via '--consumer.config') do not match. Detected group ids: '%s'", strings.Join(groups, "', '")))
	case len(groups) == 1 && c.partition >= 0:
		return o.die(e, "Options group and partition cannot be specified together.")
	case len(groups) == 1:
		props["group.id"] = groups[0]
	default: // nobody will come back for this group's offsets
		props["group.id"] = fmt.Sprintf("console-consumer-%d", rand.IntN(100000))
		if props["enable.auto.commit"] == "" {
			props["enable.auto.commit"] = "false"
		}
	}
	if props["client.id"] == "" {
		props["client.id"] = "consumer-" + props["group.id"] + "-1"
	}
	switch reset := props["auto.offset.reset"]; {
	case reset != "" && reset != "earliest" && o.has("from-beginning"):
		return exitf(exitFailed, "Can't simultaneously specify --from-beginning and 'auto.offset.reset=%s', please remove one option", reset)
	case reset == "" && o.has("from-beginning"):
		props["auto.offset.reset"] = "earliest"
	}
	if props["bootstrap.servers"], err = o.str("bootstrap-server"); err != nil {
		return exitf(exitFailed, "%v", err)
	}
	if _, set := props["isolation.level"]; o.has("isolation-level") || !set {
		if props["isolation.level"], err = o.str("isolation-level"); err != nil {
			return exitf(exitFailed, "%v", err)
		}
	}
	cfg, unknown, err := consumer.FromProperties(props)
	if err != nil {
		return exitf(exitFailed, "kz console-consumer: %v", err)
	}
	warnUnknown(e, unknown)
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	c.cfg = cfg
	return nil
}

// A recordSource is a consumer of either kind that knows what to read.
type recordSource interface {
	Poll(context.Context) ([]consumer.Fetched, error)
	Seek(p topic.Partition, offset int64) error
	Close() error
}

// open makes the consumer and says what it reads.
func (c *consoleConsumer) open(ctx context.Context) (recordSource, error) {
	if c.old != nil {
		return c.old.open(ctx, c.e)
	}
	cons := consumer.New(c.cfg)
	return cons, c.subscribe(cons)
}

// run reads until the messages, the patience or ctx end.
func (c *consoleConsumer) run(ctx context.Context) error {
	cons, err := c.open(ctx)
	if cons == nil {
		return err
	}
	if err == nil {
		err = c.pollAll(ctx, cons)
	}
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		fmt.Fprintf(c.e.stderr, "[%s] ERROR Error processing message, terminating consumer process: %s\n", time.Now().Format("2006-01-02 15:04:05,000"), javaTextAbout(c.topic, err))
	}
	c.e.closing("console-consumer", cons)
	fmt.Fprintf(c.e.stderr, "Processed a total of %d messages\n", c.read)
	if c.systest {
		fmt.Fprintln(c.e.stdout, "shutdown_complete")
	}
	switch {
	case interrupted:
		return &exitError{code: exitInterrupted}
	case c.unprintable != nil:
		return exitf(exitFailed, "%v", c.unprintable)
	}
	return nil
}

func (c *consoleConsumer) subscribe(cons *consumer.Consumer) error {
	switch {
	case c.partition >= 0:
		return cons.Assign([]topic.Partition{{Topic: c.topic, Partition: c.partition}}, c.from)
	case c.whitelist != "":
		pattern, err := topicPattern(c.whitelist)
		if err != nil {
			return err
		}
		return cons.SubscribePattern(pattern, consumer.Listener{})
	}
	return cons.Subscribe([]string{c.topic}, consumer.Listener{})
}

var errNothingCame = errors.New("org.apache.kafka.common.errors.TimeoutException")

// pollAll polls and prints. A nil error is the wanted end.
func (c *consoleConsumer) pollAll(ctx context.Context, cons recordSource) error {
	for c.max < 0 || c.read < c.max {
		poll, cancel := ctx, func() {}
		if c.timeout >= 0 {
			poll, cancel = context.WithTimeout(ctx, c.timeout)
		}
		got, err := cons.Poll(poll)
		cancel()
		switch {
		case err != nil || ctx.Err() != nil:
			return err
		case len(got) == 0:
			return errNothingCame
		}
		for i, f := range got {
			next, err := c.show(f)
			if next < f.To || c.unprintable != nil { // the rest is not ours to commit
				_ = cons.Seek(f.Partition, next) // fails only where it is somebody else's by now
				for _, unseen := range got[i+1:] {
					_ = cons.Seek(unseen.Partition, unseen.From)
				}
				return err
			}
			f.Release()
		}
	}
	return nil
}

// show prints the records of one answer. next is the first offset that was not looked at.
func (c *consoleConsumer) show(f consumer.Fetched) (next int64, err error) {
	next = f.From
	types := appendTimes(f.Bytes)
	for r, err := range f.Records() {
		if err != nil {
			return next, err
		}
		if c.max >= 0 && c.read >= c.max {
			return next, nil
		}
		c.read++
		next = r.Offset + 1
		err := c.format(c.e.stdout, shownRecord{part: f.Partition, appendTime: types(r.Offset), Record: r})
		if c.e.unreadable() {
			fmt.Fprintln(c.e.stderr, "Unable to write to standard out, closing consumer.")
			return r.Offset, nil // nobody has seen it
		}
		if err != nil {
			if c.skip {
				warnLog(c.e, "console-consumer", "Error processing message, skipping this message: %v", err)
				continue
			}
			c.unprintable = fmt.Errorf("%v offset %d: %w", f.Partition, r.Offset, err)
			return next, nil
		}
	}
	return f.To, nil
}

// appendTimes says of ascending offsets whether their batch has the broker's time.
func appendTimes(b []byte) func(offset int64) bool {
	type mark struct {
		last       int64
		appendTime bool
	}
	var marks []mark
	for batch, err := range record.Batches(b) {
		if err != nil {
			break
		}
		marks = append(marks, mark{batch.LastOffset(), batch.IsLogAppendTime()})
	}
	return func(offset int64) bool {
		for len(marks) > 0 && marks[0].last < offset {
			marks = marks[1:]
		}
		return len(marks) > 0 && marks[0].appendTime
	}
}
