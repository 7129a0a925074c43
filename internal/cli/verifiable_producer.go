package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"kz/client/producer"
)

var verifiableProducerArguments = []argument{
	{name: "-h", help: "print this text"},
	{name: "--help", help: "print this text"},
	{name: "--topic", arg: "TOPIC", required: true, help: "produce to this topic"},
	{name: "--bootstrap-server", arg: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "brokers to ask first; this or --broker-list"},
	{name: "--broker-list", arg: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "older name of --bootstrap-server"},
	{name: "--max-messages", arg: "MAX-MESSAGES", help: "so many; until it is stopped if negative (default: -1)"},
	{name: "--throughput", arg: "THROUGHPUT", help: "messages per second, about; unlimited if negative (default: -1)"},
	{name: "--acks", arg: "ACKS", help: "0, 1 or -1 (default: -1)"},
	{name: "--producer.config", arg: "CONFIG_FILE", help: "producer configs from a properties file; stronger than the flags"},
	{name: "--message-create-time", arg: "CREATETIME", help: "timestamp of the first record, epoch ms; the others follow"},
	{name: "--value-prefix", arg: "VALUE-PREFIX", help: "a number before each value, with a dot"},
	{name: "--repeating-keys", arg: "REPEATING-KEYS", help: "keys 0 to N-1 in turn"},
}

// eventLog prints what happens, a JSON object a line. Mirrors printJson of the
// verifiable clients, which other programs read.
type eventLog struct {
	mu  sync.Mutex // guards w: callbacks come from several goroutines
	w   io.Writer
	now func() time.Time
}

// eventHead begins every event.
type eventHead struct {
	Timestamp int64  `json:"timestamp"`
	Name      string `json:"name"`
}

func (l *eventLog) head(name string) eventHead { return eventHead{l.now().UnixMilli(), name} }

func (l *eventLog) print(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	enc := json.NewEncoder(l.w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(event) // nobody listens any more
}

type sendSucceeded struct {
	eventHead
	Key       *string `json:"key"`
	Value     string  `json:"value"`
	Offset    int64   `json:"offset"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
}

type sendFailed struct {
	eventHead
	Topic     string  `json:"topic"`
	Key       *string `json:"key"`
	Value     string  `json:"value"`
	Exception string  `json:"exception"`
	Message   string  `json:"message"`
}

type toolData struct {
	eventHead
	Sent   int64      `json:"sent"`
	Acked  int64      `json:"acked"`
	Target int64      `json:"target_throughput"`
	Avg    javaDouble `json:"avg_throughput"`
}

// javaDouble is a number as Java prints a double: 0.0, not 0.
type javaDouble float64

func (d javaDouble) MarshalJSON() ([]byte, error) {
	s := strconv.FormatFloat(float64(d), 'f', -1, 64)
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		s += ".0"
	}
	return []byte(s), nil
}

// verifiableProducer sends rising numbers and says of each what became of it.
type verifiableProducer struct {
	log       *eventLog
	p         *producer.Producer
	topic     string
	max, rate int64
	prefix    string // with its dot
	keys      int64  // 0: no keys
	created   int64  // timestamp of the next record; -1: now
	start     time.Time
	sent      int64
	acked     int64 // guarded by mu
	mu        sync.Mutex
	patience  time.Duration
}

// runVerifiableProducer is kafka-verifiable-producer.sh. Mirrors VerifiableProducer.
func runVerifiableProducer(ctx context.Context, e *env, args []string) error {
	a, err := parseVerifiable(ctx, e, "verifiable-producer", verifiableProducerArguments, args)
	if err != nil || a == nil {
		return err
	}
	v := &verifiableProducer{log: &eventLog{w: e.stdout, now: time.Now}, topic: a.str("--topic", ""), max: -1, rate: -1, created: -1, start: time.Now()}
	acks, prefix := int64(-1), int64(-1)
	if err := a.numbers(map[string]*int64{"--max-messages": &v.max, "--throughput": &v.rate, "--acks": &acks, "--message-create-time": &v.created,
		"--value-prefix": &prefix, "--repeating-keys": &v.keys}); err != nil {
		return err
	}
	if acks < -1 || acks > 1 {
		return a.error("argument --acks: invalid choice: '%d' (choose from {0,1,-1})", acks)
	}
	if a.has("--value-prefix") {
		v.prefix = fmt.Sprintf("%d.", prefix)
	}
	props, err := a.properties("--producer.config", map[string]string{"acks": strconv.FormatInt(acks, 10), "retries": "0", "client.id": "producer-1"})
	if err != nil {
		return err
	}
	cfg, unknown, err := producer.FromProperties(props)
	if err != nil {
		return exitf(exitFailed, "kz verifiable-producer: %v", err)
	}
	warnUnknown(e, unknown)
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	v.p, v.patience = producer.New(cfg), cfg.Patience()
	ctx, cancel := e.whileRead(ctx)
	defer cancel()
	return v.run(ctx)
}

// run sends until enough is sent or ctx ends; then it waits for the answers, and says
// what it came to, either way.
func (v *verifiableProducer) run(ctx context.Context) error {
	v.log.print(v.log.head("startup_complete"))
	throttle := throttle{rate: v.rate, start: v.start}
	for i := int64(0); (v.max < 0 || i < v.max) && ctx.Err() == nil; i++ {
		now := time.Now()
		v.send(ctx, i)
		throttle.pause(ctx, i, now)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.patience)
	defer cancel()
	v.p.Close(closing)
	v.log.print(v.log.head("shutdown_complete"))
	v.log.print(toolData{v.log.head("tool_data"), v.sent, v.acked, v.rate, javaDouble(float64(v.acked) / max(time.Since(v.start).Seconds(), 1e-3))})
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted}
	}
	return nil
}

func (v *verifiableProducer) send(ctx context.Context, i int64) {
	value := v.prefix + strconv.FormatInt(i, 10)
	r := producer.Record{Topic: v.topic, Partition: producer.AnyPartition, Value: []byte(value)}
	var key *string
	if v.keys > 0 {
		k := strconv.FormatInt(i%v.keys, 10)
		key, r.Key = &k, []byte(k)
	}
	if v.created >= 0 {
		r.Timestamp = v.created
		v.created += time.Since(v.start).Milliseconds()
	}
	v.sent++
	done := func(_ int64, m producer.Metadata, err error) {
		if err != nil {
			v.log.print(sendFailed{v.log.head("producer_send_error"), v.topic, key, value, "class " + javaClassOf(err), javaMessageAbout(v.topic, err)})
			return
		}
		v.mu.Lock()
		v.acked++
		v.mu.Unlock()
		v.log.print(sendSucceeded{v.log.head("producer_send_success"), key, value, m.Offset, m.Topic, m.Partition})
	}
	if err := v.p.Send(ctx, r, done); err != nil {
		done(0, producer.Metadata{}, err)
	}
}
