package commitlog

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"kz/internal/journal"
	"kz/internal/topic"
)

func unique() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Load opens every log, recovering those of directories that were not closed in
// order, on all cores. overrides gives a topic's full Config (false: the defaults).
// A directory that fails goes offline; none left, or one partition in two
// directories, is an error.
func (m *Manager) Load(overrides func(topic string) (Config, bool)) error {
	began := time.Now()
	g := errgroup.Group{}
	g.SetLimit(m.workers())
	var mended atomic.Int64
	for _, dir := range m.live() {
		if err := m.loadDir(dir, overrides, &g, &mended); err != nil {
			m.FailDir(dir.path, err)
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(m.live()) == 0 {
		return fmt.Errorf("no log directory is left: %w", m.firstCause())
	}
	m.log.Info().Int("logs", len(m.All())).Int64("mended", mended.Load()).
		Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("loaded logs")
	return nil
}

// loadDir reads what the directory says of its logs and queues their loading.
func (m *Manager) loadDir(dir *logDir, overrides func(string) (Config, bool), g *errgroup.Group, mended *atomic.Int64) error {
	clean, err := m.wasClean(dir)
	if err != nil {
		return err
	}
	recovery, err := m.readCheckpoint(dir, &dir.recoveryPoints)
	if err != nil {
		return err
	}
	starts, err := m.readCheckpoint(dir, &dir.startOffsets)
	if err != nil {
		return err
	}
	hws, err := m.readCheckpoint(dir, &dir.highWatermarks)
	if err != nil {
		return err
	}
	m.mu.Lock()
	dir.atStart = hws
	m.mu.Unlock()
	entries, err := os.ReadDir(dir.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir.path, e.Name())
		if !e.IsDir() {
			continue
		}
		p, ok := parsePartitionDir(name)
		switch {
		case strings.HasSuffix(name, deleteDirSuffix):
			m.removeDirLater(path, time.Duration(m.defaults.Load().FileDeleteDelayMs)*time.Millisecond)
			continue
		case strings.HasSuffix(name, futureDirSuffix):
			m.mend(path, "a move between directories was under way, which kz does not do: left alone")
			continue
		case !ok:
			m.mend(path, "not named as a partition: left alone")
			continue
		}
		cfg, own := overrides(p.Topic)
		if !own {
			cfg = *m.defaults.Load()
		}
		lp := loadParams{clean: clean, recoveryPoint: recovery[p], startOffset: starts[p], highWatermark: hws[p]}
		g.Go(func() error {
			l, err := openLog(m.disk, dir.path, path, p, cfg, lp, m, m.journal, m.log)
			if err != nil {
				m.FailDir(dir.path, err) // the first counts
				return nil
			}
			if l.mended {
				mended.Add(1)
			}
			return m.add(dir, l)
		})
	}
	return nil
}

// wasClean says whether the last run closed the directory in order, and removes the
// mark of it before the first log is touched: a crash from now on is a crash.
func (m *Manager) wasClean(dir *logDir) (bool, error) {
	marker := filepath.Join(dir.path, cleanShutdownFile)
	_, err := os.Stat(marker)
	clean := err == nil
	m.log.Info().Str("dir", dir.path).Bool("clean", clean).Msg("loading logs")
	if clean {
		return true, m.disk.remove(marker)
	}
	return false, nil
}

// add puts a loaded log into the table.
func (m *Manager) add(dir *logDir, l *Log) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if other, ok := m.logs[l.partition]; ok {
		return fmt.Errorf("%s is in both %s and %s: delete the one from the directory that failed", l.partition, other.dir, l.dir)
	}
	if dir.cause != nil {
		return nil // failed while loading; the log was never in use
	}
	m.logs[l.partition] = l
	return nil
}

// readCheckpoint reads one of the directory's files. A malformed one is reported and
// taken as missing: recovery then checks more than it had to, and the high
// watermarks begin at the log starts.
func (m *Manager) readCheckpoint(dir *logDir, c *offsetCheckpoint) (map[topic.Partition]int64, error) {
	offsets, err := c.read()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case isMalformed(err):
		m.mend(c.path, err.Error()+": treated as missing")
		return nil, nil
	case err == nil:
		dir.checkpointing.Lock()
		dir.written[c] = offsets
		dir.checkpointing.Unlock()
	}
	return offsets, err
}

// mend reports something about a directory that was not as it should be.
func (m *Manager) mend(path, text string) {
	m.log.Warn().Str("path", path).Msg(text)
	if m.journal.On() {
		m.journal.Emit(journal.Event{Kind: journal.Recovery, Source: "commitlog", Path: path, Text: text})
	}
}

// CheckpointedHighWatermark is what replication-offset-checkpoint said at start, 0
// when it said nothing or the partition was deleted since. Load has already given
// it to the log.
func (m *Manager) CheckpointedHighWatermark(p topic.Partition) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range m.dirs {
		if hw, ok := dir.atStart[p]; ok && dir.cause == nil {
			return hw
		}
	}
	return 0
}
