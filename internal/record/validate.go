package record

import (
	"errors"
	"fmt"
)

// ValidateAndAssign checks produced bytes by every rule of the topic, gives offsets
// from nextOffset on and stamps the leader epoch, in place where Kafka does: unless
// the topic wants another compression, or a compressed batch has gaps in its offsets.
// Then Batches is a new batch, with consecutive offsets and the same producer fields.
//
// The order of the rules is Kafka's, so of several faults the same one is answered:
// the shape (one whole batch of magic 2), base offset, size, CRC, the header, then
// record by record. Bytes after the batch that make no whole entry are cut off; not from
// a client, they may be all there is, and then Batches is empty and the offsets are -1.
// On an error b is unchanged.
//
// The errors and their codes:
//
//	CORRUPT_MESSAGE                 broken size, magic or CRC
//	INVALID_RECORD                  anything else about the shape, header or a record's structure
//	INVALID_RECORD, _TIMESTAMP      as *InvalidRecords: which records break the topic's rules
//	MESSAGE_TOO_LARGE               before or after recompression, or unfolding too far
//	UNSUPPORTED_COMPRESSION_TYPE    a codec that does not exist
//	UNSUPPORTED_FOR_MESSAGE_FORMAT  an idempotent or transactional producer
//
// Mirrors Log.analyzeAndValidateRecords and LogValidator.validateMessagesAndAssignOffsets.
func ValidateAndAssign(b []byte, nextOffset int64, r Rules) (Validated, error) {
	if _, _, err := Next(b); errors.Is(err, ErrPartial) && !r.FromClient {
		return Validated{FirstOffset: -1, LastOffset: -1, MaxTimestamp: NoTimestamp, OffsetOfMaxTimestamp: -1, LogAppendTime: -1}, nil
	}
	batch, err := onlyBatch(firstZstdVersion, b)
	if err != nil {
		return Validated{}, err
	}
	if err := r.checkFrame(batch); err != nil {
		return Validated{}, err
	}
	target, ok := TargetCodec(r.Compression, batch.Codec())
	if !ok {
		return Validated{}, fmt.Errorf("record: unknown compression.type %q", r.Compression)
	}
	if err := r.checkHeader(batch); err != nil {
		return Validated{}, err
	}
	// A marker is written as it is: nobody would gain from compressing one record.
	if target == batch.Codec() || batch.IsControl() {
		s, err := r.scan(batch)
		if err != nil {
			return Validated{}, err
		}
		if s.consecutive || batch.Codec() == None {
			return r.stamp(batch, nextOffset, s), nil
		}
	}
	return r.rebuild(batch, nextOffset, target)
}

// scanned is what one pass over the records finds out.
type scanned struct {
	maxTimestamp int64 // NoTimestamp if no record has a greater one
	indexOfMax   int32 // the first record that has it, -1 if none
	consecutive  bool  // the offset deltas are 0, 1, 2, …
}

func (s *scanned) add(index int32, offsetDelta int32, timestamp int64) {
	if timestamp > s.maxTimestamp {
		s.maxTimestamp, s.indexOfMax = timestamp, index
	}
	if offsetDelta != index {
		s.consecutive = false
	}
}

// scan checks every record of b. It is the hot path of Produce: one pass, and nothing
// is allocated per record.
func (r *Rules) scan(b Batch) (scanned, error) {
	s := scanned{maxTimestamp: NoTimestamp, indexOfMax: -1, consecutive: true}
	w, err := newWalker(b, false)
	if err != nil {
		return s, err
	}
	defer w.close()
	var bad *InvalidRecords
	var f fields
	compressed := b.Codec() != None
	first, logAppendTime := b.FirstTimestamp(), b.IsLogAppendTime()
	for i := int32(0); w.left > 0; i++ {
		if err := w.check(&f); err != nil {
			return s, asInvalid(err)
		}
		timestamp := first + f.timestampDelta
		if logAppendTime {
			timestamp = b.MaxTimestamp()
		}
		r.checkRecord(b, i, &f, timestamp, compressed, &bad)
		s.add(i, f.offsetDelta, timestamp)
	}
	if bad != nil {
		return s, bad
	}
	return s, nil
}

