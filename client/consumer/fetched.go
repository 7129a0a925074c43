package consumer

import (
	"fmt"
	"iter"

	"kz/internal/record"
	"kz/internal/topic"
)

// Fetched is what one Poll gives of one partition: the records of offsets [From, To).
type Fetched struct {
	Partition     topic.Partition
	From          int64 // earlier records of the first batch are skipped
	To            int64 // the position after it: what a commit of it says
	HighWatermark int64
	Bytes         []byte // whole batches
	checkCRC      bool
	version       int // of the position it was read at
	answer        *answer
}

// Records yields the records. Key and value alias the answer and are valid until
// Release. Control records are skipped. An error ends it: CORRUPT_MESSAGE.
func (f *Fetched) Records() iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for b, err := range record.Batches(f.Bytes) {
			if err == nil && f.checkCRC {
				err = b.CheckCRC()
			}
			if err != nil {
				yield(record.Record{}, fmt.Errorf("%v: %w", f.Partition, err))
				return
			}
			if b.IsControl() || b.LastOffset() < f.From {
				continue
			}
			if b.BaseOffset() >= f.To {
				return
			}
			for r, err := range b.Records() {
				if err == nil && (r.Offset < f.From || r.Offset >= f.To) {
					continue
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Release gives the memory back once the records are done with. It is optional.
func (f *Fetched) Release() { f.answer.release() }

// split cuts off what holds at most limit records, and gives what is left, if anything.
// It counts offsets, not records, so that nothing has to be decompressed: of a
// compacted batch a piece may hold fewer. epoch is the leader's at the end of the
// piece, -1 when the bytes do not say.
func (f Fetched) split(limit int) (piece Fetched, rest *Fetched, epoch int32) {
	piece, epoch = f, -1
	left := int64(limit)
	at := f.From
	for b, err := range record.Batches(f.Bytes) {
		if err != nil || b.BaseOffset() >= f.To {
			break // Records says what is wrong with it
		}
		first, last := max(b.BaseOffset(), f.From), min(b.LastOffset(), f.To-1)
		if last < first {
			continue
		}
		if left == 0 {
			break
		}
		epoch = b.LeaderEpoch()
		if n := last - first + 1; n > left {
			last = first + left - 1
		}
		left -= last - first + 1
		at = last + 1
	}
	if at >= f.To || at == f.From {
		return piece, nil, epoch
	}
	piece.To = at
	more := f
	more.From = at
	return piece, &more, epoch
}
