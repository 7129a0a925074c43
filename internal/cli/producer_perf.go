package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kz/broker/config"
	"kz/client/producer"
)

var producerPerfArguments = []argument{
	{name: "-h", help: "print this text"},
	{name: "--help", help: "print this text"},
	{name: "--topic", arg: "TOPIC", required: true, help: "produce messages to this topic"},
	{name: "--num-records", arg: "NUM-RECORDS", required: true, help: "number of messages to produce"},
	{name: "--record-size", arg: "RECORD-SIZE", help: "message size in bytes; this or --payload-file"},
	{name: "--payload-file", arg: "PAYLOAD-FILE", help: "take values, at random, from this UTF-8 file"},
	{name: "--payload-delimiter", arg: "PAYLOAD-DELIMITER", help: "separator of --payload-file (default: \\n)"},
	{name: "--throughput", arg: "THROUGHPUT", required: true, help: "messages per second, about; -1 = unlimited"},
	{name: "--producer-props", arg: "PROP-NAME=PROP-VALUE", many: true, help: "producer configs; stronger than --producer.config"},
	{name: "--producer.config", arg: "CONFIG-FILE", help: "producer configs from a properties file"},
	{name: "--print-metrics", help: "refused: kz's clients keep no metrics yet"},
	{name: "--transactional-id", arg: "TRANSACTIONAL-ID", help: "only with transactions, which kz does not serve yet"},
	{name: "--transaction-duration-ms", arg: "TRANSACTION-DURATION", help: "0 only: kz does not serve transactions yet"},
	{name: "-o", arg: "text|json", help: "output format (kz only)"},
}

// producerPerf is what the flags say. Mirrors ProducerPerformance.
type producerPerf struct {
	topic      string
	records    int64
	throughput int64
	payloads   [][]byte
	random     *javaRandom
	asJSON     bool
	cfg        producer.Config
}

// runProducerPerf is kafka-producer-perf-test.sh.
func runProducerPerf(ctx context.Context, e *env, args []string) error {
	a, err := parseArguments("producer-performance", producerPerfArguments, args)
	if len(args) == 0 || a.has("-h") || a.has("--help") {
		fmt.Fprintln(e.stdout, a.usage())
		if len(args) == 0 {
			return nil
		}
		return &exitError{code: exitFailed}
	}
	if err != nil {
		return err
	}
	perf, err := readProducerPerf(e, a, runningBootstrap(ctx))
	if err != nil {
		return err
	}
	return perf.run(ctx, e)
}

// readProducerPerf reads the flags. running is the cluster to write to when they name none.
func readProducerPerf(e *env, a *arguments, running string) (*producerPerf, error) {
	p := &producerPerf{topic: a.str("--topic", ""), random: newJavaRandom(0)}
	var size int64
	for _, f := range []struct {
		name, kind string
		bits       int
		to         *int64
	}{{"--num-records", "Long", 64, &p.records}, {"--record-size", "Integer", 32, &size}, {"--throughput", "Integer", 32, &p.throughput}} {
		if !a.has(f.name) {
			continue
		}
		n, err := strconv.ParseInt(a.str(f.name, ""), 10, f.bits)
		if err != nil {
			return nil, a.error("argument %s: could not convert '%s' to %s (For input string: \"%s\")", f.name, a.str(f.name, ""), f.kind, a.str(f.name, ""))
		}
		*f.to = n
	}
	if a.has("--record-size") && a.has("--payload-file") {
		return nil, a.error("argument --payload-file: not allowed with argument --record-size")
	}
	if err := a.required(); err != nil {
		return nil, err
	}
	if !a.has("--record-size") && !a.has("--payload-file") {
		return nil, a.error("one of the arguments --record-size --payload-file is required")
	}
	if !a.has("--producer-props") && !a.has("--producer.config") && running == "" {
		return nil, a.error("Either --producer-props or --producer.config must be specified.\n%s", startOne("--producer-props bootstrap.servers=host:port"))
	}
	if err := refuseProducerPerf(a, size, p.records); err != nil {
		return nil, err
	}
	p.asJSON = a.str("-o", "text") == "json"
	if err := p.readPayloads(e, a, size); err != nil {
		return nil, err
	}
	return p, p.readConfig(e, a, running)
}

