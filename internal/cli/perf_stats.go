package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"kz/client/producer"
)

// perfStats counts what producer-perf-test prints: a line per 5 s and a last one with
// percentiles, from at most half a million sampled latencies. Times in ms, as Kafka's.
// Mirrors ProducerPerformance.Stats.
type perfStats struct {
	e      *env
	asJSON bool
	start  time.Time

	mu          sync.Mutex // guards what follows; callbacks of several brokers come at once
	sampling    int64
	latencies   []int32
	all, window perfCounts
	windowStart time.Time
	errors      map[string]int64 // text -> how many records
}

type perfCounts struct {
	records, bytes, latency int64
	max                     int64
}

const perfInterval = 5 * time.Second

func newPerfStats(e *env, records int64, asJSON bool) *perfStats {
	const samples = 500_000
	now := time.Now()
	sampling := records / min(records, samples)
	return &perfStats{
		e: e, asJSON: asJSON, start: now, windowStart: now, sampling: sampling,
		latencies: make([]int32, 0, records/sampling+1), errors: map[string]int64{},
	}
}

// tag packs what acked needs to know of a record into one number: when it was sent,
// in ms since the start, and its size.
func (s *perfStats) tag(now time.Time, size int) int64 {
	return now.Sub(s.start).Milliseconds()<<31 | int64(size)
}

func (s *perfStats) acked(tag int64, _ producer.Metadata, err error) {
	now := time.Now()
	latency := now.Sub(s.start).Milliseconds() - tag>>31
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all.records%s.sampling == 0 {
		s.latencies = append(s.latencies, int32(latency))
	}
	s.all.add(tag&(1<<31-1), latency)
	s.window.add(tag&(1<<31-1), latency)
	if err != nil {
		s.errors[err.Error()]++
	}
	if now.Sub(s.windowStart) >= perfInterval {
		s.printWindow(now)
		s.window, s.windowStart = perfCounts{}, now
	}
}

func (c *perfCounts) add(bytes, latency int64) {
	c.records++
	c.bytes += bytes
	c.latency += latency
	c.max = max(c.max, latency)
}

// rates are records and MB (2^20 bytes) per second.
func (c *perfCounts) rates(elapsed time.Duration) (records, mb float64) {
	s := max(elapsed.Seconds(), 0.001)
	return float64(c.records) / s, float64(c.bytes) / s / (1 << 20)
}

func (c *perfCounts) average() float64 { return float64(c.latency) / float64(max(c.records, 1)) }

func (s *perfStats) printWindow(now time.Time) {
	records, mb := s.window.rates(now.Sub(s.windowStart))
	if s.asJSON {
		fmt.Fprintf(s.e.stdout, `{"type":"window","records":%d,"recordsPerSec":%.1f,"mbPerSec":%.2f,"avgLatencyMs":%.1f,"maxLatencyMs":%d}`+"\n",
			s.window.records, records, mb, s.window.average(), s.window.max)
		return
	}
	fmt.Fprintf(s.e.stdout, "%d records sent, %.1f records/sec (%.2f MB/sec), %.1f ms avg latency, %.1f ms max latency.\n",
		s.window.records, records, mb, s.window.average(), float64(s.window.max))
}

// total prints the last line.
func (s *perfStats) total() {
	s.mu.Lock()
	defer s.mu.Unlock()
	records, mb := s.all.rates(time.Since(s.start))
	p := percentiles(s.latencies, 0.5, 0.95, 0.99, 0.999)
	format := "%d records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n"
	if s.asJSON {
		format = `{"type":"total","records":%d,"recordsPerSec":%f,"mbPerSec":%.2f,"avgLatencyMs":%.2f,"maxLatencyMs":%.2f,"p50Ms":%d,"p95Ms":%d,"p99Ms":%d,"p999Ms":%d}` + "\n"
	}
	fmt.Fprintf(s.e.stdout, format, s.all.records, records, mb, s.all.average(), float64(s.all.max), p[0], p[1], p[2], p[3])
}

func percentiles(latencies []int32, ps ...float64) []int32 {
	out := make([]int32, len(ps))
	if len(latencies) == 0 {
		return out
	}
	slices.Sort(latencies)
	for i, p := range ps {
		out[i] = latencies[int(p*float64(len(latencies)))]
	}
	return out
}

// failed lists each error once, with how many records it hit.
func (s *perfStats) failed(e *env) error {
	if len(s.errors) == 0 {
		return nil
	}
	var texts []string
	for t := range s.errors {
		texts = append(texts, t)
	}
	slices.Sort(texts)
	for _, t := range texts {
		fmt.Fprintf(e.stderr, "%d records failed: %s\n", s.errors[t], t)
	}
	return &exitError{code: exitFailed}
}

// throttle keeps a rate by sleeping about 2 ms at a time. Mirrors ThroughputThrottler.
type throttle struct {
	rate  int64 // per second; below 0 unlimited
	start time.Time
	debt  time.Duration
}

// pause sleeps when sent records are ahead of the rate.
func (t *throttle) pause(ctx context.Context, sent int64, now time.Time) {
	if t.rate < 0 {
		return
	}
	if t.rate == 0 {
		<-ctx.Done() // Kafka's tool blocks for good, too
		return
	}
	elapsed := now.Sub(t.start).Seconds()
	if elapsed <= 0 || float64(sent)/elapsed <= float64(t.rate) {
		return
	}
	if t.debt += time.Second / time.Duration(t.rate); t.debt < 2*time.Millisecond {
		return
	}
	timer := time.NewTimer(t.debt)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	t.debt = 0
}

// javaRandom is java.util.Random, so that the values of --record-size are the very
// bytes that Kafka's tool sends: compression ratios can then be compared.
type javaRandom struct{ seed int64 }

const javaMultiplier = 0x5DEECE66D

func newJavaRandom(seed int64) *javaRandom {
	return &javaRandom{(seed ^ javaMultiplier) & (1<<48 - 1)}
}

func (r *javaRandom) next(bits uint) int32 {
	r.seed = (r.seed*javaMultiplier + 0xB) & (1<<48 - 1)
	return int32(r.seed >> (48 - bits))
}

// intn is nextInt(n): from 0 to n-1.
func (r *javaRandom) intn(n int) int {
	bound := int32(n)
	if bound&-bound == bound {
		return int(int64(bound) * int64(r.next(31)) >> 31)
	}
	for {
		bits := r.next(31)
		if v := bits % bound; bits-v+(bound-1) >= 0 {
			return int(v)
		}
	}
}
