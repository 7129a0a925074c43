package network

import (
	"math"
	"sync"
	"time"
)

// quotas counts connections: of the broker, and of each IP. It mirrors Kafka's
// ConnectionQuotas.
type quotas struct {
	max       int
	perIP     int
	overrides map[string]int
	protected string // the listener that max does not bind; "" when it is the only one

	mu      sync.Mutex // guards what follows
	changed sync.Cond  // total fell, or closed
	total   int
	byIP    map[string]int
	rate    creationRate
	closed  bool
	closing chan struct{} // closed with closed
}

func newQuotas(cfg Config) *quotas {
	q := &quotas{
		max:       cfg.MaxConnections,
		perIP:     cfg.MaxConnectionsPerIP,
		overrides: cfg.MaxConnectionsPerIPOverrides,
		byIP:      map[string]int{},
		rate:      creationRate{limit: cfg.MaxConnectionCreationRate},
		closing:   make(chan struct{}),
	}
	if len(cfg.Listeners) > 1 {
		q.protected = cfg.InterBrokerListener
	}
	q.changed.L = &q.mu
	return q
}

// verdict is what becomes of a connection that was accepted.
type verdict int

const (
	admitted verdict = iota
	admittedOverLimit
	tooManyOfIP
	closing
)

// acquire counts a connection that was accepted, waiting for its place and its turn. Only
// admitted ones are counted, and are to be released.
func (q *quotas) acquire(listener, ip string) verdict {
	if d := q.throttle(); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-q.closing:
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	protected := q.protected != "" && listener == q.protected
	for !q.closed && !protected && q.total >= q.max {
		q.changed.Wait()
	}
	limit, ok := q.overrides[ip]
	if !ok {
		limit = q.perIP
	}
	switch {
	case q.closed:
		return closing
	case q.byIP[ip] >= limit:
		return tooManyOfIP
	}
	q.byIP[ip]++
	if q.total++; q.total > q.max {
		return admittedOverLimit
	}
	return admitted
}

func (q *quotas) throttle() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rate.record(time.Now())
}

func (q *quotas) release(ip string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	if q.byIP[ip]--; q.byIP[ip] == 0 {
		delete(q.byIP, ip)
	}
	q.changed.Broadcast()
}

// close makes every acquire answer closing.
func (q *quotas) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
	q.changed.Broadcast()
}

// creationRate measures new connections as Kafka's Rate does: in samples of one second,
// of which the last eleven count, and over at least the ten full ones. So a burst of ten
// seconds' worth passes; what exceeds it waits until it would not.
type creationRate struct {
	limit   int // per second; <= 0: none
	samples [11]struct {
		second int64
		count  int
	}
}

const rateWindow = 10 // seconds

// record counts one connection and says how long it has to wait.
func (r *creationRate) record(now time.Time) time.Duration {
	if r.limit <= 0 || r.limit == math.MaxInt32 {
		return 0
	}
	second := now.Unix()
	s := &r.samples[second%int64(len(r.samples))]
	if s.second != second {
		s.second, s.count = second, 0
	}
	s.count++
	total, oldest := 0, second
	for _, s := range r.samples {
		if second-s.second < int64(len(r.samples)) && s.count > 0 {
			total += s.count
			oldest = min(oldest, s.second)
		}
	}
	window := max(now.Sub(time.Unix(oldest, 0)).Seconds(), rateWindow)
	excess := float64(total) - float64(r.limit)*window
	return time.Duration(max(excess, 0) / float64(r.limit) * float64(time.Second))
}
