package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"kz/internal/kafkaerr"
)

// minEntrySize is the smallest size field of any format: a magic 0 message without
// key and value.
const minEntrySize = 14

// ErrPartial: the bytes end inside a batch. At the end of a fetch answer or of a
// segment being written this is normal.
var ErrPartial = errors.New("record: the bytes end inside a batch")

// Next cuts the first whole batch off b, checking only sizes and magic.
//
// A partial tail (also an empty one) gives ErrPartial; a size below the minimum or an
// unknown magic CORRUPT_MESSAGE; magic 0 and 1 UNSUPPORTED_FOR_MESSAGE_FORMAT, as kz
// does not read them. The batch aliases b.
//
// Mirrors ByteBufferLogInputStream.nextBatch.
func Next(b []byte) (first Batch, rest []byte, err error) {
	if len(b) < LogOverhead {
		return nil, b, ErrPartial
	}
	size := int(int32(binary.BigEndian.Uint32(b[posLength:])))
	if size < minEntrySize {
		return nil, b, corrupt("Record size %d is less than the minimum record overhead (%d)", size, minEntrySize)
	}
	if len(b) <= posMagic {
		return nil, b, ErrPartial
	}
	switch magic := int8(b[posMagic]); {
	case magic < 0 || magic > Magic2:
		return nil, b, corrupt("Invalid magic found in record: %d", magic)
	case magic < Magic2:
		return nil, b, kafkaerr.New(kafkaerr.UnsupportedForMessageFormat,
			fmt.Sprintf("kz does not read message format magic %d (before Kafka 0.11), only magic 2", magic))
	case size < HeaderSize-LogOverhead:
		return nil, b, corrupt("Record batch is corrupt (the size %d is smaller than the minimum allowed overhead %d)", size+LogOverhead, HeaderSize)
	}
	if len(b)-LogOverhead < size {
		return nil, b, ErrPartial
	}
	end := LogOverhead + size
	return Batch(b[:end:end]), b[end:], nil
}

// Batches yields each whole batch of b, ending silently at a partial tail, with an
// error at a corrupt one.
func Batches(b []byte) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for rest := b; ; {
			var first Batch
			var err error
			first, rest, err = Next(rest)
			if errors.Is(err, ErrPartial) {
				return
			}
			if !yield(first, err) || err != nil {
				return
			}
		}
	}
}

// corrupt is damage of the frame: the client may send it again.
func corrupt(format string, args ...any) error {
	return kafkaerr.New(kafkaerr.CorruptMessage, fmt.Sprintf(format, args...))
}

// invalid is a well-framed batch that breaks a rule. Kafka tells the client only the
// code, so the text stays in our log.
func invalid(format string, args ...any) error {
	return kafkaerr.Wrap(kafkaerr.InvalidRecord, "record", fmt.Errorf(format, args...))
}

// asInvalid gives an error of the walk its Kafka code, if it has none yet.
func asInvalid(err error) error {
	if kafkaerr.CodeOf(err) != kafkaerr.UnknownServerError {
		return err
	}
	return kafkaerr.Wrap(kafkaerr.InvalidRecord, "record", err)
}
