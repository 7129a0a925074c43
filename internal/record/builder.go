package record

import (
	"encoding/binary"
	"fmt"
)

// Builder writes one magic 2 batch. It is for one goroutine.
//
// Mirrors MemoryRecordsBuilder.
type Builder struct {
	codec      Codec
	baseOffset int64

	// buf is the batch as it grows, not compressed: room for the header, then records.
	buf []byte
	// out is the closed batch: buf itself, or folded, the compressed copy.
	out, folded []byte

	count          int32
	lastOffset     int64
	firstTimestamp int64
	maxTimestamp   int64
	batchFields
	headers []byte // scratch
}

// batchFields are what a header holds besides the records.
type batchFields struct {
	leaderEpoch   int32
	producerID    int64
	producerEpoch int16
	baseSequence  int32
	flags         int16 // attributes without the codec
	logAppendTime int64 // with the LogAppendTime flag
}

var noProducer = batchFields{leaderEpoch: -1, producerID: -1, producerEpoch: -1, baseSequence: -1}

// NewBuilder starts a batch. It panics for a codec that does not exist.
func NewBuilder(codec Codec, baseOffset int64) *Builder {
	if !codec.Known() {
		panic(fmt.Sprintf("record: NewBuilder of %v", codec))
	}
	w := &Builder{codec: codec, baseOffset: baseOffset}
	w.Reset()
	return w
}

// Reset empties the builder for another batch with the same codec and base offset.
// What Bytes returned before is overwritten from now on.
func (w *Builder) Reset() {
	w.buf = append(w.buf[:0], make([]byte, HeaderSize)...)
	w.out = nil
	w.count = 0
	w.lastOffset = w.baseOffset - 1
	w.firstTimestamp, w.maxTimestamp = NoTimestamp, NoTimestamp
	w.batchFields = noProducer
}

// Append adds a record at the next offset. Timestamp is epoch ms or NoTimestamp; nil
// keys and values are null.
func (w *Builder) Append(timestamp int64, key, value []byte, headers ...Header) {
	w.AppendRecord(Record{Offset: w.lastOffset + 1, Timestamp: timestamp, Key: key, Value: value, Headers: headers})
}

// AppendRecord adds a record at its own offset, which may leave a gap but must be
// greater than the one before: it panics otherwise.
func (w *Builder) AppendRecord(r Record) {
	if w.out != nil {
		panic("record: Append to a closed Builder")
	}
	delta := r.Offset - w.baseOffset
	if r.Offset <= w.lastOffset || delta != int64(int32(delta)) {
		panic(fmt.Sprintf("record: offset %d after %d in a batch from %d", r.Offset, w.lastOffset, w.baseOffset))
	}
	if w.count == 0 {
		w.firstTimestamp = r.Timestamp
	}
	w.maxTimestamp = max(w.maxTimestamp, r.Timestamp)
	w.headers = appendHeaders(w.headers[:0], r.Headers)
	f := fields{
		timestampDelta: r.Timestamp - w.firstTimestamp,
		offsetDelta:    int32(delta),
		key:            r.Key, keyLen: nullableLen(r.Key),
		value: r.Value, valueLen: nullableLen(r.Value),
		headers: w.headers, headerCount: int32(len(r.Headers)),
	}
	w.buf = appendRecord(w.buf, bodySize(&f), &f)
	w.lastOffset = r.Offset
	w.count++
}

func nullableLen(b []byte) int32 {
	if b == nil {
		return -1
	}
	return int32(len(b))
}

func appendHeaders(b []byte, headers []Header) []byte {
	for _, h := range headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendField(b, h.Value, nullableLen(h.Value))
	}
	return b
}

// SizeWith is Len after appending such a record: what a producer compares with
// batch.size and max.request.size.
func (w *Builder) SizeWith(timestamp int64, key, value []byte, headers ...Header) int {
	f := fields{
		offsetDelta: int32(w.lastOffset + 1 - w.baseOffset),
		key:         key, keyLen: nullableLen(key), value: value, valueLen: nullableLen(value),
		headerCount: int32(len(headers)),
	}
	if w.count > 0 {
		f.timestampDelta = timestamp - w.firstTimestamp
	}
	size := bodySize(&f)
	for _, h := range headers {
		size += varintLen(int64(len(h.Key))) + len(h.Key) + varintLen(int64(nullableLen(h.Value))) + len(h.Value)
	}
	return w.Len() + varintLen(int64(size)) + size
}

