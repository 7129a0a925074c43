package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// ManagerConfig is the storage's part of server.properties. An interval of zero or
// less, or longer than a century, means never.
type ManagerConfig struct {
	Dirs                    []string // log.dirs
	Defaults                Config
	RecoveryThreadsPerDir   int // num.recovery.threads.per.data.dir; all cores are used in any case
	RetentionCheckInterval  time.Duration
	FlushCheckInterval      time.Duration // log.flush.scheduler.interval.ms
	RecoveryPointCheckpoint time.Duration
	StartOffsetCheckpoint   time.Duration
	InitialTaskDelay        time.Duration // before the first run of the four above; 30 s in Kafka
	HighWatermarkCheckpoint time.Duration // replica.high.watermark.checkpoint.interval.ms
}

// Manager holds every log of a broker. Mirrors kafka.log.LogManager, and
// ReplicaManager's high watermark checkpoints.
//
// Locks, in this order: creating, then a log's own (see Log), then dir.checkpointing,
// then mu. mu is never held over file I/O or a call into a log.
type Manager struct {
	cfg      ManagerConfig
	disk     *disk
	journal  *journal.Journal
	log      zerolog.Logger
	dirs     []*logDir // in the order of log.dirs; the slice never changes
	remover  *remover
	defaults atomic.Pointer[Config]

	creating sync.Mutex // one log is created, or deleted, at a time

	mu        sync.Mutex // guards what follows and logDir.cause
	logs      map[topic.Partition]*Log
	onFailure func(dir string, logs []topic.Partition)
	state     managerState

	stop chan struct{}
	wg   sync.WaitGroup // every goroutine of the manager
}

type managerState int8

const (
	notStarted managerState = iota
	running
	stopped
)

// logDir is one entry of log.dirs.
type logDir struct {
	path    string
	lock    *dirLock
	flusher *flusher
	cause   error // why it is offline, nil while live

	checkpointing  sync.Mutex // guards what follows, over the writing
	recoveryPoints offsetCheckpoint
	startOffsets   offsetCheckpoint
	highWatermarks offsetCheckpoint
	atStart        map[topic.Partition]int64 // replication-offset-checkpoint as Load found it
	// What the files hold: a lowered recovery point, and a partition made anew
	// after a deletion, must not meet an old entry after a crash.
	written map[*offsetCheckpoint]map[topic.Partition]int64
}

// NewManager makes, checks and locks the directories. One that cannot be used is
// offline from the start; none left is an error, and so is a directory that another
// broker holds.
func NewManager(cfg ManagerConfig, j *journal.Journal, log zerolog.Logger) (*Manager, error) {
	return newManager(cfg, nil, j, log)
}

func newManager(cfg ManagerConfig, d *disk, j *journal.Journal, log zerolog.Logger) (*Manager, error) {
	m := &Manager{
		cfg: cfg, disk: d, journal: j, log: log,
		remover: newRemover(),
		logs:    map[topic.Partition]*Log{},
		stop:    make(chan struct{}),
	}
	m.defaults.Store(&cfg.Defaults)
	seen := map[string]bool{}
	for _, path := range cfg.Dirs {
		dir, err := m.openDir(path, seen)
		if err != nil {
			m.unlockAll()
			return nil, err
		}
		m.dirs = append(m.dirs, dir)
	}
	if len(m.live()) == 0 {
		m.unlockAll()
		return nil, fmt.Errorf("none of the log directories can be used: %w", m.firstCause())
	}
	return m, nil
}

// openDir makes the directory if need be and locks it. An I/O error leaves it offline.
func (m *Manager) openDir(path string, seen map[string]bool) (*logDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir := &logDir{path: path, flusher: newFlusher()}
	dir.recoveryPoints = offsetCheckpoint{d: m.disk, path: filepath.Join(path, recoveryPointFile)}
	dir.startOffsets = offsetCheckpoint{d: m.disk, path: filepath.Join(path, logStartFile)}
	dir.highWatermarks = offsetCheckpoint{d: m.disk, path: filepath.Join(path, highWatermarkFile)}
	dir.written = map[*offsetCheckpoint]map[topic.Partition]int64{}
	err = os.MkdirAll(path, 0o755)
	if err == nil {
		var real string
		if real, err = filepath.EvalSymlinks(path); err == nil && seen[real] {
			return nil, fmt.Errorf("log directory %s is configured twice", path)
		}
		seen[real] = true
	}
	if err == nil {
		dir.lock, err = lockDir(filepath.Join(path, lockFile))
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("lock %s: %w", filepath.Join(path, lockFile), err)
		}
	}
	if err != nil {
		dir.cause = err
		m.log.Error().Err(err).Str("dir", path).Msg("log directory cannot be used: offline")
	}
	return dir, nil
}

func (m *Manager) unlockAll() {
	for _, dir := range m.dirs {
		if dir.lock != nil {
			dir.lock.unlock()
		}
	}
}

func (m *Manager) firstCause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range m.dirs {
		if dir.cause != nil {
			return dir.cause
		}
	}
	return errors.New("log.dirs is empty")
}

func (m *Manager) live() []*logDir {
	return m.dirsWhere(func(d *logDir) bool { return d.cause == nil })
}