func refuseProducerPerf(a *arguments, size, records int64) error {
	switch {
	case a.has("--print-metrics"):
		return exitf(exitFailed, "kz producer-perf-test: --print-metrics is refused: kz's clients keep no metrics yet")
	case a.str("--transaction-duration-ms", "0") != "0":
		return exitf(exitFailed, "kz producer-perf-test: --transaction-duration-ms is refused: kz does not serve transactions yet")
	case a.str("-o", "text") != "text" && a.str("-o", "text") != "json":
		return exitf(exitFailed, "-o %s: the formats are text and json", a.str("-o", ""))
	case size < 0 || records <= 0:
		return exitf(exitFailed, "kz producer-perf-test: --num-records must be at least 1 and --record-size at least 0")
	}
	return nil
}

// readPayloads makes the one value of --record-size, or reads those of --payload-file.
func (p *producerPerf) readPayloads(e *env, a *arguments, size int64) error {
	if !a.has("--payload-file") {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(p.random.intn(26) + 65) // A to Z, the same bytes as Kafka's tool sends
		}
		p.payloads = [][]byte{value}
		return nil
	}
	name, err := filepath.Abs(a.str("--payload-file", ""))
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	fmt.Fprintf(e.stdout, "Reading payloads from: %s\n", name)
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(b) == 0 {
		return exitf(exitFailed, "File does not exist or empty file provided.")
	}
	if err != nil {
		return exitf(exitFailed, "%v", err)
	}
	delimiter := a.str("--payload-delimiter", `\n`)
	if delimiter == `\n` {
		delimiter = "\n"
	}
	parts := strings.Split(string(b), delimiter)
	for len(parts) > 1 && parts[len(parts)-1] == "" { // as Java's split: none at the end
		parts = parts[:len(parts)-1]
	}
	fmt.Fprintf(e.stdout, "Number of messages read: %d\n", len(parts))
	for _, s := range parts {
		p.payloads = append(p.payloads, []byte(s))
	}
	return nil
}

func (p *producerPerf) readConfig(e *env, a *arguments, running string) error {
	props := map[string]string{}
	if a.has("--producer.config") {
		var err error
		if props, err = config.ReadProperties(a.str("--producer.config", "")); err != nil {
			return exitf(exitFailed, "kz producer-perf-test: --producer.config: %v", err)
		}
	}
	for _, kv := range a.seen["--producer-props"] {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || v == "" || strings.Contains(v, "=") {
			return exitf(exitFailed, "Invalid property: %s", kv)
		}
		props[k] = v
	}
	if props["bootstrap.servers"] == "" && running != "" {
		props["bootstrap.servers"] = running
	}
	cfg, unknown, err := producer.FromProperties(props)
	if err != nil {
		return exitf(exitFailed, "kz producer-perf-test: %v", err)
	}
	for _, k := range unknown {
		fmt.Fprintf(e.stderr, "WARN The configuration '%s' was supplied but isn't a known config.\n", k)
	}
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	p.cfg = cfg
	return nil
}

// run sends everything, waits for the answers and prints the last line.
func (p *producerPerf) run(ctx context.Context, e *env) error {
	prod := producer.New(p.cfg)
	stats := newPerfStats(e, p.records, p.asJSON)
	throttle := throttle{rate: p.throughput, start: time.Now()}
	acked := func(tag int64, m producer.Metadata, err error) { stats.acked(tag, m, err) }
	var stopped error
	for i := range p.records {
		value := p.payloads[0]
		if len(p.payloads) > 1 {
			value = p.payloads[p.random.intn(len(p.payloads))]
		}
		now := time.Now()
		tag := stats.tag(now, len(value))
		if err := prod.Send(ctx, producer.Record{Topic: p.topic, Partition: producer.AnyPartition, Value: value, Tag: tag}, acked); err != nil {
			acked(tag, producer.Metadata{}, err)
		}
		if stopped = ctx.Err(); stopped != nil {
			break
		}
		throttle.pause(ctx, i, now)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.Patience())
	defer cancel()
	if stopped != nil {
		cancel() // interrupted: do not wait for what is left
	}
	prod.Close(closing)
	stats.total()
	if stopped != nil {
		return &exitError{code: exitInterrupted}
	}
	return stats.failed(e)
}
