package fetcher

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/metadata"
	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/topic"
)

// Config is the follower's part of server.properties.
type Config struct {
	BrokerID         int32
	NumFetchers      int           // num.replica.fetchers (1), per source broker
	WaitMax          time.Duration // replica.fetch.wait.max.ms (500)
	MinBytes         int           // replica.fetch.min.bytes (1)
	MaxBytes         int           // replica.fetch.max.bytes (1 MiB), per partition
	ResponseMaxBytes int           // replica.fetch.response.max.bytes (10 MiB)
	Backoff          time.Duration // replica.fetch.backoff.ms (1000), after an error
	SocketTimeout    time.Duration // replica.socket.timeout.ms (30 s), per request; more than WaitMax
}

// Manager implements replica.Fetchers. Mirrors ReplicaFetcherManager.
//
// Lock order: replica.Manager's state lock, mu, a thread's lock, a partition's lock.
type Manager struct {
	cfg     Config
	replica replicas
	journal *journal.Journal
	log     zerolog.Logger
	dial    func(source, *thread) leader // how a thread reaches its leader

	mu      sync.Mutex // guards below
	threads map[threadKey]*thread
	stopped bool

	failed  failedPartitions
	running sync.WaitGroup
}

// threadKey names a thread: Kafka's ReplicaFetcherThread-<index>-<broker>.
type threadKey struct {
	broker int32
	index  int
}

// source is a broker to fetch from, and where it is.
type source struct {
	broker int32
	addr   string
}

func sourceOf(s replica.FetchStart) source {
	return source{broker: s.LeaderID, addr: address(s.Leader)}
}

func address(e metadata.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// NewManager makes a manager that follows nothing. It starts no goroutine.
func NewManager(cfg Config, r *replica.Manager, n link.Network, j *journal.Journal, log zerolog.Logger) *Manager {
	return newManager(cfg, r, j, log, func(s source, t *thread) leader {
		return &remoteLeader{network: n, addr: s.addr, clientID: t.clientID(), cfg: cfg}
	})
}

func newManager(cfg Config, r replicas, j *journal.Journal, log zerolog.Logger, dial func(source, *thread) leader) *Manager {
	return &Manager{
		cfg: cfg, replica: r, journal: j, dial: dial,
		log:     log.With().Str("room", "fetcher").Logger(),
		threads: map[threadKey]*thread{},
	}
}

// index is Kafka's hash of a partition to one of n threads.
// Ref: Kafka 2.8 AbstractFetcherManager.getFetcherId.
func index(p topic.Partition, n int) int {
	return int(topic.JavaAbs(31*topic.JavaHash(p.Topic)+p.Partition)) % n
}

// Add starts fetching these partitions. What was fetched for one of them from another
// broker or at another epoch is replaced; a repeat changes nothing.
func (m *Manager) Add(starts map[topic.Partition]replica.FetchStart) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return
	}
	m.failed.remove(starts)
	byThread := map[*thread]map[topic.Partition]replica.FetchStart{}
	for id, s := range starts {
		key := threadKey{s.LeaderID, index(id, m.cfg.NumFetchers)}
		for other, t := range m.threads {
			if other.broker != key.broker {
				t.remove(id)
			}
		}
		t := m.thread(key, sourceOf(s))
		if byThread[t] == nil {
			byThread[t] = map[topic.Partition]replica.FetchStart{}
		}
		byThread[t][id] = s
	}
	for t, s := range byThread {
		t.add(s)
	}
	m.log.Info().Int("partitions", len(starts)).Int("threads", len(byThread)).Msg("following")
}

// thread is the running thread of a key. A broker that came back at another address
// gets a new thread, which inherits the old one's partitions. m.mu is held.
func (m *Manager) thread(key threadKey, from source) *thread {
	old := m.threads[key]
	if old != nil && old.source == from {
		return old
	}
	t := newThread(m, key, from)
	m.threads[key] = t
	if old != nil {
		t.inherit(old.end())
	}
	m.running.Go(t.run)
	return t
}

// Remove stops fetching these partitions; when it returns no append for them is under
// way or will come.
func (m *Manager) Remove(ps []topic.Partition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.threads {
		for _, id := range ps {
			t.remove(id)
		}
	}
	for _, id := range ps {
		m.failed.forget(id)
	}
}

// Stop ends all threads and waits for them. Nothing is fetched afterwards.
func (m *Manager) Stop() {
	m.mu.Lock()
	m.stopped = true
	for _, t := range m.threads {
		t.end()
	}
	m.mu.Unlock()
	m.running.Wait()
}

// retire lets an idle thread go, unless it just got work. The thread calls it.
func (m *Manager) retire(t *thread) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.count() > 0 {
		return false
	}
	if m.threads[t.key] == t {
		delete(m.threads, t.key)
	}
	return true
}

// Failed lists the partitions that were given up until the next LeaderAndIsr: fenced,
// on a failed disk, or with records that the log does not take. Sorted.
func (m *Manager) Failed() []topic.Partition { return m.failed.list() }

// failedPartitions mirrors Kafka's FailedPartitions.
type failedPartitions struct {
	mu  sync.Mutex // guards set; nothing is taken under it
	set map[topic.Partition]struct{}
}

func (f *failedPartitions) add(p topic.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.set == nil {
		f.set = map[topic.Partition]struct{}{}
	}
	f.set[p] = struct{}{}
}

func (f *failedPartitions) forget(p topic.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.set, p)
}

func (f *failedPartitions) remove(starts map[topic.Partition]replica.FetchStart) {
	for p := range starts {
		f.forget(p)
	}
}

func (f *failedPartitions) list() []topic.Partition {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]topic.Partition, 0, len(f.set))
	for p := range f.set {
		out = append(out, p)
	}
	slices.SortFunc(out, topic.Partition.Compare)
	return out
}
