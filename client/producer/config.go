package producer

import (
	"math"
	"strings"
	"time"

	"kz/client"
	"kz/internal/record"
)

// Config has Kafka's keys and defaults; the comments name them.
type Config struct {
	Client          client.Config
	Acks            int16         // acks: 0, 1, -1 (all); 1
	BatchSize       int           // batch.size, bytes, 16384: the upper bound of a batch, not a minimum
	Linger          time.Duration // linger.ms, 0
	BufferMemory    int           // buffer.memory, bytes, 32 MiB
	MaxBlock        time.Duration // max.block.ms, 60 s: how long Send may wait for metadata and memory
	MaxRequestSize  int           // max.request.size, bytes, 1 MiB
	MaxInFlight     int           // max.in.flight.requests.per.connection, 5
	DeliveryTimeout time.Duration // delivery.timeout.ms, 120 s, from the creation of the batch
	Retries         int           // retries, 2147483647
	Compression     record.Codec  // compression.type, none
	Partitioner     Partitioner   // partitioner.class: nil = DefaultPartitioner
	IgnoreKeys      bool          // partitioner.class=UniformStickyPartitioner: keys do not decide where a record goes
}

// DefaultConfig has Kafka 2.8's defaults.
func DefaultConfig(c client.Config) Config {
	return Config{
		Client: c, Acks: 1, BatchSize: 16384, BufferMemory: 32 << 20, MaxBlock: time.Minute,
		MaxRequestSize: 1 << 20, MaxInFlight: 5, DeliveryTimeout: 2 * time.Minute, Retries: math.MaxInt32,
	}
}

// Patience is how long Close may have to wait until every record has its answer: those
// that wait have delivery.timeout.ms, those in flight request.timeout.ms at most.
func (c *Config) Patience() time.Duration {
	return c.DeliveryTimeout + c.Client.RequestTimeout + expiryCheck
}

var codecs = map[string]record.Codec{
	"none": record.None, "gzip": record.Gzip, "snappy": record.Snappy, "lz4": record.LZ4, "zstd": record.Zstd,
}

// FromProperties reads a producer's properties. unknown are the keys that mean
// nothing to it; the error lists every fault.
func FromProperties(values map[string]string) (cfg Config, unknown []string, err error) {
	p := client.NewProperties(values)
	cfg = DefaultConfig(p.Common())
	switch a := p.OneOf("acks", "1", "0", "1", "-1", "all"); a {
	case "0":
		cfg.Acks = 0
	case "1":
		cfg.Acks = 1
	default:
		cfg.Acks = -1
	}
	cfg.BatchSize = p.Int("batch.size", cfg.BatchSize, 0, math.MaxInt32)
	cfg.Linger = p.Millis("linger.ms", cfg.Linger)
	cfg.BufferMemory = p.Int("buffer.memory", cfg.BufferMemory, 0, math.MaxInt64)
	cfg.MaxBlock = p.Millis("max.block.ms", cfg.MaxBlock)
	cfg.MaxRequestSize = p.Int("max.request.size", cfg.MaxRequestSize, 0, math.MaxInt32)
	cfg.MaxInFlight = p.Int("max.in.flight.requests.per.connection", cfg.MaxInFlight, 1, math.MaxInt32)
	cfg.Retries = p.Int("retries", cfg.Retries, 0, math.MaxInt32)
	cfg.Compression = codecs[p.OneOf("compression.type", "none", "none", "gzip", "snappy", "lz4", "zstd")]
	_, given := values["delivery.timeout.ms"]
	cfg.DeliveryTimeout = p.Millis("delivery.timeout.ms", cfg.DeliveryTimeout)
	if least := cfg.Linger + cfg.Client.RequestTimeout; cfg.DeliveryTimeout < least {
		if given {
			p.Fault("delivery.timeout.ms", "should be equal to or larger than linger.ms + request.timeout.ms")
		}
		cfg.DeliveryTimeout = least
	}
	p.Refuse("enable.idempotence", "false", "kz does not serve producer ids yet")
	p.Refuse("transactional.id", "", "kz does not serve transactions yet")
	p.Ignore("key.serializer", "value.serializer", "metadata.max.idle.ms", "transaction.timeout.ms", "interceptor.classes")
	switch c := p.String("partitioner.class", "DefaultPartitioner"); c[strings.LastIndexByte(c, '.')+1:] {
	case "DefaultPartitioner":
	case "RoundRobinPartitioner":
		cfg.Partitioner = RoundRobin()
	case "UniformStickyPartitioner":
		cfg.IgnoreKeys = true
	default:
		p.Fault("partitioner.class", "must be DefaultPartitioner, RoundRobinPartitioner or UniformStickyPartitioner")
	}
	return cfg, p.Unknown(), p.Err()
}
