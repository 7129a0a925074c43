package replica

import (
	"context"

	"kz/internal/topic"
	"kz/zkpaths"
)

// LogDirFailure takes the partitions of a failed directory offline, answers who waits
// for them with KAFKA_STORAGE_ERROR, and tells the controller, which then elects
// leaders elsewhere. With no directory left the broker ends: what it would answer is
// false. commitlog calls it once per directory, on a goroutine of its own, when the
// logs are already out of its books; it may wait for ZooKeeper.
func (m *Manager) LogDirFailure(dir string, logs []topic.Partition) {
	m.stateMu.Lock()
	m.log.Error().Str("dir", dir).Int("partitions", len(logs)).Msg("log dir failed; its replicas are offline")
	m.removeFetchers(logs)
	var gone []*Partition
	for _, id := range logs {
		if p, _ := m.hosted(id); p != nil { // a log that nobody asked for may be made anew elsewhere
			m.markOffline(p)
			gone = append(gone, p)
		}
	}
	m.tellGone(logs)
	m.stateMu.Unlock()
	for _, p := range gone {
		m.completeAll(p) // no lock is held
	}
	if len(m.deps.Logs.LiveDirs()) == 0 {
		m.deps.Halt("all log dirs have failed, the last one is " + dir)
		return
	}
	m.tellLogDirFailure(m.ctx)
}

func (m *Manager) tellLogDirFailure(ctx context.Context) {
	if _, err := m.deps.Zk.CreateSequential(ctx, zkpaths.LogDirEventPrefix, zkpaths.EncodeLogDirEvent(m.cfg.BrokerID)); err != nil {
		m.log.Error().Err(err).Msg("could not tell the controller of the failed log dir")
	}
}
