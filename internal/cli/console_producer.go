package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"kz/client/producer"
	"kz/internal/nearest"
)

const lineReaderClass = "kafka.tools.ConsoleProducer$LineMessageReader"

var consoleProducerOptions = []option{
	{name: "topic", arg: "topic", help: "topic to write to"},
	{name: "bootstrap-server", arg: "host:port,...", help: "brokers to ask first"},
	{name: "broker-list", arg: "host:port,...", help: "older name of --bootstrap-server; ignored when both are given"},
	{name: "sync", help: "wait for each record's answer"},
	{name: "compression-codec", arg: "codec", optional: true, help: "none, gzip, snappy, lz4, zstd; gzip if none is named"},
	{name: "batch-size", arg: "count", def: "200", help: "accepted and ignored, as by Kafka: see --max-partition-memory-bytes"},
	{name: "message-send-max-retries", arg: "count", def: "3", help: "retries"},
	{name: "retry-backoff-ms", arg: "ms", def: "100", help: "retry.backoff.ms"},
	{name: "timeout", arg: "ms", def: "1000", help: "linger.ms"},
	{name: "request-required-acks", arg: "acks", def: "1", help: "acks: 0, 1, all"},
	{name: "request-timeout-ms", arg: "ms", def: "1500", help: "request.timeout.ms"},
	{name: "metadata-expiry-ms", arg: "ms", def: "300000", help: "metadata.max.age.ms"},
	{name: "max-block-ms", arg: "ms", def: "60000", help: "max.block.ms: how long a record may wait for metadata and memory"},
	{name: "max-memory-bytes", arg: "bytes", def: "33554432", help: "buffer.memory"},
	{name: "max-partition-memory-bytes", arg: "bytes", def: "16384", help: "batch.size"},
	{name: "socket-buffer-size", arg: "bytes", def: "102400", help: "accepted; the system's own size is used"},
	{name: "line-reader", arg: "class", def: lineReaderClass, help: "Java classes cannot be loaded: the default only"},
	{name: "property", arg: "key=value", help: "how lines become records: parse.key, key.separator, ignore.error"},
	{name: "producer-property", arg: "key=value", help: "producer config, may be repeated"},
	{name: "producer.config", arg: "file", help: "properties file for the producer; weaker than --producer-property"},
}

// producerFlags are the producer configs behind the flags. A flag that is given is the
// strongest; its default only fills a gap. Mirrors CommandLineUtils.maybeMergeOptions.
var producerFlags = []struct{ flag, key string }{
	{"timeout", "linger.ms"}, {"request-required-acks", "acks"}, {"request-timeout-ms", "request.timeout.ms"},
	{"message-send-max-retries", "retries"}, {"retry-backoff-ms", "retry.backoff.ms"}, {"socket-buffer-size", "send.buffer.bytes"},
	{"max-memory-bytes", "buffer.memory"}, {"max-partition-memory-bytes", "batch.size"}, {"metadata-expiry-ms", "metadata.max.age.ms"}, {"max-block-ms", "max.block.ms"},
}

// runConsoleProducer is kafka-console-producer.sh: a record for each line of stdin. As
// with Kafka's, a record that could not be sent is reported and does not change the exit code.
func runConsoleProducer(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("console-producer", consoleProducerOptions, args)
	if err != nil {
		return usageOf(e, "console-producer", consoleProducerOptions, err)
	}
	if o.has("help") || o.has("version") {
		return o.helpOrVersion(e, args, "This tool helps to read data from standard input and publish it to Kafka.")
	}
	if o.fill(ctx, "bootstrap-server", "broker-list"); !o.has("bootstrap-server") && !o.has("broker-list") {
		return o.dieAlone(e, "Missing required option(s) [bootstrap-server]", "bootstrap-server")
	}
	if err := o.require(e, "topic"); err != nil {
		return err
	}
	cfg, err := consoleProducerConfig(e, o)
	if err != nil {
		return err
	}
	e.output().optional = true // it holds prompts alone
	outlivePipes()
	lines, err := newLineReader(e, o)
	if err != nil {
		return err
	}
	return (&consoleProducer{e: e, lines: lines, sync: o.has("sync"), p: producer.New(cfg)}).run(ctx, cfg.Patience())
}

