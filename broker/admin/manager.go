package admin

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/config"
	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Manager changes topics on behalf of clients. Mirrors ZkAdminManager and
// DelayedCreatePartitions.
type Manager struct {
	cfg     *config.Config
	topics  *Topics
	meta    *metadata.Cache
	configs *Configs
	log     zerolog.Logger

	ctx  context.Context // ends on Stop
	stop context.CancelFunc
	wg   sync.WaitGroup // the waits for leaders

	mu       sync.Mutex      // guards inflight; a leaf
	inflight map[string]bool // topics being auto-created
}

// NewManager works on the cluster behind store. Stop must be called.
func NewManager(cfg *config.Config, store Store, meta *metadata.Cache, configs *Configs, log zerolog.Logger) *Manager {
	ctx, cancel := context.WithCancel(context.Background())
	return &Manager{cfg: cfg, topics: NewTopics(store), meta: meta, configs: configs, log: log,
		ctx: ctx, stop: cancel, inflight: map[string]bool{}}
}

// Stop answers everybody who still waits for leaders, with REQUEST_TIMED_OUT where one
// is missing, and fails ZooKeeper calls under way.
func (m *Manager) Stop() {
	m.stop()
	m.wg.Wait()
}

// pending is one topic that was written and now needs leaders.
type pending struct {
	name       string
	partitions Assignment
}

// led says whether the metadata cache knows a leader for every partition.
func (p pending) led(s *metadata.Snapshot) bool {
	for n := range p.partitions {
		st, ok := s.Partition(topic.Partition{Topic: p.name, Partition: n})
		if !ok || st.Leader == metadata.NoLeader {
			return false
		}
	}
	return true
}

// errTimedOut is what a client sees whose topic was written but has no leaders yet.
var errTimedOut = kafkaerr.Wrap(kafkaerr.RequestTimedOut, "wait for leaders", nil)

// await calls done exactly once: when every pending topic is led, after timeout, or on
// Stop. missing says which are not led. It holds no handler: with something to wait for,
// done runs on a goroutine of its own.
func (m *Manager) await(ps []pending, timeout time.Duration, done func(missing map[string]bool)) {
	missing := func() map[string]bool {
		s, out := m.meta.Current(), map[string]bool{}
		for _, p := range ps {
			if !p.led(s) {
				out[p.name] = true
			}
		}
		return out
	}
	changed := m.meta.Changed()
	if len(missing()) == 0 {
		done(nil)
		return
	}
	m.wg.Go(func() {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		for {
			select {
			case <-changed:
				changed = m.meta.Changed()
				if len(missing()) > 0 {
					continue
				}
			case <-timer.C:
			case <-m.ctx.Done():
			}
			done(missing())
			return
		}
	})
}
