package replica

import (
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// LedRead is a piece of a log that this broker leads, as ReadLed found it.
type LedRead struct {
	Data   []byte // batches, the last one perhaps cut; empty at the log's end
	Offset int64  // where it begins, or in its first batch
}

// ReadLed copies what is at offset and behind, up to about maxBytes, but at least one
// batch; offset -1 or below the log's start is that start. The coordinators load by it, to the log's
// end: what is not committed yet was theirs to write, or their predecessor's. A broker
// that does not lead gets NOT_LEADER_OR_FOLLOWER.
func (m *Manager) ReadLed(id topic.Partition, offset int64, maxBytes int) (LedRead, error) {
	p, code := m.partition(id)
	if code != kafkaerr.None {
		return LedRead{}, kafkaerr.Wrap(code, "read "+id.String(), nil)
	}
	p.mu.RLock()
	log, code := p.localLog(noEpoch, true)
	p.mu.RUnlock()
	if code != kafkaerr.None {
		return LedRead{}, kafkaerr.Wrap(code, "read "+id.String(), nil)
	}
	offset = max(offset, log.StartOffset())
	info, err := log.Read(offset, maxBytes, log.End(), true)
	if err != nil {
		return LedRead{}, err
	}
	defer info.Data.Release()
	data, err := info.Data.ReadAll()
	return LedRead{Data: data, Offset: offset}, err
}