func (m *Manager) dirsWhere(want func(*logDir) bool) (dirs []*logDir) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range m.dirs {
		if want(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func paths(dirs []*logDir) []string {
	p := make([]string, len(dirs))
	for i, d := range dirs {
		p[i] = d.path
	}
	return p
}

// LiveDirs are the directories in use, as absolute paths.
func (m *Manager) LiveDirs() []string { return paths(m.live()) }

// OfflineDirs are those that failed.
func (m *Manager) OfflineDirs() []string {
	return paths(m.dirsWhere(func(d *logDir) bool { return d.cause != nil }))
}

// Get finds a log of a live directory.
func (m *Manager) Get(p topic.Partition) (*Log, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.logs[p]
	return l, ok
}

// All is every log of the live directories, in order of partition.
func (m *Manager) All() []*Log {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Log, 0, len(m.logs))
	for _, l := range m.logs {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Log) int { return a.partition.Compare(b.partition) })
	return all
}

func (m *Manager) logsIn(dir *logDir) []*Log {
	return slices.DeleteFunc(m.All(), func(l *Log) bool { return l.parent != dir.path })
}

// SetDefaults changes the defaults, and with them the config of every log that had
// the old ones.
func (m *Manager) SetDefaults(c Config) {
	old := m.defaults.Swap(&c)
	for _, l := range m.All() {
		if l.Config() == *old {
			l.SetConfig(c)
		}
	}
}

// workers is how many logs are opened or closed at a time: disks gain from several
// requests, and checking CRCs gains from every core.
func (m *Manager) workers() int {
	return max(runtime.GOMAXPROCS(0), m.cfg.RecoveryThreadsPerDir*len(m.dirs))
}

// GetOrCreate finds the log or makes it in the live directory with the fewest logs.
// With isNew false and a directory offline, which may hold it: KAFKA_STORAGE_ERROR.
// A partition that would not be found again at the next start is refused with
// INVALID_TOPIC_EXCEPTION: the fault is in its name, not on the disk.
func (m *Manager) GetOrCreate(p topic.Partition, cfg Config, isNew bool) (*Log, error) {
	if l, ok := m.Get(p); ok {
		return l, nil
	}
	m.creating.Lock()
	defer m.creating.Unlock()
	op := "create log " + p.String()
	if !canBeDir(p) {
		return nil, kafkaerr.Wrap(kafkaerr.InvalidTopicException, op, errors.New("no directory can have this name"))
	}
	for {
		dir, l, err := m.placeFor(p, isNew)
		if err != nil || l != nil {
			return l, err
		}
		l, err = m.create(dir, p, cfg)
		if err == nil {
			return l, nil
		}
		m.FailDir(dir.path, fmt.Errorf("%s: %w", op, err))
		if !isNew {
			return nil, kafkaerr.Wrap(kafkaerr.KafkaStorageError, op, err)
		}
	}
}

// placeFor picks the directory for a new log, or finds that there is one already.
func (m *Manager) placeFor(p topic.Partition, isNew bool) (*logDir, *Log, error) {
	op := "create log " + p.String()
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.logs[p]; ok {
		return nil, l, nil
	}
	if m.state == stopped {
		return nil, nil, kafkaerr.Wrap(kafkaerr.KafkaStorageError, op, errors.New("the broker is stopping"))
	}
	count := map[string]int{}
	if len(m.dirs) > 1 { // a choice to be made: the one with the fewest logs
		for _, l := range m.logs {
			count[l.parent]++
		}
	}
	var best *logDir
	for _, dir := range m.dirs {
		switch {
		case dir.cause != nil && !isNew:
			return nil, nil, kafkaerr.Wrap(kafkaerr.KafkaStorageError, op,
				fmt.Errorf("it may be on %s, which is offline", dir.path))
		case dir.cause == nil && (best == nil || count[dir.path] < count[best.path]):
			best = dir
		}
	}
	if best == nil {
		return nil, nil, kafkaerr.Wrap(kafkaerr.KafkaStorageError, op, errors.New("no log directory is left"))
	}
	return best, nil, nil
}

func (m *Manager) create(dir *logDir, p topic.Partition, cfg Config) (*Log, error) {
	if err := m.forget(p); err != nil {
		return nil, err
	}
	path := filepath.Join(dir.path, p.String())
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	l, err := openLog(m.disk, dir.path, path, p, cfg, loadParams{}, m, m.journal, m.log)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir.cause != nil {
		l.shut(kafkaerr.KafkaStorageError, dir.cause)
	}
	m.logs[p] = l
	return l, nil
}

// Delete renames the partition's directory to …-delete and removes it after
// file.delete.delay.ms. Slices of its segments stay readable. UNKNOWN_TOPIC_OR_PARTITION
// when there is no such log.
func (m *Manager) Delete(p topic.Partition) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	m.mu.Lock()
	l, ok := m.logs[p]
	delete(m.logs, p)
	m.mu.Unlock()
	if !ok {
		return kafkaerr.Wrap(kafkaerr.UnknownTopicOrPartition, "delete log "+p.String(), nil)
	}
	delay := time.Duration(l.Config().FileDeleteDelayMs) * time.Millisecond
	l.abandon(kafkaerr.UnknownTopicOrPartition, errDeleted)
	to := filepath.Join(l.parent, deletedDirName(p, unique()))
	if err := m.disk.rename(l.dir, to); err != nil {
		m.FailDir(l.parent, err)
		return kafkaerr.Wrap(kafkaerr.KafkaStorageError, "delete log "+p.String(), err)
	}
	m.log.Info().Stringer("partition", p).Str("dir", to).Msg("log renamed, to be deleted")
	m.removeDirLater(to, delay)
	return nil
}

func (m *Manager) removeDirLater(path string, delay time.Duration) {
	m.removeLater(delay, func(unlink bool) {
		if !unlink {
			return
		}
		if err := os.RemoveAll(path); err != nil {
			m.FailDir(filepath.Dir(path), err)
			return
		}
		m.log.Info().Str("dir", path).Msg("deleted log")
	})
}