// stamp assigns offsets, epoch and times in place.
func (r *Rules) stamp(b Batch, nextOffset int64, s scanned) Validated {
	count := b.Count()
	last := nextOffset + int64(count) - 1
	v := Validated{
		Batches: b, FirstOffset: nextOffset, LastOffset: last, Count: int(count),
		MaxTimestamp: s.maxTimestamp, OffsetOfMaxTimestamp: last, LogAppendTime: -1,
	}
	switch {
	case r.TimestampType == LogAppendTime:
		v.MaxTimestamp, v.LogAppendTime = r.Now, r.Now
	case b.Codec() == None && s.indexOfMax < 0:
		v.OffsetOfMaxTimestamp = -1
	case b.Codec() == None:
		v.OffsetOfMaxTimestamp = nextOffset + int64(s.indexOfMax)
	}
	b.SetBaseOffset(last - int64(b.LastOffsetDelta()))
	b.SetLeaderEpoch(r.LeaderEpoch)
	b.SetMaxTimestamp(r.TimestampType, v.MaxTimestamp)
	return v
}

// rebuild writes the records of b into a new batch with codec target, checking each on
// the way. Records pass through a window, so memory holds the new batch and one record.
//
// Mirrors LogValidator.buildRecordsAndAssignOffsets.
func (r *Rules) rebuild(b Batch, nextOffset int64, target Codec) (Validated, error) {
	w, err := newWalker(b, false)
	if err != nil {
		return Validated{}, err
	}
	defer w.close()
	out := newRewriter(target, r.limit(), len(b))
	defer out.close()
	s := scanned{maxTimestamp: NoTimestamp}
	var bad *InvalidRecords
	var f fields
	for i := int32(0); w.left > 0; i++ {
		if err := w.next(&f); err != nil {
			return Validated{}, asInvalid(err)
		}
		timestamp := b.FirstTimestamp() + f.timestampDelta
		if b.IsLogAppendTime() {
			timestamp = b.MaxTimestamp()
		}
		r.checkRecord(b, i, &f, timestamp, false, &bad)
		s.add(i, f.offsetDelta, timestamp)
		if bad == nil {
			out.add(i, timestamp, &f)
		}
	}
	if bad != nil {
		return Validated{}, bad
	}
	v := Validated{
		FirstOffset: nextOffset, LastOffset: nextOffset + int64(b.Count()) - 1, Count: int(b.Count()),
		MaxTimestamp: s.maxTimestamp, LogAppendTime: -1, Rewritten: true,
	}
	if r.TimestampType == LogAppendTime {
		v.MaxTimestamp, v.LogAppendTime = r.Now, r.Now
	}
	v.OffsetOfMaxTimestamp = v.LastOffset
	v.Batches, err = out.finish(r.newHeader(b, target, v))
	if errors.Is(err, errSinkFull) {
		err = tooLarge("Message batch size is more than %d bytes after recompression in append to partition %s which exceeds the maximum configured size.",
			r.limit(), r.Partition)
	}
	return v, err
}

// newHeader is the header of the batch that replaces b; firstTimestamp is left to the
// rewriter.
func (r *Rules) newHeader(b Batch, target Codec, v Validated) header {
	h := header{
		baseOffset:      v.FirstOffset,
		attributes:      int16(target) | b.Attributes()&attrTransactional,
		lastOffsetDelta: b.Count() - 1,
		maxTimestamp:    v.MaxTimestamp,
		count:           b.Count(),
		batchFields: batchFields{
			leaderEpoch: r.LeaderEpoch, producerID: b.ProducerID(),
			producerEpoch: b.ProducerEpoch(), baseSequence: b.BaseSequence(),
		},
	}
	if r.TimestampType == LogAppendTime {
		h.attributes |= attrLogAppendTime
	}
	return h
}

// limit is the greatest size of a batch in bytes.
func (r *Rules) limit() int {
	if r.MaxMessageBytes > 0 {
		return r.MaxMessageBytes
	}
	return MaxDecompressed
}