// usageOf prints an error of the parser with the usage, as some of Kafka's tools do.
func usageOf(e *env, tool string, specs []option, err error) error {
	return (&options{tool: tool, specs: append(specs[:len(specs):len(specs)], commonOptions...)}).die(e, err.Error())
}

func consoleProducerConfig(e *env, o *options) (cfg producer.Config, err error) {
	servers, err := o.str("bootstrap-server")
	if err == nil && servers == "" {
		servers, err = o.str("broker-list")
	}
	if err != nil {
		return cfg, o.die(e, err.Error())
	}
	if err := o.validServers(e, servers); err != nil {
		return cfg, err
	}
	if class, _ := o.str("line-reader"); class != lineReaderClass {
		return cfg, exitf(exitFailed, "java.lang.ClassNotFoundException: %s: kz loads no Java classes; the only line reader is %s", class, lineReaderClass)
	}
	props, err := o.readProperties("producer.config")
	if err != nil {
		return cfg, err
	}
	maps.Copy(props, keyValues(o.all("producer-property")))
	props["bootstrap.servers"] = servers
	props["compression.type"] = "none"
	if o.has("compression-codec") {
		if props["compression.type"], err = o.str("compression-codec"); props["compression.type"] == "" {
			props["compression.type"] = "gzip"
		}
	}
	if props["client.id"] == "" {
		props["client.id"] = "console-producer"
	}
	for _, f := range producerFlags {
		value, e := o.str(f.flag)
		if e != nil {
			err = e
		}
		if _, set := props[f.key]; o.has(f.flag) || !set {
			props[f.key] = value
		}
	}
	if err != nil {
		return cfg, exitf(exitFailed, "%v", err)
	}
	cfg, unknown, err := producer.FromProperties(props)
	if err != nil {
		return cfg, exitf(exitFailed, "kz console-producer: %v", err)
	}
	warnUnknown(e, unknown)
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	return cfg, nil
}

// keyValues reads k=v words; without = the value is empty, as in Kafka.
func keyValues(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		out[k] = v
	}
	return out
}

// consoleProducer sends what the reader gives.
type consoleProducer struct {
	e     *env
	lines *lineReader
	sync  bool
	p     *producer.Producer
	mu    sync.Mutex // guards stderr: callbacks come from several goroutines
}

// run sends until the input or ctx ends. What was read before a fault is sent.
func (c *consoleProducer) run(ctx context.Context, patience time.Duration) error {
	input := make(chan lineRecord)
	stop := make(chan struct{})
	go c.lines.feed(input, stop) // stdin cannot be interrupted: Ctrl-C leaves it behind
	err := c.sendAll(ctx, input)
	close(stop)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	c.p.Close(closing)
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted}
	}
	return err
}

func (c *consoleProducer) sendAll(ctx context.Context, input <-chan lineRecord) error {
	for {
		c.lines.prompt()
		var r lineRecord
		var more bool
		select {
		case r, more = <-input:
		case <-ctx.Done():
			return nil
		}
		if !more || r.err != nil {
			return r.err
		}
		if err := c.send(ctx, r); err != nil {
			return err
		}
	}
}

func (c *consoleProducer) send(ctx context.Context, r lineRecord) error {
	answered := make(chan error, 1)
	failed := func(err error) {
		if c.sync {
			answered <- err
		} else if err != nil {
			c.report(r, err)
		}
	}
	record := producer.Record{Topic: c.lines.topic, Partition: producer.AnyPartition, Key: r.key, Value: r.value}
	if err := c.p.Send(ctx, record, func(_ int64, _ producer.Metadata, err error) { failed(err) }); err != nil {
		failed(err)
	}
	if !c.sync {
		return nil
	}
	if err := <-answered; err != nil {
		return exitf(exitFailed, "%s", javaTextAbout(c.lines.topic, err))
	}
	return nil
}

