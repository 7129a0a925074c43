package record

import "iter"

// Record is one record. Key and Value alias the batch (or its decompressed body); nil
// means null.
//
// Mirrors DefaultRecord.
type Record struct {
	Offset    int64
	Timestamp int64 // epoch ms, or NoTimestamp
	Key       []byte
	Value     []byte
	Headers   []Header // in order; a key may come twice
}

// Header is a record header. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// walker goes through the records of a batch, compressed or not, and checks each.
type walker struct {
	rest   []byte  // not compressed: what is left
	stream *stream // compressed
	left   int32   // records still to come
}

// newWalker starts at the first record. With keep, fields may be held beyond the next
// step. Close it.
func newWalker(b Batch, keep bool) (walker, error) {
	w := walker{left: b.Count()}
	if w.left < 0 {
		return walker{}, invalid("Found invalid record count %d in magic v2 batch", w.left)
	}
	if b.Codec() == None {
		w.rest = b[HeaderSize:]
		return w, nil
	}
	if w.left == 0 {
		return w, nil // Kafka does not look at the records either
	}
	var err error
	w.stream, err = openStream(b, keep)
	return w, err
}

func (w *walker) close() {
	if w.stream != nil {
		w.stream.close()
		w.stream = nil
	}
}

// next reads the next record into f, with key, value and headers.
func (w *walker) next(f *fields) error {
	if w.stream == nil {
		return w.check(f)
	}
	if err := w.stream.next(f); err != nil {
		return err
	}
	return w.step()
}

// check reads the next record into f; a large compressed one leaves only its lengths.
func (w *walker) check(f *fields) error {
	if w.stream != nil {
		if err := w.stream.check(f); err != nil {
			return err
		}
		return w.step()
	}
	body, rest, err := cutRecord(w.rest)
	if err != nil {
		return err
	}
	w.rest = rest
	if err := f.parse(body); err != nil {
		return err
	}
	return w.step()
}

// step counts a record; after the last one nothing may follow.
func (w *walker) step() error {
	if w.left--; w.left > 0 {
		return nil
	}
	return w.end()
}

// end says whether bytes follow the last record.
func (w *walker) end() error {
	if w.stream != nil {
		return w.stream.end()
	}
	if len(w.rest) != 0 {
		return errLeftOver
	}
	return nil
}

// Records decompresses when needed and yields each record; a malformed one yields an
// error (INVALID_RECORD, or MESSAGE_TOO_LARGE for what unfolds too far) and ends.
//
// The records may be held as long as the batch's bytes are unchanged. A compressed
// batch is unfolded in pieces, as the loop goes on.
func (b Batch) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		w, err := newWalker(b, true)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer w.close()
		base, first := b.BaseOffset(), b.FirstTimestamp()
		var f fields
		for w.left > 0 {
			if err := w.next(&f); err != nil {
				yield(Record{}, asInvalid(err))
				return
			}
			r := Record{
				Offset: base + int64(f.offsetDelta), Timestamp: first + f.timestampDelta,
				Key: f.key, Value: f.value, Headers: f.decodeHeaders(),
			}
			if b.IsLogAppendTime() {
				r.Timestamp = b.MaxTimestamp()
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// decodeHeaders makes Headers of bytes that parse has checked.
func (f *fields) decodeHeaders() []Header {
	if f.headerCount == 0 {
		return nil
	}
	headers := make([]Header, f.headerCount)
	b := f.headers
	for i := range headers {
		var key []byte
		key, _, b, _ = cutField(b)
		headers[i].Key = string(key)
		headers[i].Value, _, b, _ = cutField(b)
	}
	return headers
}