// SetProducer writes the identity of an idempotent or transactional producer.
func (w *Builder) SetProducer(id int64, epoch int16, baseSequence int32, transactional bool) {
	w.producerID, w.producerEpoch, w.baseSequence = id, epoch, baseSequence
	w.setFlag(attrTransactional, transactional)
}

// SetControl makes it a control batch: its one record is a marker (see Marker).
func (w *Builder) SetControl() { w.setFlag(attrControl, true) }

// SetLeaderEpoch stamps the epoch; a producer leaves -1.
func (w *Builder) SetLeaderEpoch(epoch int32) { w.leaderEpoch = epoch }

// SetLogAppendTime gives every record the time of the append, in epoch ms.
func (w *Builder) SetLogAppendTime(ms int64) {
	w.logAppendTime = ms
	w.setFlag(attrLogAppendTime, true)
}

// SetLastOffset keeps offsets that have no record any more, as compaction does.
func (w *Builder) SetLastOffset(offset int64) { w.lastOffset = max(w.lastOffset, offset) }

// SetMaxTimestamp sets a max timestamp that no record has any more: a batch that
// compaction has emptied keeps it.
func (w *Builder) SetMaxTimestamp(ms int64) { w.maxTimestamp = max(w.maxTimestamp, ms) }

func (w *Builder) setFlag(bit int16, on bool) {
	w.flags &^= bit
	if on {
		w.flags |= bit
	}
}

// Len is the size in bytes if closed now, before compression.
func (w *Builder) Len() int { return len(w.buf) }

// Count is the number of records so far.
func (w *Builder) Count() int { return int(w.count) }

// MaxTimestamp is the greatest timestamp so far, NoTimestamp if there is none.
func (w *Builder) MaxTimestamp() int64 { return w.maxTimestamp }

// Bytes closes the batch: compression, header, CRC. The bytes are the builder's own
// and good until Reset. Without records it is a header alone, as compaction leaves it.
func (w *Builder) Bytes() []byte {
	if w.out != nil {
		return w.out
	}
	w.out = w.buf
	if w.codec != None {
		w.folded = compress(w.codec, append(w.folded[:0], w.buf[:HeaderSize]...), w.buf[HeaderSize:])
		w.out = w.folded
	}
	maxTimestamp := w.maxTimestamp
	if w.flags&attrLogAppendTime != 0 {
		maxTimestamp = w.logAppendTime
	}
	writeHeader(w.out, header{
		baseOffset:      w.baseOffset,
		attributes:      w.flags | int16(w.codec),
		lastOffsetDelta: int32(w.lastOffset - w.baseOffset),
		firstTimestamp:  w.firstTimestamp,
		maxTimestamp:    maxTimestamp,
		count:           w.count,
		batchFields:     w.batchFields,
	})
	return w.out
}

// header is everything writeHeader does not know from the bytes themselves.
type header struct {
	baseOffset      int64
	attributes      int16
	lastOffsetDelta int32
	firstTimestamp  int64
	maxTimestamp    int64
	count           int32
	batchFields
}

// writeHeader fills the first 61 bytes of b, which holds the rest of the batch.
func writeHeader(b []byte, h header) {
	be := binary.BigEndian
	be.PutUint64(b[posBaseOffset:], uint64(h.baseOffset))
	be.PutUint32(b[posLength:], uint32(len(b)-LogOverhead))
	be.PutUint32(b[posLeaderEpoch:], uint32(h.leaderEpoch))
	b[posMagic] = Magic2
	be.PutUint16(b[posAttributes:], uint16(h.attributes))
	be.PutUint32(b[posLastOffsetDelta:], uint32(h.lastOffsetDelta))
	be.PutUint64(b[posFirstTimestamp:], uint64(h.firstTimestamp))
	be.PutUint64(b[posMaxTimestamp:], uint64(h.maxTimestamp))
	be.PutUint64(b[posProducerID:], uint64(h.producerID))
	be.PutUint16(b[posProducerEpoch:], uint16(h.producerEpoch))
	be.PutUint32(b[posBaseSequence:], uint32(h.baseSequence))
	be.PutUint32(b[posCount:], uint32(h.count))
	Batch(b).setCRC()
}
