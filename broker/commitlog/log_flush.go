package commitlog

import (
	"errors"
	"math"
	"os"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
)

// Flush forces every record appended so far to disk and moves the recovery point.
// Mirrors Log.flush. The fsyncs run without the log's lock: appends go on.
func (l *Log) Flush() error { return l.flush(math.MaxInt64) }

// flushRolled flushes all segments but the active one.
func (l *Log) flushRolled() error { return l.flush(l.state.Load().active().base) }

func (l *Log) flush(limit int64) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.usable("flush"); err != nil {
		return err
	}
	s := l.state.Load()
	to := min(limit, s.end.Offset)
	if to <= s.recovery {
		return nil
	}
	l.journal.At(journal.MomentLogFlush, l.partition.String())
	for i := max(0, s.floor(s.recovery)); i < len(s.segments) && s.segments[i].base < to; i++ {
		err := s.segments[i].flush(l.dir)
		if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrNotExist) && l.state.Load() != s {
			continue // deleted meanwhile
		}
		if err != nil {
			return l.failed("flush", err)
		}
	}
	if err := l.epochs.flush(l.dir); err != nil {
		return l.failed("flush", err)
	}
	moved := false
	l.publish(func(now *logState) {
		// Truncated meanwhile: what was appended after the cut was perhaps not flushed.
		if moved = now.cuts == s.cuts && to > now.recovery; moved {
			now.recovery = to
		}
	})
	if moved {
		l.lastFlushed.Store(nowMs())
		if l.journal.On() {
			l.journal.Emit(journal.Event{Kind: journal.Flush, Source: "commitlog", Topic: l.partition.Topic,
				Partition: l.partition.Partition, Offset: to})
		}
	}
	return nil
}

// maybeFlushByTime is flush.ms.
func (l *Log) maybeFlushByTime(now int64) error {
	if now-l.lastFlushed.Load() < l.config.Load().FlushMs {
		return nil
	}
	return l.Flush()
}

// close ends the log in order: snapshot, indexes completed, everything flushed.
func (l *Log) close() error {
	l.mu.Lock()
	err := l.usable("close")
	if err == nil {
		err = l.snapshots.take(l.EndOffset())
	}
	if err == nil {
		err = l.state.Load().active().finish()
	}
	l.mu.Unlock()
	if err == nil {
		err = l.Flush()
	}
	if err != nil {
		return l.failed("close", err)
	}
	l.abandon(kafkaerr.KafkaStorageError, errors.New("the log was closed"))
	return nil
}

// abandon lets go of all files without writing, as after a crash, and refuses
// further work with code.
func (l *Log) abandon(code kafkaerr.Code, cause error) {
	l.shut(code, cause)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.abandoned {
		return
	}
	l.abandoned = true
	for _, seg := range l.state.Load().segments {
		seg.close()
	}
}