// report is what Kafka's ErrorLoggingCallback logs.
func (c *consoleProducer) report(r lineRecord, err error) {
	key := "null"
	if r.key != nil {
		key = fmt.Sprintf("%d bytes", len(r.key))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.e.stderr, "[%s] ERROR Error when sending message to topic %s with key: %s, value: %d bytes with error: %s\n",
		time.Now().Format("2006-01-02 15:04:05,000"), c.lines.topic, key, len(r.value), javaTextAbout(c.lines.topic, err))
}

// lineReader turns lines into records. Mirrors ConsoleProducer.LineMessageReader.
type lineReader struct {
	e           *env
	topic       string
	parseKey    bool
	separator   []byte
	ignoreError bool
	console     bool // somebody types: a prompt is due
}

// lineRecord is a record, or the fault that ends the input.
type lineRecord struct {
	key, value []byte // a nil key is none
	err        error
}

// longestLine bounds what a line may take; the brokers take far less by default.
const longestLine = 64 << 20

func newLineReader(e *env, o *options) (*lineReader, error) {
	name, err := o.str("topic")
	if err != nil {
		return nil, exitf(exitFailed, "%v", err)
	}
	l := &lineReader{e: e, topic: name, separator: []byte("\t"), console: isConsole(e.stdin)}
	for k, v := range keyValues(o.all("property")) {
		switch k {
		case "parse.key":
			l.parseKey = strings.EqualFold(strings.TrimSpace(v), "true")
		case "key.separator":
			l.separator = []byte(v)
		case "ignore.error":
			l.ignoreError = strings.EqualFold(strings.TrimSpace(v), "true")
		default:
			warnProperty(e, o.tool, k, []string{"parse.key", "key.separator", "ignore.error"})
		}
	}
	return l, nil
}

// warnProperty names a --property that does nothing; Kafka is silent about it.
func warnProperty(e *env, tool, key string, known []string) {
	hint := "known are " + strings.Join(known, ", ")
	if near := nearest.To(key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	warnLog(e, tool, "--property %s has no meaning here (%s)", key, hint)
}

func isConsole(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (l *lineReader) prompt() {
	if l.console {
		fmt.Fprint(l.e.stdout, ">")
	}
}

// feed hands on a record for each line, until the input ends, a line is wrong or
// nobody wants more.
func (l *lineReader) feed(to chan<- lineRecord, stop <-chan struct{}) {
	defer close(to)
	scanner := bufio.NewScanner(l.e.stdin)
	scanner.Buffer(nil, longestLine)
	for n := 1; scanner.Scan(); n++ {
		r := l.record(bytes.Clone(scanner.Bytes()), n)
		select {
		case to <- r:
		case <-stop:
			return
		}
		if r.err != nil {
			return
		}
	}
	if err := scanner.Err(); err != nil {
		select {
		case to <- lineRecord{err: exitf(exitFailed, "kz console-producer: reading stdin: %v (a line may have %d MiB)", err, longestLine>>20)}:
		case <-stop:
		}
	}
}

func (l *lineReader) record(line []byte, n int) lineRecord {
	if line == nil {
		line = []byte{} // an empty line is an empty value, not none
	}
	if !l.parseKey {
		return lineRecord{value: line}
	}
	key, value, found := bytes.Cut(line, l.separator)
	switch {
	case found:
		return lineRecord{key: key, value: value}
	case l.ignoreError:
		return lineRecord{value: line}
	}
	return lineRecord{err: exitf(exitFailed, "org.apache.kafka.common.KafkaException: No key found on line %d: %s", n, line)}
}
