package record

import (
	"errors"
	"fmt"

	"kz/internal/kafkaerr"
)

// firstZstdVersion is the first Produce version that may carry zstd.
const firstZstdVersion = 7

// CheckProduce is what Kafka demands of one partition's records before it looks at the
// partition, at Produce version 3 and later: exactly one batch, of magic 2, and no zstd
// before version 7. A partial tail after the batch is let pass (and cut off later).
//
//	nothing whole, magic 0 or 1, a second batch   INVALID_RECORD
//	a broken size or magic                        CORRUPT_MESSAGE
//	zstd before version 7                         UNSUPPORTED_COMPRESSION_TYPE
//
// Mirrors ProduceRequest.validateRecords.
func CheckProduce(version int16, records []byte) error {
	_, err := onlyBatch(version, records)
	return err
}

func onlyBatch(version int16, records []byte) (Batch, error) {
	first, rest, err := Next(records)
	switch {
	case errors.Is(err, ErrPartial):
		return nil, invalid("produce requests must have at least one whole record batch")
	case errors.Is(err, kafkaerr.UnsupportedForMessageFormat):
		return nil, invalid("produce requests are only allowed to contain record batches with magic version 2: %w", err)
	case err != nil:
		return nil, err
	case version < firstZstdVersion && first.Codec() == Zstd:
		return nil, kafkaerr.Wrap(kafkaerr.UnsupportedCompressionType, "record",
			fmt.Errorf("produce requests with version %d are not allowed to use zstd", version))
	}
	_, _, err = Next(rest)
	switch {
	case errors.Is(err, ErrPartial):
		return first, nil
	case errors.Is(err, kafkaerr.CorruptMessage):
		// Kafka tells clients what is wrong with the first entry, but not with the next.
		return nil, kafkaerr.Wrap(kafkaerr.CorruptMessage, "record", err)
	}
	return nil, invalid("produce requests are only allowed to contain exactly one record batch")
}

// checkFrame applies the rules for the batch as bytes, in Kafka's order.
//
// Mirrors the loop of Log.analyzeAndValidateRecords.
func (r *Rules) checkFrame(b Batch) error {
	if r.FromClient && b.BaseOffset() != 0 {
		return invalid("The baseOffset of the record batch in the append to %s should be 0, but it is %d", r.Partition, b.BaseOffset())
	}
	if r.MaxMessageBytes > 0 && len(b) > r.MaxMessageBytes {
		return tooLarge("The record batch size in the append to %s is %d bytes which exceeds the maximum configured value of %d.",
			r.Partition, len(b), r.MaxMessageBytes)
	}
	if err := b.CheckCRC(); err != nil {
		return err
	}
	if !b.Codec().Known() {
		return unknownCodec(b.Codec())
	}
	return nil
}

// checkHeader applies the rules for the header of a batch, in Kafka's order.
//
// Mirrors LogValidator.validateBatch.
func (r *Rules) checkHeader(b Batch) error {
	count, span := int64(b.Count()), int64(b.LastOffsetDelta())+1
	if !r.FromClient {
		if count <= 0 {
			return invalid("a batch of %d records for %s", count, r.Partition)
		}
		return nil
	}
	switch {
	case span <= 0:
		return invalid("Batch has an invalid offset range: [%d, %d] in topic partition %s.", b.BaseOffset(), b.LastOffset(), r.Partition)
	case count <= 0:
		return invalid("Invalid reported count for record batch: %d in topic partition %s.", count, r.Partition)
	case span != count:
		return invalid("Inconsistent batch offset range [%d, %d] and count of records %d in topic partition %s.",
			b.BaseOffset(), b.LastOffset(), count, r.Partition)
	case b.IsControl():
		return invalid("Clients are not allowed to write control records in topic partition %s.", r.Partition)
	case b.ProducerID() >= 0 && b.BaseSequence() < 0:
		return invalid("Invalid sequence number %d in record batch with producerId %d in topic partition %s.",
			b.BaseSequence(), b.ProducerID(), r.Partition)
	case b.ProducerID() >= 0 || b.IsTransactional():
		// Without the producer state of the log, a retry could not be told from a new
		// batch: accepting these would break the promise the producer relies on.
		return kafkaerr.New(kafkaerr.UnsupportedForMessageFormat, "kz does not serve idempotent or transactional producers yet")
	}
	return nil
}

// tooLarge: a Java producer splits the batch and tries again.
func tooLarge(format string, args ...any) error {
	return kafkaerr.Wrap(kafkaerr.MessageTooLarge, "record", fmt.Errorf(format, args...))
}
