package commitlog

import (
	"errors"
	"fmt"

	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// Origin says who appends.
type Origin int8

const (
	FromClient      Origin = iota
	FromCoordinator        // the group or transaction coordinator of this broker
)

// AppendInfo is the outcome of an append. Mirrors kafka.log.LogAppendInfo.
type AppendInfo struct {
	FirstOffset          int64 // -1 when nothing was appended
	LastOffset           int64
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64
	LogAppendTime        int64 // -1 with CreateTime
	LogStartOffset       int64
	Bytes                int
	Count                int // records from a producer; batches from a leader
}

// UnexpectedOffset is the cause inside the error of an AppendAsFollower that would
// overwrite: the batches begin below the log end.
type UnexpectedOffset struct{ First, Last, LogEnd int64 }

func (u *UnexpectedOffset) Error() string {
	return fmt.Sprintf("first offset %d of the append (last %d) is below the log end %d", u.First, u.Last, u.LogEnd)
}

// AppendAsLeader validates records, gives them offsets from the log end on, stamps
// leaderEpoch, rolls if needed, and writes once. Offsets and epoch are written into
// records itself, which must not be touched until it returns. Errors carry Kafka's
// code; an I/O error takes the directory offline: KAFKA_STORAGE_ERROR.
func (l *Log) AppendAsLeader(records []byte, leaderEpoch int32, origin Origin) (AppendInfo, error) {
	info, err := l.appendAsLeader(records, leaderEpoch, origin)
	if err != nil {
		return info, l.failed("append to", err)
	}
	return info, l.maybeFlush()
}

func (l *Log) appendAsLeader(records []byte, leaderEpoch int32, origin Origin) (AppendInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable("append to"); err != nil {
		return AppendInfo{FirstOffset: -1}, err
	}
	c := l.config.Load()
	v, err := record.ValidateAndAssign(records, l.EndOffset(), record.Rules{
		Now:                nowMs(),
		TimestampType:      c.TimestampType,
		MaxTimestampDiffMs: c.TimestampDiffMaxMs,
		NeedKey:            c.Compact,
		Compression:        c.CompressionType,
		MaxMessageBytes:    c.MaxMessageBytes,
		LeaderEpoch:        leaderEpoch,
		FromClient:         origin == FromClient,
		Partition:          l.partition,
	})
	if err != nil {
		return AppendInfo{FirstOffset: -1}, withCode(err)
	}
	if len(v.Batches) == 0 {
		return AppendInfo{FirstOffset: -1, LastOffset: -1, LogAppendTime: -1, LogStartOffset: l.StartOffset()}, nil
	}
	info := AppendInfo{
		FirstOffset:          v.FirstOffset,
		LastOffset:           v.LastOffset,
		MaxTimestamp:         v.MaxTimestamp,
		OffsetOfMaxTimestamp: v.OffsetOfMaxTimestamp,
		LogAppendTime:        v.LogAppendTime,
		Bytes:                len(v.Batches),
		Count:                v.Count,
	}
	return l.append(info, v.Batches, func() error { return l.epochs.assign(leaderEpoch, v.FirstOffset) })
}

// withCode makes sure that a refusal of records is not taken for a disk's error.
func withCode(err error) error {
	var code kafkaerr.Code
	if errors.As(err, &code) {
		return err
	}
	return kafkaerr.Wrap(kafkaerr.CodeOf(err), "validate records", err)
}

// AppendAsFollower appends what the leader sent, offsets and epochs as they are. The
// first offset must not be below the log end, the offsets must rise, and the CRCs
// must hold; a partial batch at the end is cut off.
func (l *Log) AppendAsFollower(records []byte) (AppendInfo, error) {
	info, epochs, err := examine(records)
	if err == nil && info.Count > 0 {
		info, err = l.appendExamined(info, records[:info.Bytes], epochs)
	}
	if err != nil {
		return AppendInfo{FirstOffset: -1}, l.failed("append to", err)
	}
	if info.Count == 0 {
		return info, nil
	}
	return info, l.maybeFlush()
}

func (l *Log) appendExamined(info AppendInfo, records []byte, epochs []EpochEntry) (AppendInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable("append to"); err != nil {
		return info, err
	}
	if end := l.EndOffset(); info.FirstOffset < end {
		return info, kafkaerr.Wrap(kafkaerr.UnknownServerError, "append to "+l.partition.String(),
			&UnexpectedOffset{info.FirstOffset, info.LastOffset, end})
	}
	return l.append(info, records, func() error {
		for _, e := range epochs {
			if err := l.epochs.assign(e.Epoch, e.Start); err != nil {
				return err
			}
		}
		return nil
	})
}

// examine checks batches that a leader sent and sums them up. epochs has an entry
// for each batch whose epoch differs from the one before.
func examine(records []byte) (info AppendInfo, epochs []EpochEntry, err error) {
	info = AppendInfo{FirstOffset: -1, LastOffset: -1, MaxTimestamp: -1, OffsetOfMaxTimestamp: -1, LogAppendTime: -1}
	for {
		rest := records[info.Bytes:]
		if partialBatch(rest) {
			return info, epochs, nil
		}
		h, err := parseHeader(rest, int64(len(rest)))
		if err == nil {
			err = h.checkCRC(rest[:h.size])
		}
		if err != nil {
			return info, nil, kafkaerr.Wrap(kafkaerr.CorruptMessage, "append from the leader", err)
		}
		if info.Count > 0 && h.base <= info.LastOffset {
			return info, nil, kafkaerr.Wrap(kafkaerr.UnknownServerError, "append from the leader",
				fmt.Errorf("offsets out of order: batch from %d after %d", h.base, info.LastOffset))
		}
		if info.Count == 0 {
			info.FirstOffset = h.base
		}
		info.Count++
		info.Bytes += int(h.size)
		info.LastOffset = h.last
		if h.maxTimestamp > info.MaxTimestamp {
			info.MaxTimestamp, info.OffsetOfMaxTimestamp = h.maxTimestamp, h.last
		}
		if n := len(epochs); h.epoch >= 0 && (n == 0 || epochs[n-1].Epoch != h.epoch) {
			epochs = append(epochs, EpochEntry{h.epoch, h.base})
		}
	}
}

// partialBatch says that b ends inside its first batch: what a fetch bounded in
// bytes ends with.
func partialBatch(b []byte) bool {
	if len(b) < logOverhead {
		return true
	}
	length := int64(int32(uint32(b[8])<<24 | uint32(b[9])<<16 | uint32(b[10])<<8 | uint32(b[11])))
	return length >= minBatchV0 && length+logOverhead > int64(len(b))
}

// append writes checked records into the active segment, rolled first if need be.
// The caller holds mu.
func (l *Log) append(info AppendInfo, records []byte, assignEpochs func() error) (AppendInfo, error) {
	c := l.config.Load()
	if len(records) > c.SegmentBytes {
		return info, kafkaerr.Wrap(kafkaerr.RecordListTooLarge, "append to "+l.partition.String(),
			fmt.Errorf("%d bytes in one append, segment.bytes is %d", len(records), c.SegmentBytes))
	}
	if err := assignEpochs(); err != nil {
		return info, err
	}
	s := l.state.Load()
	seg := s.active()
	roll, err := shouldRoll(seg, c, info, len(records), nowMs())
	if err != nil {
		return info, err
	}
	if roll {
		if seg, err = l.roll(info.FirstOffset); err != nil {
			return info, err
		}
	}
	if err := seg.append(records, info.LastOffset, info.MaxTimestamp, info.OffsetOfMaxTimestamp); err != nil {
		return info, err
	}
	l.publish(func(s *logState) {
		s.end = OffsetMetadata{info.LastOffset + 1, seg.base, int(seg.size.Load())}
		info.LogStartOffset = s.start
	})
	return info, nil
}

// maybeFlush is flush.messages. It runs after the append gave up mu.
func (l *Log) maybeFlush() error {
	s := l.state.Load()
	if s.end.Offset-s.recovery >= l.config.Load().FlushMessages {
		return l.Flush()
	}
	return nil
}
