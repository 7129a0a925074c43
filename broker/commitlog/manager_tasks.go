package commitlog

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Start runs the tasks that watch over the logs, until Stop:
//
//	retention    DeleteOldSegments on every log
//	flush        flush.ms
//	checkpoints  recovery points, log starts, high watermarks
//	remover      unlinks what waited out file.delete.delay.ms
//	flusher      one per directory: fsyncs rolled segments
func (m *Manager) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != notStarted {
		return
	}
	m.state = running
	m.wg.Go(func() { m.remover.run(m.stop) })
	for _, dir := range m.dirs {
		m.wg.Go(func() { dir.flusher.run(m.stop) })
	}
	c, delay := m.cfg, m.cfg.InitialTaskDelay
	m.every(delay, c.RetentionCheckInterval, m.deleteOldSegments)
	m.every(delay, c.FlushCheckInterval, m.flushByTime)
	m.every(delay, c.RecoveryPointCheckpoint, func() { m.checkpoint((*Manager).checkpointRecoveryPoints) })
	m.every(delay, c.StartOffsetCheckpoint, func() { m.checkpoint((*Manager).checkpointStartOffsets) })
	m.every(c.HighWatermarkCheckpoint, c.HighWatermarkCheckpoint, m.CheckpointHighWatermarks)
}

const never = 100 * 365 * 24 * time.Hour

// every runs task after delay and then each interval, on a goroutine of its own that
// ends with Stop.
func (m *Manager) every(delay, interval time.Duration, task func()) {
	if interval <= 0 || interval >= never {
		return
	}
	m.wg.Go(func() {
		timer := time.NewTimer(max(delay, 0))
		defer timer.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-timer.C:
			}
			task()
			timer.Reset(interval)
		}
	})
}

func (m *Manager) deleteOldSegments() {
	for _, l := range m.All() {
		l.DeleteOldSegments() // an error has taken the directory offline, which is logged there
	}
}

func (m *Manager) flushByTime() {
	now := nowMs()
	for _, l := range m.All() {
		l.maybeFlushByTime(now)
	}
}

// ---- checkpoints ------------------------------------------------------------------

func (m *Manager) checkpoint(write func(*Manager, *logDir) error) {
	m.mu.Lock()
	over := m.state == stopped
	m.mu.Unlock()
	if over {
		return // written by Stop, or never to be written after Kill; the directories may be another's
	}
	for _, dir := range m.live() {
		if err := write(m, dir); err != nil {
			m.FailDir(dir.path, err)
		}
	}
}

// writeOffsets writes one of the directory's checkpoints from its logs. of returns
// false for a log that has no entry.
func (m *Manager) writeOffsets(dir *logDir, c *offsetCheckpoint, of func(*Log) (int64, bool)) error {
	dir.checkpointing.Lock()
	defer dir.checkpointing.Unlock()
	offsets := map[topic.Partition]int64{}
	for _, l := range m.logsIn(dir) {
		if offset, ok := of(l); ok {
			offsets[l.partition] = offset
		}
	}
	if err := c.write(offsets); err != nil {
		return err
	}
	dir.written[c] = offsets
	return nil
}

func (m *Manager) checkpointRecoveryPoints(dir *logDir) error {
	return m.writeOffsets(dir, &dir.recoveryPoints, func(l *Log) (int64, bool) { return l.RecoveryPoint(), true })
}

// checkpointStartOffsets lists only the logs that begin inside their first segment:
// of the others the file name says it.
func (m *Manager) checkpointStartOffsets(dir *logDir) error {
	return m.writeOffsets(dir, &dir.startOffsets, func(l *Log) (int64, bool) {
		s := l.state.Load()
		return s.start, s.start > s.segments[0].base
	})
}

func (m *Manager) checkpointHighWatermarks(dir *logDir) error {
	return m.writeOffsets(dir, &dir.highWatermarks, func(l *Log) (int64, bool) { return l.HighWatermark(), true })
}

// CheckpointHighWatermarks writes replication-offset-checkpoint in every live
// directory, from the logs' marks.
func (m *Manager) CheckpointHighWatermarks() { m.checkpoint((*Manager).checkpointHighWatermarks) }

// marksLowered implements keeper. It writes only what would otherwise stay too high.
func (m *Manager) marksLowered(l *Log) error {
	dir := m.dirOf(l.parent)
	dir.checkpointing.Lock()
	recovery := dir.written[&dir.recoveryPoints][l.partition] > l.RecoveryPoint()
	start := dir.written[&dir.startOffsets][l.partition] > l.StartOffset()
	dir.checkpointing.Unlock()
	if recovery {
		if err := m.checkpointRecoveryPoints(dir); err != nil {
			return err
		}
	}
	if start {
		return m.checkpointStartOffsets(dir)
	}
	return nil
}

