package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"kz/broker/config"
	"kz/client/consumer"
	"kz/internal/topic"
)

var consumerPerfOptions = []option{
	{name: "bootstrap-server", arg: "host:port,...", help: "brokers to ask first; without it the cluster of kz up, if one runs"},
	{name: "broker-list", arg: "host:port,...", help: "older name of --bootstrap-server; ignored when both are given"},
	{name: "topic", arg: "topic", help: "topic to read"},
	{name: "messages", arg: "count", help: "how many messages to read"},
	{name: "group", arg: "id", help: "consumer group to read and commit in; without one perf-consumer-N"},
	{name: "fetch-size", arg: "bytes", def: "1048576", help: "bytes per fetch and partition"},
	{name: "from-latest", help: "start at the end instead of the beginning"},
	{name: "socket-buffer-size", arg: "bytes", def: "2097152", help: "accepted; the system's own size is used"},
	{name: "threads", arg: "count", def: "10", help: "deprecated and ignored"},
	{name: "num-fetch-threads", arg: "count", def: "1", help: "deprecated and ignored"},
	{name: "consumer.config", arg: "file", help: "properties file for the consumer"},
	{name: "print-metrics", help: "refused: kz's clients keep no metrics yet"},
	{name: "show-detailed-stats", help: "a line per --reporting-interval"},
	{name: "timeout", arg: "ms", optional: true, def: "10000", help: "longest time without a record"},
	{name: "reporting-interval", arg: "ms", def: "5000", help: "time between the lines of --show-detailed-stats"},
	{name: "date-format", arg: "pattern", def: "yyyy-MM-dd HH:mm:ss:SSS", help: "Java's SimpleDateFormat: y M d H m s S"},
	{name: "hide-header", help: "no header line"},
}

// consumerPerf is what the flags say, and what was counted. Mirrors ConsumerPerformance.
type consumerPerf struct {
	e          *env
	cfg        consumer.Config
	topic      string
	messages   int64
	timeout    time.Duration
	interval   time.Duration
	detailed   bool
	hideHeader bool
	asJSON     bool
	date       func(time.Time) string

	read, bytes         int64
	joined              time.Duration // spent without partitions, all rebalances together
	lastRead, lastBytes int64
	lastReport          time.Time
	joinedThisInterval  time.Duration
}

// runConsumerPerf is kafka-consumer-perf-test.sh.
func runConsumerPerf(ctx context.Context, e *env, args []string) error {
	o, err := parseOptions("consumer-perf-test", consumerPerfOptions, args)
	if err != nil {
		return err
	}
	if o.fill(ctx, "bootstrap-server", "broker-list", "help", "version"); !o.has("bootstrap-server") && !o.has("broker-list") && !o.has("help") && !o.has("version") {
		return o.dieAlone(e, "Missing required option(s) [bootstrap-server]", "bootstrap-server")
	}
	if o.has("threads") || o.has("num-fetch-threads") {
		fmt.Fprintln(e.stdout, "WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be ignored by the test")
	}
	if err := o.helpOrVersion(e, args, "This tool helps in performance test for the full zookeeper consumer"); err != nil {
		return err
	}
	if err := o.require(e, "topic", "messages"); err != nil {
		return err
	}
	if o.has("print-metrics") {
		return exitf(exitFailed, "kz consumer-perf-test: --print-metrics is refused: kz's clients keep no metrics yet")
	}
	p := &consumerPerf{e: e, detailed: o.has("show-detailed-stats"), hideHeader: o.has("hide-header")}
	if err := p.readOptions(o); err != nil {
		var ee *exitError
		if errors.As(err, &ee) {
			return err
		}
		return exitf(exitFailed, "%v", err)
	}
	ctx, cancel := e.whileRead(ctx)
	defer cancel()
	return p.run(ctx)
}

func (p *consumerPerf) readOptions(o *options) error {
	if err := p.readNumbers(o); err != nil {
		return err
	}
	props := map[string]string{}
	file, err := o.str("consumer.config")
	if err == nil && file != "" {
		props, err = config.ReadProperties(file)
	}
	if err != nil {
		return fmt.Errorf("--consumer.config: %w", err)
	}
	servers := "broker-list"
	if o.has("bootstrap-server") {
		servers = "bootstrap-server"
	}
	if props["bootstrap.servers"], err = o.str(servers); err != nil {
		return err
	}
	if props["max.partition.fetch.bytes"], err = o.str("fetch-size"); err != nil {
		return err
	}
	props["group.id"] = fmt.Sprintf("perf-consumer-%d", rand.IntN(100000))
	if o.has("group") {
		if props["group.id"], err = o.str("group"); err != nil {
			return err
		}
	}
	if props["client.id"] == "" {
		props["client.id"] = "consumer-" + props["group.id"] + "-1"
	}
	props["auto.offset.reset"] = "earliest"
	if o.has("from-latest") {
		props["auto.offset.reset"] = "latest"
	}
	props["check.crcs"] = "false" // as Kafka's tool
	var unknown []string
	if p.cfg, unknown, err = consumer.FromProperties(props); err != nil {
		return err
	}
	for _, k := range unknown {
		fmt.Fprintf(p.e.stderr, "WARN The configuration '%s' was supplied but isn't a known config.\n", k)
	}
	p.cfg.Client.Network, p.cfg.Client.Unreachable = p.e.network, warnUnreachable(p.e)
	return nil
}

func (p *consumerPerf) readNumbers(o *options) (err error) {
	var timeout, interval int64
	for _, f := range []struct {
		name string
		bits int
		to   *int64
	}{{"messages", 64, &p.messages}, {"timeout", 64, &timeout}, {"reporting-interval", 32, &interval}} {
		if *f.to, err = o.number(f.name, f.bits); err != nil {
			return err
		}
	}
	if interval <= 0 {
		return errors.New("Reporting interval must be greater than 0.")
	}
	p.timeout, p.interval = time.Duration(timeout)*time.Millisecond, time.Duration(interval)*time.Millisecond
	pattern, err := o.str("date-format")
	if err != nil {
		return err
	}
	if p.date, err = javaDate(pattern); err != nil {
		return err
	}
	if p.asJSON, err = o.json(); err != nil {
		return err
	}
	p.topic, err = o.str("topic")
	return err
}

func (p *consumerPerf) run(ctx context.Context) error {
	if !p.hideHeader && !p.asJSON {
		first := "start.time, end.time"
		if p.detailed {
			first = "time, threadId"
		}
		fmt.Fprintln(p.e.stdout, first+", data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec")
	}
	c := consumer.New(p.cfg)
	start := time.Now()
	err := p.consume(ctx, c, start)
	end := time.Now()
	if err == nil && p.read < p.messages && ctx.Err() == nil {
		fmt.Fprintf(p.e.stdout, "WARNING: Exiting before consuming the expected number of messages: timeout (%d ms) exceeded. You can use the --timeout option to increase the timeout.\n", p.timeout.Milliseconds())
	}
	if err == nil && !p.detailed {
		p.total(start, end)
	}
	p.e.closing("consumer-perf-test", c)
	switch {
	case err != nil:
		return exitf(exitFailed, "kz consumer-perf-test: %v", err)
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted}
	}
	return nil
}

// consume reads as a member of the group, until there is enough, or nothing came for
// --timeout. The last poll is counted whole, because it is committed whole.
func (p *consumerPerf) consume(ctx context.Context, c *consumer.Consumer, start time.Time) error {
	joining := start
	err := c.Subscribe([]string{p.topic}, consumer.Listener{
		Assigned: func([]topic.Partition) {
			took := time.Since(joining)
			p.joined += took
			p.joinedThisInterval += took
		},
		Revoked: func([]topic.Partition) { joining = time.Now() },
	})
	if err != nil {
		return err
	}
	p.lastReport = start // the first interval holds the time of joining, as in Kafka
	now := start
	consumed := start
	for p.read < p.messages && now.Sub(consumed) <= p.timeout && ctx.Err() == nil {
		polling, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetched, err := c.Poll(polling)
		cancel()
		if err != nil {
			return err
		}
		now = time.Now()
		if len(fetched) > 0 {
			consumed = now
		}
		for i := range fetched {
			if err := p.count(&fetched[i], now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *consumerPerf) count(f *consumer.Fetched, now time.Time) error {
	defer f.Release()
	for r, err := range f.Records() {
		if err != nil {
			return err
		}
		p.read++
		p.bytes += int64(len(r.Key) + len(r.Value))
		if now.Sub(p.lastReport) >= p.interval {
			if p.detailed {
				p.progress(now)
			}
			p.joinedThisInterval = 0
			p.lastReport, p.lastRead, p.lastBytes = now, p.read, p.bytes
		}
	}
	return nil
}

func (p *consumerPerf) progress(now time.Time) {
	elapsed := now.Sub(p.lastReport)
	fetching := elapsed - p.joinedThisInterval
	mb, n := float64(p.bytes-p.lastBytes)/(1<<20), float64(p.read-p.lastRead)
	p.line(p.date(now), "0", float64(p.bytes)/(1<<20), mb/elapsed.Seconds(), p.read, n/elapsed.Seconds(), p.joinedThisInterval, fetching, perSecond(mb, fetching), perSecond(n, fetching))
}

// perSecond is 0 where nothing was measured, as in Kafka's detailed lines.
func perSecond(v float64, d time.Duration) float64 {
	if d.Milliseconds() <= 0 {
		return 0
	}
	return v / d.Seconds()
}

func (p *consumerPerf) total(start, end time.Time) {
	elapsed := end.Sub(start)
	fetching := elapsed - p.joined
	mb := float64(p.bytes) / (1 << 20)
	p.line(p.date(start), p.date(end), mb, mb/elapsed.Seconds(), p.read, float64(p.read)/elapsed.Seconds(), p.joined, fetching, mb/fetching.Seconds(), float64(p.read)/fetching.Seconds())
}

func (p *consumerPerf) line(first, second string, mb, mbPerSec float64, n int64, nPerSec float64, joined, fetching time.Duration, fetchMB, fetchN float64) {
	if p.asJSON {
		names := [2]string{"startTime", "endTime"}
		if p.detailed {
			names = [2]string{"time", "threadId"}
		}
		fmt.Fprintf(p.e.stdout, `{%q:%q,%q:%q,"dataConsumedInMB":%.4f,"mbPerSec":%.4f,"dataConsumedInNMsg":%d,"nMsgPerSec":%.4f,"rebalanceTimeMs":%d,"fetchTimeMs":%d,"fetchMBPerSec":%.4f,"fetchNMsgPerSec":%.4f}`+"\n",
			names[0], first, names[1], second, mb, finite(mbPerSec), n, finite(nPerSec), joined.Milliseconds(), fetching.Milliseconds(), finite(fetchMB), finite(fetchN))
		return
	}
	fmt.Fprintf(p.e.stdout, "%s, %s, %.4f, %s, %d, %s, %d, %d, %s, %s\n",
		first, second, mb, javaFloat(mbPerSec), n, javaFloat(nPerSec), joined.Milliseconds(), fetching.Milliseconds(), javaFloat(fetchMB), javaFloat(fetchN))
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// javaFloat is Java's %.4f.
func javaFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return "Infinity"
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}