// forget drops what the checkpoints and the memory of the start still say of a
// partition that is about to be made anew.
func (m *Manager) forget(p topic.Partition) error {
	for _, dir := range m.live() {
		m.mu.Lock()
		if _, ok := dir.atStart[p]; ok {
			dir.atStart = maps.Clone(dir.atStart)
			delete(dir.atStart, p)
		}
		m.mu.Unlock()
		dir.checkpointing.Lock()
		has := func(c *offsetCheckpoint) bool { _, ok := dir.written[c][p]; return ok }
		stale := []bool{has(&dir.recoveryPoints), has(&dir.startOffsets), has(&dir.highWatermarks)}
		dir.checkpointing.Unlock()
		for i, write := range []func(*logDir) error{m.checkpointRecoveryPoints, m.checkpointStartOffsets, m.checkpointHighWatermarks} {
			if !stale[i] {
				continue
			}
			if err := write(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Manager) dirOf(path string) *logDir {
	for _, dir := range m.dirs {
		if dir.path == path {
			return dir
		}
	}
	return nil
}

func (m *Manager) flushLater(l *Log) { m.dirOf(l.parent).flusher.later(l) }

func (m *Manager) removeLater(delay time.Duration, remove func(unlink bool)) {
	m.remover.later(delay, remove)
}

// ---- failing directories ----------------------------------------------------------

func (m *Manager) dirFailed(dir string, cause error) { m.FailDir(dir, cause) }

// OnDirFailure registers the one listener: called once for each directory that
// fails, on a goroutine of its own, with the partitions whose logs were there, which
// Get and All no longer find.
func (m *Manager) OnDirFailure(f func(dir string, logs []topic.Partition)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onFailure = f
}

// FailDir takes a directory offline. An I/O error on any of its files does the same.
// It may be called with a log's lock held.
func (m *Manager) FailDir(path string, cause error) {
	dir := m.dirOf(path)
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir == nil || dir.cause != nil || m.state == stopped {
		return
	}
	dir.cause = cause
	var lost []*Log
	var partitions []topic.Partition
	for p, l := range m.logs {
		if l.parent == path {
			lost = append(lost, l)
			partitions = append(partitions, p)
			delete(m.logs, p)
			l.shut(kafkaerr.KafkaStorageError, cause)
		}
	}
	listener := m.onFailure
	m.wg.Go(func() {
		m.log.Error().Err(cause).Str("dir", path).Int("logs", len(lost)).Msg("log directory failed: offline")
		if m.journal.On() {
			m.journal.Emit(journal.Event{Kind: journal.LogDirFailed, Source: "commitlog", Path: path, Text: cause.Error()})
		}
		for _, l := range lost {
			l.abandon(kafkaerr.KafkaStorageError, cause)
		}
		dir.lock.unlock()
		if listener != nil {
			listener(path, partitions)
		}
	})
}

// ---- the end ----------------------------------------------------------------------

// Stop ends the tasks, flushes and closes every log, writes the checkpoints and, if
// all of a directory's logs were closed in order, its clean-shutdown marker; then it
// unlocks.
func (m *Manager) Stop() {
	if !m.halt() {
		return
	}
	for _, dir := range m.live() {
		if err := m.closeDir(dir); err != nil {
			m.log.Error().Err(err).Str("dir", dir.path).Msg("not closed in order: the next start recovers its logs")
		}
	}
	m.remover.stop()
	m.unlockAll()
}

// Kill ends as kill -9 would: nothing is flushed or written, but no goroutine, file
// or lock is left. For tests that run brokers in one process.
func (m *Manager) Kill() {
	if !m.halt() {
		return
	}
	for _, l := range m.All() {
		l.abandon(kafkaerr.KafkaStorageError, errors.New("the broker was killed"))
	}
	m.remover.stop()
	m.unlockAll()
}

// halt ends every goroutine; false when that was done before.
func (m *Manager) halt() bool {
	m.mu.Lock()
	was := m.state
	m.state = stopped
	m.mu.Unlock()
	if was == stopped {
		return false
	}
	close(m.stop)
	m.wg.Wait()
	return true
}

func (m *Manager) closeDir(dir *logDir) error {
	logs := m.logsIn(dir)
	if err := m.checkpointHighWatermarks(dir); err != nil {
		return err
	}
	g := errgroup.Group{}
	g.SetLimit(m.workers())
	for _, l := range logs {
		g.Go(func() error {
			if err := l.close(); err != nil {
				return fmt.Errorf("close %s: %w", l.partition, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := m.checkpointRecoveryPoints(dir); err != nil {
		return err
	}
	if err := m.checkpointStartOffsets(dir); err != nil {
		return err
	}
	marker := filepath.Join(dir.path, cleanShutdownFile)
	f, err := m.disk.open(marker, true)
	if err != nil {
		return err
	}
	f.Close()
	return m.disk.syncDir(dir.path)
}
